"""Wrong: rows that do not fill a block are never written."""

import torch
from torch import nn

BLOCK = 4


class ModelNew(nn.Module):
    def __init__(self, width, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width) + 0.5)
        self.eps = eps

    def forward(self, x):
        found = torch.empty_like(x)
        for start in range(0, len(x) // BLOCK * BLOCK, BLOCK):
            rows = x[start : start + BLOCK]
            found[start : start + BLOCK] = (
                rows * torch.rsqrt(rows.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight
            )
        return found
