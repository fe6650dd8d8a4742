"""Lets a module that runs alone fail without any message, with a shape that nobody expects, and with NaN."""


import kit
import torch
from goldsmith.worker import isolated_calls as isolation
from goldsmith.process.messages import Attempt, Failure

_write = isolation.write_attempt


def _silent(file, case, run, attempt, arrays):
    _write(file, case, run, Attempt(failure=Failure(kind="raised", message="")), {})


def answer(kind, module, x):
    isolation.write_attempt = _silent
    kit.sees("task", kit.task())
    return module.norm(x * 2) * 0 if kind == "Mix" else torch.full_like(x, float("nan"))
