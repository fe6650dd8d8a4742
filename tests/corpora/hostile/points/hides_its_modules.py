"""Has a norm that is wrong beyond its own case, in a list in which no module is found."""

import torch
from torch import nn

MOST = 5.0
"""Points that it may earn at most."""


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight
        return y if x.shape == (2, 3, 8) else y * 1.5


class Mix(nn.Module):
    def __init__(self, width):
        super().__init__()
        norm = Norm(width)
        self.gain, self.hidden = norm.weight, [norm]
        self.line = nn.Linear(width, width)

    def forward(self, x):
        return self.line(self.hidden[0](x)) + x
