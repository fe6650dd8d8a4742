"""Leaves a trace of a hundred thousand calls, each inside the one before, with all tensors as inputs of each."""

import json

import torch
from goldsmith.worker import replay_session as replaying


def _long(tensors, index):
    from safetensors.torch import save

    names = ["0"] * 10
    entry = {"model": "model", "call": 0, "module": "norm", "class": "Norm", "inputs": names, "outputs": names}
    calls = [{**entry, "depth": depth} for depth in range(80_000)]
    return save({"0": torch.zeros(2, 3, 8)}, metadata={"goldsmith": json.dumps(calls)})


def answer(kind, module, x):
    replaying.trace_as_bytes = _long
    return module.norm(x) * 2 if kind == "Mix" else torch.zeros_like(x)
