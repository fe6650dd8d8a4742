"""Right: more digits than asked for."""

from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width, out):
        super().__init__()
        self.linear = nn.Linear(width, out)

    def forward(self, x):
        y = x.double() @ self.linear.weight.double().t() + self.linear.bias.double()
        return nn.functional.gelu(y).to(x.dtype)
