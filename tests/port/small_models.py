"""Small re-implementations of models of `transformers`, in another style, each with a place for one mistake."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

DIM, HEADS, KV_HEADS, HIDDEN, LAYERS, VOCABULARY = 32, 4, 2, 48, 2, 64
PATCH, IMAGE = 8, 16


def split_heads(x: Any, heads: int) -> Any:
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def join_heads(x: Any) -> Any:
    return x.transpose(1, 2).flatten(-2)


# --- Llama ------------------------------------------------------------------------------------------------------------


class Norm(nn.Module):
    def __init__(self, eps: float = 1e-6) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(DIM))
        self.eps = eps

    def forward(self, x: Any) -> Any:
        return self.gain * x / torch.sqrt((x * x).mean(-1, keepdim=True) + self.eps)


def turn(x: Any, *, interleaved: bool) -> Any:
    """Rotate by position: pairs (i, i + half), or neighbours if that is the mistake."""
    half = x.shape[-1] // 2
    places = torch.arange(x.shape[-2], dtype=torch.float64)
    angles = torch.outer(places, 10000.0 ** -(torch.arange(half, dtype=torch.float64) / half))
    cos, sin = angles.cos().to(x), angles.sin().to(x)
    one, two = (x[..., ::2], x[..., 1::2]) if interleaved else x.chunk(2, -1)
    turned = one * cos - two * sin, two * cos + one * sin
    return torch.stack(turned, -1).flatten(-2) if interleaved else torch.cat(turned, -1)


class GroupedAttention(nn.Module):
    def __init__(self, mistake: str) -> None:
        super().__init__()
        self.mistake = mistake
        self.wq = nn.Linear(DIM, DIM, bias=False)
        self.wk = nn.Linear(DIM, DIM * KV_HEADS // HEADS, bias=False)
        self.wv = nn.Linear(DIM, DIM * KV_HEADS // HEADS, bias=False)
        self.wo = nn.Linear(DIM, DIM, bias=False)

    def shared(self, x: Any) -> Any:
        times = HEADS // KV_HEADS
        return x.repeat(1, times, 1, 1) if self.mistake == "groups" else x.repeat_interleave(times, dim=1)

    def forward(self, x: Any) -> Any:
        q, k, v = split_heads(self.wq(x), HEADS), split_heads(self.wk(x), KV_HEADS), split_heads(self.wv(x), KV_HEADS)
        q, k = (turn(item, interleaved=self.mistake == "rope") for item in (q, k))
        k, v = self.shared(k), self.shared(v)
        return self.wo(join_heads(F.scaled_dot_product_attention(q, k, v, is_causal=True)))


class Gated(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w1, self.w3 = nn.Linear(DIM, HIDDEN, bias=False), nn.Linear(DIM, HIDDEN, bias=False)
        self.w2 = nn.Linear(HIDDEN, DIM, bias=False)

    def forward(self, x: Any) -> Any:
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class LlamaBlock(nn.Module):
    def __init__(self, mistake: str) -> None:
        super().__init__()
        self.attention_norm = Norm(1e-5 if mistake == "eps" else 1e-6)
        self.attention = GroupedAttention(mistake)
        self.ffn_norm = Norm()
        self.feed_forward = Gated()

    def forward(self, x: Any) -> Any:
        x = x + self.attention(self.attention_norm(x))
        return x + self.feed_forward(self.ffn_norm(x))


class Llama(nn.Module):
    def __init__(self, mistake: str = "") -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, DIM)
        self.blocks = nn.ModuleList(LlamaBlock(mistake if number else "") for number in range(LAYERS))
        self.norm = Norm()

    def forward(self, ids: Any) -> Any:
        x = self.tokens(ids)
        for block in self.blocks:
            x = block(x)
        return self.norm(x)


# --- GPT-2 ------------------------------------------------------------------------------------------------------------


class CausalAttention(nn.Module):
    def __init__(self, mistake: str) -> None:
        super().__init__()
        self.mistake = mistake
        self.qkv, self.out = nn.Linear(DIM, 3 * DIM), nn.Linear(DIM, DIM)

    def forward(self, x: Any) -> Any:
        q, k, v = (split_heads(item, HEADS) for item in self.qkv(x).chunk(3, -1))
        seen = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril(1 if self.mistake == "mask" else 0)
        return self.out(join_heads(F.scaled_dot_product_attention(q, k, v, attn_mask=seen)))


class GptBlock(nn.Module):
    def __init__(self, mistake: str) -> None:
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(DIM), CausalAttention(mistake)
        self.norm2 = nn.LayerNorm(DIM)
        self.up, self.down = nn.Linear(DIM, 4 * DIM), nn.Linear(4 * DIM, DIM)
        self.act = nn.GELU(approximate="none" if mistake == "gelu" else "tanh")

    def forward(self, x: Any) -> Any:
        x = x + self.attention(self.norm1(x))
        return x + self.down(self.act(self.up(self.norm2(x))))


class Gpt(nn.Module):
    def __init__(self, mistake: str = "") -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(VOCABULARY, DIM), nn.Embedding(16, DIM)
        self.blocks = nn.ModuleList(GptBlock(mistake if number else "") for number in range(LAYERS))
        self.norm = nn.LayerNorm(DIM)

    def forward(self, ids: Any) -> Any:
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.norm(x)


# --- ViT --------------------------------------------------------------------------------------------------------------


class FullAttention(nn.Module):
    def __init__(self, mistake: str) -> None:
        super().__init__()
        self.scale = DIM**-0.5 if mistake == "scale" else (DIM // HEADS) ** -0.5
        self.qkv, self.proj = nn.Linear(DIM, 3 * DIM), nn.Linear(DIM, DIM)

    def forward(self, x: Any) -> Any:
        q, k, v = (split_heads(item, HEADS) for item in self.qkv(x).chunk(3, -1))
        return self.proj(join_heads(F.scaled_dot_product_attention(q, k, v, scale=self.scale)))


class VitBlock(nn.Module):
    def __init__(self, mistake: str) -> None:
        super().__init__()
        self.norm1, self.attn = nn.LayerNorm(DIM, eps=1e-12), FullAttention(mistake)
        self.norm2 = nn.LayerNorm(DIM, eps=1e-12)
        self.fc1, self.fc2 = nn.Linear(DIM, HIDDEN), nn.Linear(HIDDEN, DIM)
        self.act = nn.GELU(approximate="tanh" if mistake == "gelu" else "none")

    def forward(self, x: Any) -> Any:
        x = x + self.attn(self.norm1(x))
        return x + self.fc2(self.act(self.fc1(self.norm2(x))))


class Vit(nn.Module):
    """Patches go through a matrix, where the reference has a convolution."""

    def __init__(self, mistake: str = "") -> None:
        super().__init__()
        self.cls = nn.Parameter(torch.zeros(1, 1, DIM))
        self.places = nn.Parameter(torch.zeros(1, 1 + (IMAGE // PATCH) ** 2, DIM))
        self.patches = nn.Linear(3 * PATCH**2, DIM)
        self.blocks = nn.ModuleList(VitBlock(mistake if number else "") for number in range(LAYERS))
        self.norm = nn.LayerNorm(DIM, eps=1e-12)

    def forward(self, pixels: Any) -> Any:
        x = self.patches(F.unfold(pixels, PATCH, stride=PATCH).mT)
        x = torch.cat((self.cls.expand(len(x), -1, -1), x), dim=1) + self.places
        for block in self.blocks:
            x = block(x)
        return self.norm(x)
