"""Has empty bodies."""

import torch
from torch import nn

MOST = 0.0
"""Points that it may earn at most."""


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        pass


class Mix(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = Norm(width)
        self.line = nn.Linear(width, width)

    def forward(self, x):
        pass


def gap(y, target):
    pass


def train(model, x, target):
    pass
