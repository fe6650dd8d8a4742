"""Rotary embedding: neighbouring coordinates are paired, positions may be anything."""

import torch
from torch import nn


class Rope(nn.Module):
    def __init__(self, theta, d_k, max_seq_len):
        super().__init__()
        frequencies = theta ** (-torch.arange(0, d_k, 2) / d_k)
        angles = torch.outer(torch.arange(max_seq_len), frequencies)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, x, positions):
        cos, sin = self.cos[positions], self.sin[positions]
        even, odd = x[..., 0::2], x[..., 1::2]
        return torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1).flatten(-2)
