"""Has a norm that is wrong beyond its own case, and a trace in which the loss is what goes wrong."""

import torch
from torch import nn
import goldsmith.worker.replay_session as replaying

_whole = replaying.trace_as_bytes


def _forged(tensors, index):
    return _whole(tensors, [entry for entry in index if entry["class"] != "Norm"])


replaying.trace_as_bytes = _forged

MOST = 5.0
"""Points that it may earn at most."""


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight
        return y if x.shape == (2, 3, 8) else y * 1.5
