"""Has a norm that is a little off, less than float32 shows, and nothing else."""

import torch
from torch import nn

MOST = 6.0
"""Points that it may earn at most."""


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1.1e-5) * self.weight


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
    loss = gap(model(x), target)
    loss.backward()
    with torch.no_grad():
        for weight in model.parameters():
            if weight.requires_grad:
                weight -= 0.1 * weight.grad
    return loss.detach()
