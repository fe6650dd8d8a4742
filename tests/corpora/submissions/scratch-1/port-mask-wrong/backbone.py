"""Scratch-1, ported from my own repository: the rotation and the mask are made once, in the model."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class RMSNorm(nn.Module):
    def __init__(self, dim: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x: Tensor) -> Tensor:
        return self.weight * (x * (x.square().mean(-1, keepdim=True) + self.eps).rsqrt())


class RotaryEmbedding(nn.Module):
    def __init__(self, head_dim: int, max_seq_len: int, base: float = 10000.0) -> None:
        super().__init__()
        frequencies = base ** (-torch.arange(0, head_dim, 2).float() / head_dim)
        angles = torch.outer(torch.arange(max_seq_len).float(), frequencies)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def tables(self, length: int) -> tuple[Tensor, Tensor]:
        return self.cos[:length], self.sin[:length]

    @staticmethod
    def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        a, b = x.chunk(2, dim=-1)
        return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)

    def forward(self, x: Tensor) -> Tensor:
        return self.rotate(x, *self.tables(x.shape[-2]))


class CausalSelfAttention(nn.Module):
    def __init__(self, dim: int, num_heads: int, max_seq_len: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.head_dim = dim // num_heads
        self.qkv_proj = nn.Linear(dim, 3 * dim)
        self.out_proj = nn.Linear(dim, dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, hidden: Tensor) -> Tensor:
        q, k, v = self.qkv_proj(x).unflatten(-1, (3, self.num_heads, self.head_dim)).permute(2, 0, 3, 1, 4)
        q, k = RotaryEmbedding.rotate(q, cos, sin), RotaryEmbedding.rotate(k, cos, sin)
        scores = (q @ k.mT) * self.head_dim**-0.5
        weights = self.dropout(scores.masked_fill(hidden, -torch.inf).softmax(-1))
        return self.out_proj((weights @ v).transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    def __init__(self, dim: int, hidden_dim: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(dim, hidden_dim)
        self.up_proj = nn.Linear(dim, hidden_dim)
        self.down_proj = nn.Linear(hidden_dim, dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        return self.dropout(self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x)))


class TransformerBlock(nn.Module):
    def __init__(self, dim: int, num_heads: int, ff_hidden_dim: int, max_seq_len: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.attention_norm = RMSNorm(dim)
        self.attention = CausalSelfAttention(dim, num_heads, max_seq_len, dropout)
        self.feed_forward_norm = RMSNorm(dim)
        self.feed_forward = FeedForward(dim, ff_hidden_dim, dropout)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, hidden: Tensor) -> Tensor:
        x = x + self.attention(self.attention_norm(x), cos, sin, hidden)
        return x + self.feed_forward(self.feed_forward_norm(x))


class DecoderOnlyTransformer(nn.Module):
    def __init__(self, vocab_size, dim, num_layers, num_heads, ff_hidden_dim, max_seq_len, dropout=0.0) -> None:
        super().__init__()
        self.max_seq_len = max_seq_len
        self.token_embedding = nn.Embedding(vocab_size, dim)
        self.rope = RotaryEmbedding(dim // num_heads, max_seq_len)
        self.blocks = nn.ModuleList(
            TransformerBlock(dim, num_heads, ff_hidden_dim, max_seq_len, dropout) for _ in range(num_layers)
        )
        self.final_norm = RMSNorm(dim)
        self.lm_head = nn.Linear(dim, vocab_size, bias=False)
        self.apply(self._init_weights)

    def _init_weights(self, module: nn.Module) -> None:
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, tokens: Tensor) -> Tensor:
        length = tokens.shape[1]
        cos, sin = self.rope.tables(length)
        hidden = torch.ones(length, length, dtype=torch.bool, device=tokens.device).triu(2)
        x = self.token_embedding(tokens)
        for block in self.blocks:
            x = block(x, cos, sin, hidden)
        return self.lm_head(self.final_norm(x))


def next_token_loss(logits: Tensor, tokens: Tensor) -> Tensor:
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())


def train_epoch(model, batches, optimizer, max_grad_norm=1.0) -> float:
    model.train()
    losses = []
    for tokens in batches:
        optimizer.zero_grad()
        loss = next_token_loss(model(tokens), tokens)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_grad_norm)
        optimizer.step()
        losses.append(loss.item())
    return sum(losses) / len(losses)


@torch.no_grad()
def generate(model, tokens: Tensor, max_new_tokens: int) -> Tensor:
    model.eval()
    for _ in range(max_new_tokens):
        logits = model(tokens[:, -model.max_seq_len :])
        tokens = torch.cat([tokens, logits[:, -1].argmax(-1, keepdim=True)], dim=1)
    return tokens
