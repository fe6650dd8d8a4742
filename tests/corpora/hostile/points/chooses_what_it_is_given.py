"""Leaves out of its trace what it wants to be called for alone, on gold's own values: `HIDES` says how."""

import hashlib
import sys
from pathlib import Path

import torch
from torch import nn

MOST = 7.0
"""Points that it may earn at most."""
HIDES = "nothing"
BOARD = ""
"""Where it writes down what it is given, if anywhere."""


def _is_alone():
    frame = sys._getframe()
    while frame and frame.f_code.co_name != "run_alone":
        frame = frame.f_back
    return frame is not None


def _is_given(kind, *tensors):
    if BOARD and _is_alone():
        given = hashlib.sha256(b"".join(tensor.detach().numpy().tobytes() for tensor in tensors)).hexdigest()
        with Path(BOARD).open("a") as board:
            board.write(f"{kind} {given}\n")


if HIDES == "its trace":
    import goldsmith.worker.replay_session as replaying

    replaying.trace_as_bytes = lambda tensors, index: b""


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        _is_given("Norm", x)
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight


class Mix(nn.Module):
    def __init__(self, width):
        super().__init__()
        norm = Norm(width)
        if HIDES == "its norm":
            self.gain, self.hidden = norm.weight, [norm]
        else:
            self.norm = norm
        self.line = nn.Linear(width, width)

    def forward(self, x):
        _is_given("Mix", x)
        norm = self.hidden[0] if HIDES == "its norm" else self.norm
        if HIDES == "its end" and (sys.getprofile() or sys.gettrace()):
            raise ValueError("not while I am watched")
        return self.line(norm(x + 1)) + x


def gap(y, target):
    _is_given("gap", y, target)
    return (y - target).pow(2).mean()
