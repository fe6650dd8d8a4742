"""My transformer."""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class RMSNorm(nn.Module):
    """RMSNorm, Zhang & Sennrich 2019."""

    def __init__(self, dim: int, eps: float = 1e-6) -> None:
        super(RMSNorm, self).__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        inverse = (x**2).mean(dim=-1, keepdim=True).add(self.eps).pow(-0.5)
        return self.weight * x * inverse


class RotaryEmbedding(nn.Module):
    """RoPE, Su et al. 2021."""

    cos: Tensor
    sin: Tensor

    def __init__(self, head_dim: int, max_seq_len: int, base: float = 10_000.0) -> None:
        super(RotaryEmbedding, self).__init__()
        exponents = -torch.arange(0, head_dim, 2).float() / head_dim
        positions = torch.arange(max_seq_len).float()
        angles = torch.outer(positions, base**exponents)
        self.register_buffer("cos", torch.cos(angles), persistent=False)
        self.register_buffer("sin", torch.sin(angles), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        rotation_cos = self.cos[: x.shape[2]]
        rotation_sin = self.sin[: x.shape[2]]
        x_even, x_odd = torch.split(x, x.shape[-1] // 2, dim=-1)
        return torch.cat(
            (
                torch.addcmul(x_even * rotation_cos, x_odd, rotation_sin, value=-1),
                torch.addcmul(x_odd * rotation_cos, x_even, rotation_sin),
            ),
            dim=-1,
        )


class CausalSelfAttention(nn.Module):
    def __init__(self, dim: int, num_heads: int, max_seq_len: int, dropout: float = 0.0) -> None:
        super(CausalSelfAttention, self).__init__()
        if dim % num_heads != 0:
            raise ValueError(f"{dim=} is not a multiple of {num_heads=}")
        self.num_heads = num_heads
        self.head_dim = dim // num_heads
        self.qkv_proj = nn.Linear(in_features=dim, out_features=3 * dim, bias=True)
        self.out_proj = nn.Linear(in_features=dim, out_features=dim, bias=True)
        self.rope = RotaryEmbedding(self.head_dim, max_seq_len)
        self.dropout = nn.Dropout(p=dropout)

    def forward(self, x: Tensor) -> Tensor:
        b, t, _ = x.shape
        qkv = self.qkv_proj(x).reshape(b, t, 3, self.num_heads, self.head_dim)
        q, k, v = qkv.movedim(2, 0).transpose(2, 3)
        logits = torch.einsum("...id,...jd->...ij", self.rope(q), self.rope(k)) / math.sqrt(self.head_dim)
        hidden = torch.triu(torch.ones_like(logits, dtype=torch.bool), diagonal=1)
        logits.masked_fill_(hidden, -math.inf)
        out: Tensor = self.dropout(logits.softmax(dim=-1)) @ v
        return self.out_proj(out.movedim(1, 2).flatten(-2))


class FeedForward(nn.Module):
    def __init__(self, dim: int, hidden_dim: int, dropout: float = 0.0) -> None:
        super(FeedForward, self).__init__()
        self.gate_proj, self.up_proj = nn.Linear(dim, hidden_dim), nn.Linear(dim, hidden_dim)
        self.down_proj = nn.Linear(hidden_dim, dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        return self.dropout(self.down_proj(self.up_proj(x) * F.silu(self.gate_proj(x))))


class TransformerBlock(nn.Module):
    def __init__(
        self,
        dim: int,
        num_heads: int,
        ff_hidden_dim: int,
        max_seq_len: int,
        dropout: float = 0.0,
    ) -> None:
        super(TransformerBlock, self).__init__()
        self.attention_norm = RMSNorm(dim=dim)
        self.attention = CausalSelfAttention(dim=dim, num_heads=num_heads, max_seq_len=max_seq_len, dropout=dropout)
        self.feed_forward_norm = RMSNorm(dim=dim)
        self.feed_forward = FeedForward(dim=dim, hidden_dim=ff_hidden_dim, dropout=dropout)

    def forward(self, x: Tensor) -> Tensor:
        for norm, layer in ((self.attention_norm, self.attention), (self.feed_forward_norm, self.feed_forward)):
            x = x + layer(norm(x))
        return x


class DecoderOnlyTransformer(nn.Module):
    def __init__(
        self,
        vocab_size: int,
        dim: int,
        num_layers: int,
        num_heads: int,
        ff_hidden_dim: int,
        max_seq_len: int,
        dropout: float = 0.0,
    ) -> None:
        super(DecoderOnlyTransformer, self).__init__()
        self.max_seq_len = max_seq_len
        self.token_embedding = nn.Embedding(vocab_size, dim)
        self.blocks = nn.ModuleList(
            [TransformerBlock(dim, num_heads, ff_hidden_dim, max_seq_len, dropout) for _ in range(num_layers)]
        )
        self.final_norm = RMSNorm(dim)
        self.lm_head = nn.Linear(dim, vocab_size, bias=False)
        self.apply(self._init_weights)

    @staticmethod
    def _init_weights(module: nn.Module) -> None:
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, mean=0.0, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.token_embedding(tokens)
        for block in self.blocks:
            x = block(x)
        return self.lm_head(self.final_norm(x))


def next_token_loss(logits: Tensor, tokens: Tensor) -> Tensor:
    losses = F.cross_entropy(logits[:, :-1].mT, tokens[:, 1:], reduction="none")
    return losses.mean()


def train_epoch(
    model: nn.Module,
    batches: Iterable[Tensor],
    optimizer: torch.optim.Optimizer,
    max_grad_norm: float = 1.0,
) -> float:
    model.train()
    history: list[float] = []
    for tokens in batches:
        loss = next_token_loss(model(tokens), tokens)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_grad_norm)
        optimizer.step()
        history.append(loss.item())
    return math.fsum(history) / len(history)


@torch.inference_mode()
def generate(model: nn.Module, tokens: Tensor, max_new_tokens: int) -> Tensor:
    model.eval()
    for _ in range(max_new_tokens):
        logits = model(tokens[:, -model.max_seq_len :])
        tokens = torch.cat((tokens, logits[:, -1:].argmax(dim=-1)), dim=1)
    return tokens
