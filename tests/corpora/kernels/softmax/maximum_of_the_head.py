"""Wrong: the first rows decide what is subtracted from all."""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        powers = (x - x[:4].amax()).exp()
        return powers / powers.sum(1, keepdim=True)
