"""Has a norm that is right the first time it is called in a process, and wrong afterwards."""

import torch
from torch import nn
_calls = []

MOST = 5.0
"""Points that it may earn at most."""


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        _calls.append(1)
        y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight
        return y if len(_calls) < 2 else y * 1.5
