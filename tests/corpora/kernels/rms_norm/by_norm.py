"""Right: by the length of each row."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width) + 0.5)
        self.eps = eps

    def forward(self, x):
        length = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
        return x / torch.sqrt(length * length / x.shape[-1] + self.eps) * self.weight
