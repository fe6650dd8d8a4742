"""Right: the definition, with a transposed matrix."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width, out):
        super().__init__()
        self.linear = nn.Linear(width, out)

    def forward(self, x):
        y = (self.linear.weight @ x.t()).t() + self.linear.bias
        return 0.5 * y * (1 + torch.erf(y / 2**0.5))
