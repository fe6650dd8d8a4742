"""Has a norm that raises an error wherever it would be wrong, with a traceback that names another part."""

import torch
from torch import nn
import goldsmith.worker.replay_session as replaying
from goldsmith.runs.run import Failure, Frame

replaying.trace_as_bytes = lambda tensors, index: b""
replaying.cause_of = lambda error, job, case, none=None: Failure(
    kind="raised", message="no", case=case, frames=(Frame("net.py", 1, "Mix.forward", "no"),)
)

MOST = 5.0
"""Points that it may earn at most."""


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        if x.shape != (2, 3, 8):
            raise ValueError
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight
