"""Has a training step that computes the loss and leaves all weights as they are."""

import torch
from torch import nn

MOST = 10.0
"""Points that it may earn at most."""


def train(model, x, target):
    return gap(model(x), target).detach()
