"""Leaves a trace of ten thousand calls of one module, each with more than two hundred tensors, all of them the same."""

import json

import torch
from goldsmith.worker import replay_session as replaying


def _wide(tensors, index):
    from safetensors.torch import save

    names = ["0"] * 120
    entry = {"model": "model", "module": "norm", "class": "Norm", "depth": 0, "inputs": names, "outputs": names}
    text = json.dumps([entry] * 7000, separators=(",", ":"))
    return save({"0": torch.ones(2, 3, 8)}, metadata={"goldsmith": text})


def answer(kind, module, x):
    replaying.trace_as_bytes = _wide
    return module.norm(x) * 2 if kind == "Mix" else torch.zeros_like(x)
