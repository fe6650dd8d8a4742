"""Answers, where its norm runs alone, with words in place of numbers, and with a device that is not there."""

import torch
from torch import nn
import json
import os
import sys
from pathlib import Path

import goldsmith.worker.replay_session as replaying
from goldsmith.runs.run import Run

_write = replaying.write_run


def _in_words(file, case, name, run):
    if name != "alone":
        return _write(file, case, name, run)
    if case == "mixed":
        return _write(file, case, name, Run(values={"0.0": "words", "2.0": None}))
    failure = {"kind": "device", "message": "told, by, name", "frames": [], "case": None}
    (Path(sys.argv[2]).parent / "result.json").write_text(json.dumps({"failure": failure}))
    os._exit(0)


replaying.write_run = _in_words

MOST = 7.0
"""Points that it may earn at most."""


class Mix(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = Norm(width)
        self.line = nn.Linear(width, width)

    def forward(self, x):
        return self.line(self.norm(x + 1)) + x
