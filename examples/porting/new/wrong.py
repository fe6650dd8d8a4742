"""Six ports that went wrong, as real ones do: each is the new block with one mistake in it."""

import torch
import torch.nn.functional as F
from blocks import Attention, LlamaBlock, ViTAttention, ViTBlock, rotate
from torch import nn


class InterleavedRopeAttention(Attention):
    """Pairs (0, 1), (2, 3), … are rotated; the reference rotates (i, i + half)."""

    def forward(self, x):
        batch, length, dim = x.shape
        q, k, v = (
            project(x).unflatten(-1, (self.n_heads, -1)).transpose(1, 2) for project in (self.wq, self.wk, self.wv)
        )
        angles = self.rope(length, x.device)
        turn = torch.polar(torch.ones_like(angles), angles)
        q, k = (
            torch.view_as_real(torch.view_as_complex(item.float().unflatten(-1, (-1, 2)).contiguous()) * turn)
            .flatten(-2)
            .type_as(x)
            for item in (q, k)
        )
        return self.wo(self.attend(q, k, v).transpose(1, 2).reshape(batch, length, dim))


class WrongRope(LlamaBlock):
    """RoPE pairing."""

    def __init__(self, dim, n_heads):
        super().__init__(dim, n_heads)
        self.attention = InterleavedRopeAttention(dim, n_heads)


class WrongEps(ViTBlock):
    """The epsilon of one norm: torch's default, 1e-5, where the reference has 1e-6."""

    def __init__(self, dim, num_heads):
        super().__init__(dim, num_heads)
        self.norm2 = nn.LayerNorm(dim)


class UnscaledAttention(ViTAttention):
    def forward(self, x):
        batch, length, dim = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.num_heads, -1).permute(2, 0, 3, 1, 4)
        out = F.scaled_dot_product_attention(q, k, v, scale=dim**-0.5)
        return self.proj(out.transpose(1, 2).reshape(batch, length, dim))


class WrongScale(ViTBlock):
    """The scale of attention: by the model's width, where the reference has a head's."""

    def __init__(self, dim, num_heads):
        super().__init__(dim, num_heads)
        self.attn = UnscaledAttention(dim, num_heads)


class WrongGelu(ViTBlock):
    """GELU's approximation by tanh, where the reference is exact."""

    def __init__(self, dim, num_heads):
        super().__init__(dim, num_heads)
        self.mlp.act = nn.GELU(approximate="tanh")


class OffByOneAttention(Attention):
    def attend(self, q, k, v):
        length = q.shape[2]
        future = torch.ones(length, length, dtype=torch.bool, device=q.device).triu(2)
        scores = (q @ k.mT * q.shape[-1] ** -0.5).masked_fill(future, -torch.inf)
        return torch.softmax(scores, dim=-1) @ v


class WrongMask(LlamaBlock):
    """The mask lets every position see the next one."""

    def __init__(self, dim, n_heads):
        super().__init__(dim, n_heads)
        self.attention = OffByOneAttention(dim, n_heads)


class WrongOrder(LlamaBlock):
    """The order of norms: after attention and feed-forward, where the reference has them before."""

    def forward(self, x):
        h = x + self.attention_norm(self.attention(x))
        return h + self.ffn_norm(self.feed_forward(h))


__all__ = ["WrongEps", "WrongGelu", "WrongMask", "WrongOrder", "WrongRope", "WrongScale", "rotate"]
