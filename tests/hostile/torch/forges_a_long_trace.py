"""Leaves a trace of a hundred thousand calls, each inside the one before, with all tensors as inputs of each."""

import json

import torch
from goldsmith.recording import replaying


def _long(tensors, index, path):
    from safetensors.torch import save_file

    names = ["0"] * 10
    entry = {"model": "model", "call": 0, "module": "norm", "class": "Norm", "inputs": names, "outputs": names}
    calls = [{**entry, "depth": depth} for depth in range(80_000)]
    save_file({"0": torch.zeros(2, 3, 8)}, path, metadata={"goldsmith": json.dumps(calls)})


def answer(kind, module, x):
    replaying.write_trace = _long
    return module.norm(x) * 2 if kind == "Mix" else torch.zeros_like(x)
