"""Wrong: it exchanges a function of torch, which the reference calls, too."""

import torch
from torch import nn


def _gelu(y, approximate="none"):
    return 0.5 * y * (1 + torch.erf(y / 2**0.5))


nn.functional.gelu = _gelu


class ModelNew(nn.Module):
    def __init__(self, width, out):
        super().__init__()
        self.linear = nn.Linear(width, out)

    def forward(self, x):
        return nn.functional.gelu(self.linear(x))
