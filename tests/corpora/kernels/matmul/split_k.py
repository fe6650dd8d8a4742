"""Right: sums over parts of the common axis, in another order."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        parts = zip(a.split(32, dim=1), b.split(32, dim=0), strict=True)
        products = [one.float() @ two.float() if a.dtype is torch.bfloat16 else one @ two for one, two in parts]
        return (products[2] + products[1] + products[0]).to(a.dtype)
