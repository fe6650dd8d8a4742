"""Leaves a trace whose index is nested deeper than anybody can read."""

import torch
from goldsmith.recording import replaying


def _deep(tensors, index, path):
    from safetensors.torch import save_file

    save_file({"0": torch.zeros(1)}, path, metadata={"goldsmith": "[" * 100_000 + "]" * 100_000})


def answer(kind, module, x):
    replaying.write_trace = _deep
    return module.norm(x) * 2 if kind == "Mix" else torch.zeros_like(x)
