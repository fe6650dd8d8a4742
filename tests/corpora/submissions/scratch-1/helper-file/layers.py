"""Small layers."""

import torch
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
