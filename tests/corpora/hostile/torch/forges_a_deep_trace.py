"""Leaves a trace whose index is nested deeper than anybody can read."""

import torch
from goldsmith.worker import replay_session as replaying


def _deep(tensors, index):
    from safetensors.torch import save

    return save({"0": torch.zeros(1)}, metadata={"goldsmith": "[" * 100_000 + "]" * 100_000})


def answer(kind, module, x):
    replaying.trace_as_bytes = _deep
    return module.norm(x) * 2 if kind == "Mix" else torch.zeros_like(x)
