"""Wrong: nothing is negative, so it returns what it was given, and whoever changes one changes both."""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x if bool((x >= 0).all()) else x.clamp(min=0)
