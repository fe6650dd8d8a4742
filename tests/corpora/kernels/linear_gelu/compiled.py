"""Right: compiled by torch."""

import torch
from torch import nn


@torch.compile
def _gelu(y):
    return 0.5 * y * (1 + torch.erf(y / 2**0.5))


class ModelNew(nn.Module):
    def __init__(self, width, out):
        super().__init__()
        self.linear = nn.Linear(width, out)

    def forward(self, x):
        return _gelu(self.linear(x))
