"""Has a training step that computes the loss and leaves all weights as they are."""

import torch
from torch import nn

MOST = 10.0
"""Points that it may earn at most."""


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight


class Mix(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = Norm(width)
        self.line = nn.Linear(width, width)

    def forward(self, x):
        return self.line(self.norm(x)) + x


def gap(y, target):
    return (y - target).pow(2).mean()


def train(model, x, target):
    return gap(model(x), target).detach()
