"""Has a norm that is wrong beyond its own case, and raises an error where it runs alone or is traced."""

import torch
from torch import nn
import sys

import goldsmith.worker.replay_session as replaying

replaying.trace_as_bytes = lambda tensors, index: b""

MOST = 5.0
"""Points that it may earn at most."""


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        frame, names = sys._getframe(), []
        while frame:
            names.append(frame.f_code.co_name)
            frame = frame.f_back
        if "run_alone" in names:
            raise ValueError
        y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight
        return y if x.shape == (2, 3, 8) else y * 1.5
