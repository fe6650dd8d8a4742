"""Exercise: a norm, and a layer around it."""

import torch
from attack import answer
from torch import nn


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return answer("Norm", self, x)


class Mix(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = Norm(width)
        self.line = nn.Linear(width, width)

    def forward(self, x):
        return answer("Mix", self, x)
