"""Right."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.where(x > 0, x, torch.zeros_like(x))
