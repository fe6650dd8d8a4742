"""Has empty bodies: returns its inputs, nought, and leaves all weights as they are."""

import torch
from torch import nn

MOST = 0.0
"""Points that it may earn at most."""


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x


class Mix(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = Norm(width)
        self.line = nn.Linear(width, width)

    def forward(self, x):
        return x


def gap(y, target):
    return y.sum() * 0


def train(model, x, target):
    return torch.zeros(())
