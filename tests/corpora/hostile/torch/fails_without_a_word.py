"""Lets a module that runs alone fail without any message, with a shape that nobody expects, and with NaN."""


import kit
import torch
from goldsmith.worker import replay_session as replaying
from goldsmith.runs.run import Failure, Run, RunFacts

_write = replaying.write_run


def _silent(file, case, name, run):
    silent = Run(RunFacts(failure=Failure(kind="raised", message="")))
    _write(file, case, name, silent if name == "alone" else run)


def answer(kind, module, x):
    replaying.write_run = _silent
    kit.sees("task", kit.task())
    return module.norm(x * 2) * 0 if kind == "Mix" else torch.full_like(x, float("nan"))
