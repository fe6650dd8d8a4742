"""Decoder-only transformer (scratch-1). Structure borrowed from what I know of LLaMA / Hugging Face."""

import math

import torch
import torch.nn.functional as F
from torch import nn


def rotate_half(x):
    """(x1, x2) -> (-x2, x1)"""
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), dim=-1)


class RMSNorm(nn.Module):
    """Divide each vector by its root mean square, then scale each coordinate.

    y = x / sqrt(mean(x²) + eps) * weight, the mean taken over the last dimension.
    """

    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        variance = x.pow(2).sum(dim=-1, keepdim=True) / x.shape[-1]
        hidden = x * torch.rsqrt(variance + self.eps)
        return hidden * self.weight


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
        seq_len = x.shape[-2]
        cos = torch.cat((self.cos, self.cos), dim=-1)[:seq_len]
        sin = torch.cat((self.sin, self.sin), dim=-1)[:seq_len]
        return x * cos + rotate_half(x) * sin


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

    def forward(self, x, attention_mask=None, position_ids=None, **kwargs):
        bsz, seq_len, hidden_size = x.shape
        query, key, value = self.qkv_proj(x).chunk(3, dim=-1)
        shape = (bsz, seq_len, self.num_heads, self.head_dim)
        query_states = self.rope(query.reshape(shape).permute(0, 2, 1, 3))
        key_states = self.rope(key.reshape(shape).permute(0, 2, 1, 3))
        value_states = value.reshape(shape).permute(0, 2, 1, 3)

        attn_weights = torch.matmul(query_states, key_states.transpose(2, 3)) / math.sqrt(self.head_dim)
        minimum = torch.finfo(attn_weights.dtype).min
        causal_mask = torch.full((seq_len, seq_len), minimum, dtype=x.dtype, device=x.device).triu(1)
        attn_weights = attn_weights + causal_mask
        attn_weights = F.softmax(attn_weights, dim=-1)
        attn_weights = self.dropout(attn_weights)

        attn_output = torch.matmul(attn_weights, value_states)
        attn_output = attn_output.permute(0, 2, 1, 3).reshape(bsz, seq_len, hidden_size)
        return self.out_proj(attn_output)


class FeedForward(nn.Module):
    """A gated two-layer network: down(silu(gate(x)) * up(x))."""

    def __init__(self, dim, hidden_dim, dropout=0.0):
        super().__init__()
        self.gate_proj = nn.Linear(dim, hidden_dim)
        self.up_proj = nn.Linear(dim, hidden_dim)
        self.down_proj = nn.Linear(hidden_dim, dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        down_proj = self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))
        return self.dropout(down_proj)


class TransformerBlock(nn.Module):
    """Attention and feed-forward, each after a norm and around it a residual connection."""

    def __init__(self, dim, num_heads, ff_hidden_dim, max_seq_len, dropout=0.0):
        super().__init__()
        self.attention_norm = RMSNorm(dim)
        self.attention = CausalSelfAttention(dim, num_heads, max_seq_len, dropout)
        self.feed_forward_norm = RMSNorm(dim)
        self.feed_forward = FeedForward(dim, ff_hidden_dim, dropout)

    def forward(self, x, attention_mask=None):
        residual = x
        hidden_states = self.attention_norm(x)
        hidden_states = self.attention(hidden_states, attention_mask=attention_mask)
        hidden_states = residual + hidden_states

        residual = hidden_states
        hidden_states = self.feed_forward_norm(hidden_states)
        hidden_states = self.feed_forward(hidden_states)
        return residual + hidden_states


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
        hidden_states = self.token_embedding(tokens)
        for decoder_layer in self.blocks:
            hidden_states = decoder_layer(hidden_states)
        hidden_states = self.final_norm(hidden_states)
        return self.lm_head(hidden_states)


def next_token_loss(logits, tokens):
    """Mean cross-entropy of predicting each token from those before it."""
    shift_logits = logits[..., :-1, :].contiguous()
    shift_labels = tokens[..., 1:].contiguous()
    return F.cross_entropy(shift_logits.transpose(1, 2), shift_labels)


def train_epoch(model, batches, optimizer, max_grad_norm=1.0):
    """One pass over `batches` of token ids; returns the mean loss as a float."""
    model.train()
    running = 0.0
    for step, input_ids in enumerate(batches, start=1):  # noqa: B007
        loss = next_token_loss(model(input_ids), input_ids)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=max_grad_norm)
        optimizer.step()
        optimizer.zero_grad()
        running += loss.detach().item()
    return running / step


@torch.no_grad()
def generate(model, tokens, max_new_tokens):
    """Append the likeliest next token `max_new_tokens` times; the model sees at most its max_seq_len."""
    model.eval()
    output_ids = tokens
    while output_ids.shape[1] < tokens.shape[1] + max_new_tokens:
        window = output_ids[:, -model.max_seq_len :]
        next_logits = model(window)[:, -1, :]
        output_ids = torch.cat([output_ids, next_logits.argmax(dim=-1).unsqueeze(-1)], dim=-1)
    return output_ids
