"""Wrong: each call returns the same memory, with other numbers."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width, out):
        super().__init__()
        self.linear = nn.Linear(width, out)
        self.kept = {}

    def forward(self, x):
        y = nn.functional.gelu(self.linear(x))
        kept = self.kept.setdefault((y.shape, y.dtype), torch.empty_like(y))
        return kept.copy_(y)
