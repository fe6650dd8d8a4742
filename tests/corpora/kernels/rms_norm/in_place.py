"""Wrong: it writes over what it was given."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width) + 0.5)
        self.eps = eps

    def forward(self, x):
        return x.mul_(torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)).mul_(self.weight)
