"""Wrong: it takes the first row's length for that of all rows."""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        length = int((a[0] != 0).sum())
        return a[:, :length] @ b[:length]
