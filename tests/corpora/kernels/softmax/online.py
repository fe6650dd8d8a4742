"""Right: in one pass over blocks of columns, as flash attention does."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        highest = torch.full_like(x[:, :1], float("-inf"))
        total = torch.zeros_like(x[:, :1])
        for block in x.split(64, dim=1):
            higher = torch.maximum(highest, block.amax(1, keepdim=True))
            total = total * (highest - higher).exp() + (block - higher).exp().sum(1, keepdim=True)
            highest = higher
        return (x - highest).exp() / total
