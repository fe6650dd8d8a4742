"""Wrong: three bits are too few for any dtype that is asked for."""

import torch
from torch import nn


def _rounded(x):
    return x.to(torch.float8_e4m3fn).to(x.dtype)


class ModelNew(nn.Module):
    def __init__(self, width, out):
        super().__init__()
        self.linear = nn.Linear(width, out)

    def forward(self, x):
        y = _rounded(x) @ _rounded(self.linear.weight).t() + self.linear.bias
        return nn.functional.gelu(y).to(x.dtype)
