"""Scratch-1 - Ana B., group 4. Followed the lecture notes, shapes in the comments."""

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
        ms = (x * x).mean(-1, keepdim=True)  # (..., 1)
        return self.weight * (x / torch.sqrt(ms + self.eps))


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
        T = x.size(2)
        half = x.size(3) // 2
        c = self.cos[:T]  # (T, half)
        s = self.sin[:T]
        x1 = x[..., :half]
        x2 = x[..., half:]
        return torch.cat((x1 * c - x2 * s, x1 * s + x2 * c), dim=-1)


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
        B, T, C = x.shape
        q, k, v = self.qkv_proj(x).split(C, dim=2)
        q = q.view(B, T, self.num_heads, self.head_dim).transpose(1, 2)  # (B, H, T, D)
        k = k.view(B, T, self.num_heads, self.head_dim).transpose(1, 2)
        v = v.view(B, T, self.num_heads, self.head_dim).transpose(1, 2)

        q = self.rope(q)
        k = self.rope(k)

        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(self.head_dim))  # (B, H, T, T)
        mask = torch.tril(torch.ones(T, T, device=x.device))
        att = att.masked_fill(mask == 0, float("-inf"))
        att = F.softmax(att, dim=-1)
        att = self.dropout(att)

        weights = att.detach()
        y = att @ v  # (B, H, T, D)
        y = y.transpose(1, 2).contiguous().view(B, T, C)
        return self.out_proj(y), weights


class FeedForward(nn.Module):
    """A gated two-layer network: down(silu(gate(x)) * up(x))."""

    def __init__(self, dim, hidden_dim, dropout=0.0):
        super().__init__()
        self.gate_proj = nn.Linear(dim, hidden_dim)
        self.up_proj = nn.Linear(dim, hidden_dim)
        self.down_proj = nn.Linear(hidden_dim, dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        gate = F.silu(self.gate_proj(x))
        up = self.up_proj(x)
        return self.dropout(self.down_proj(gate * up))


class TransformerBlock(nn.Module):
    """Attention and feed-forward, each after a norm and around it a residual connection."""

    def __init__(self, dim, num_heads, ff_hidden_dim, max_seq_len, dropout=0.0):
        super().__init__()
        self.attention_norm = RMSNorm(dim)
        self.attention = CausalSelfAttention(dim, num_heads, max_seq_len, dropout)
        self.feed_forward_norm = RMSNorm(dim)
        self.feed_forward = FeedForward(dim, ff_hidden_dim, dropout)

    def forward(self, x):
        attended, _ = self.attention(self.attention_norm(x))
        x = x + attended
        x = x + self.feed_forward(self.feed_forward_norm(x))
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
