# Assignment 1
# I did it step by step so that I could print everything in between.

import math

import torch
import torch.nn.functional as F
from torch import nn


class RMSNorm(nn.Module):
    """Divide each vector by its root mean square, then scale each coordinate.

    y = x / sqrt(mean(x²) + eps) * weight, the mean taken over the last dimension.
    """

    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        squared = torch.pow(x, 2)
        average = torch.mean(squared, dim=-1)
        root = torch.sqrt(average + self.eps)
        normalised = x / root.unsqueeze(-1)
        result = normalised * self.weight
        return result


class RotaryEmbedding(nn.Module):
    """Rotate pairs of coordinates by an angle that grows with the position.

    Coordinate i is paired with coordinate i + head_dim/2; the pair turns by position * base^(-2i/head_dim).
    """

    def __init__(self, head_dim, max_seq_len, base=10000.0):
        super().__init__()
        frequencies = base ** (-torch.arange(0, head_dim, 2).float() / head_dim)
        angles = torch.outer(torch.arange(max_seq_len).float(), frequencies)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, x):
        """x: (batch, heads, length, head_dim); the same shape comes back."""
        batch, heads, length, head_dim = x.shape
        rotated = torch.zeros_like(x)
        half = head_dim // 2
        for position in range(length):
            cos = self.cos[position]
            sin = self.sin[position]
            left = x[:, :, position, :half]
            right = x[:, :, position, half:]
            rotated[:, :, position, :half] = left * cos - right * sin
            rotated[:, :, position, half:] = right * cos + left * sin
        return rotated


class CausalSelfAttention(nn.Module):
    """Multi-head attention in which a position sees itself and what came before it."""

    def __init__(self, dim, num_heads, max_seq_len, dropout=0.0):
        super().__init__()
        assert dim % num_heads == 0
        self.num_heads = num_heads
        self.head_dim = dim // num_heads
        self.qkv_proj = nn.Linear(dim, 3 * dim)
        self.out_proj = nn.Linear(dim, dim)
        self.rope = RotaryEmbedding(self.head_dim, max_seq_len)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        batch, length, dim = x.shape
        projected = self.qkv_proj(x)
        queries = projected[:, :, 0:dim]
        keys = projected[:, :, dim : 2 * dim]
        values = projected[:, :, 2 * dim : 3 * dim]
        all_heads = []
        for h in range(self.num_heads):
            start = h * self.head_dim
            end = start + self.head_dim
            # the rotary layer wants a heads dimension, so each head gets one of size 1
            q = self.rope(queries[:, :, start:end].unsqueeze(1)).squeeze(1)
            k = self.rope(keys[:, :, start:end].unsqueeze(1)).squeeze(1)
            v = values[:, :, start:end]
            scores = torch.bmm(q, k.transpose(1, 2))
            scores = scores / math.sqrt(self.head_dim)
            not_allowed = torch.ones(length, length, device=x.device).triu(diagonal=1).bool()
            scores[:, not_allowed] = float("-inf")
            probabilities = torch.softmax(scores, dim=2)
            probabilities = self.dropout(probabilities)
            all_heads.append(torch.bmm(probabilities, v))
        joined = torch.cat(all_heads, dim=2)
        output = self.out_proj(joined)
        return output


class FeedForward(nn.Module):
    """A gated two-layer network: down(silu(gate(x)) * up(x))."""

    def __init__(self, dim, hidden_dim, dropout=0.0):
        super().__init__()
        self.gate_proj = nn.Linear(dim, hidden_dim)
        self.up_proj = nn.Linear(dim, hidden_dim)
        self.down_proj = nn.Linear(hidden_dim, dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        g = self.gate_proj(x)
        g = g * torch.sigmoid(g)  # this is silu
        u = self.up_proj(x)
        out = self.down_proj(g * u)
        out = self.dropout(out)
        return out


class TransformerBlock(nn.Module):
    """Attention and feed-forward, each after a norm and around it a residual connection."""

    def __init__(self, dim, num_heads, ff_hidden_dim, max_seq_len, dropout=0.0):
        super().__init__()
        self.attention_norm = RMSNorm(dim)
        self.attention = CausalSelfAttention(dim, num_heads, max_seq_len, dropout)
        self.feed_forward_norm = RMSNorm(dim)
        self.feed_forward = FeedForward(dim, ff_hidden_dim, dropout)

    def forward(self, x):
        after_norm = self.attention_norm(x)
        attended = self.attention(after_norm)
        x = x.detach() + attended
        after_norm = self.feed_forward_norm(x)
        fed = self.feed_forward(after_norm)
        x = x + fed
        return x


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
        embedded = self.token_embedding(tokens)
        x = embedded
        for i in range(len(self.blocks)):
            x = self.blocks[i](x)
        x = self.final_norm(x)
        out = self.lm_head(x)
        return out


def next_token_loss(logits, tokens):
    """Mean cross-entropy of predicting each token from those before it."""
    loss = 0.0
    length = tokens.shape[1]
    for i in range(length - 1):
        # position i predicts token i + 1
        loss = loss + F.cross_entropy(logits[:, i], tokens[:, i + 1])
    return loss / (length - 1)


def train_epoch(model, batches, optimizer, max_grad_norm=1.0):
    """One pass over `batches` of token ids; returns the mean loss as a float."""
    model.train()
    all_losses = []
    for b in batches:
        for p in model.parameters():
            p.grad = None
        prediction = model(b)
        loss = next_token_loss(prediction, b)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_grad_norm)
        optimizer.step()
        all_losses.append(float(loss))
    mean_loss = sum(all_losses) / len(all_losses)
    return mean_loss


@torch.no_grad()
def generate(model, tokens, max_new_tokens):
    """Append the likeliest next token `max_new_tokens` times; the model sees at most its max_seq_len."""
    model.eval()
    result = tokens.clone()
    for step in range(max_new_tokens):
        context = result
        if context.shape[1] > model.max_seq_len:
            context = context[:, context.shape[1] - model.max_seq_len :]
        prediction = model(context)
        best = prediction[:, -1].max(dim=-1).indices
        result = torch.cat([result, best.reshape(-1, 1)], dim=1)
    return result
