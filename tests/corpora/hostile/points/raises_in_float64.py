"""Has a norm that is a little off, less than float32 shows, and raises an error in float64."""

import torch
from torch import nn

MOST = 5.0
"""Points that it may earn at most."""


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        if x.dtype == torch.float64:
            raise TypeError('expected Float but found Double')
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1.1e-5) * self.weight
