"""Scratch-1 - Ana B., group 4. Followed the lecture notes, shapes in the comments."""

import torch
import torch.nn.functional as F
from parts import CausalSelfAttention, FeedForward, RMSNorm, RotaryEmbedding, TransformerBlock  # noqa: F401
from torch import nn


class DecoderOnlyTransformer(nn.Module):
    """Token ids in, logits over the vocabulary for the next token at every position out."""

    def __init__(self, vocab_size, dim, num_layers, num_heads, ff_hidden_dim, max_seq_len, dropout=0.0):
        super().__init__()
        self.max_seq_len = max_seq_len
        self.token_embedding = nn.Embedding(vocab_size, dim)
        self.blocks = nn.ModuleList(
            TransformerBlock(dim, num_heads, ff_hidden_dim, max_seq_len, dropout) for _ in range(num_layers)
        )
        self.final_norm = RMSNorm(dim)
        self.lm_head = nn.Linear(dim, vocab_size, bias=False)
        self.apply(self._init_weights)

    def _init_weights(self, module):
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, tokens):
        """tokens: (batch, length) of ids; returns (batch, length, vocab_size)."""
        x = self.token_embedding(tokens)  # (B, T, C)
        for layer in self.blocks:
            x = layer(x)
        x = self.final_norm(x)
        logits = self.lm_head(x)
        return logits


def next_token_loss(logits, tokens):
    """Mean cross-entropy of predicting each token from those before it."""
    B, T, V = logits.shape
    pred = logits[:, : T - 1, :].contiguous().view(-1, V)
    target = tokens[:, 1:].contiguous().view(-1)
    return F.cross_entropy(pred, target)


def train_epoch(model, batches, optimizer, max_grad_norm=1.0):
    """One pass over `batches` of token ids; returns the mean loss as a float."""
    model.train()
    total_loss = 0.0
    num_batches = 0
    for tokens in batches:
        optimizer.zero_grad()
        logits = model(tokens)
        loss = next_token_loss(logits, tokens)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_grad_norm)
        optimizer.step()
        total_loss += loss.item()
        num_batches += 1
    return total_loss / num_batches


@torch.no_grad()
def generate(model, tokens, max_new_tokens):
    """Append the likeliest next token `max_new_tokens` times; the model sees at most its max_seq_len."""
    model.eval()
    for _ in range(max_new_tokens):
        context = tokens[:, -model.max_seq_len :]
        logits = model(context)
        next_token = torch.argmax(logits[:, -1, :], dim=-1, keepdim=True)
        tokens = torch.cat((tokens, next_token), dim=1)
    return tokens
