import torch
from torch import nn


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
