"""Wrong: the approximation by tanh, which stays within a thousandth."""

from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width, out):
        super().__init__()
        self.linear = nn.Linear(width, out)

    def forward(self, x):
        return nn.functional.gelu(self.linear(x), approximate="tanh")
