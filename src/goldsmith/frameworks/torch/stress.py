"""The `stress` weight profile: no parameter at its identity value, activations still of order one.

At init a norm's scale is 1 and a bias is 0, so that a missing scale or bias does not show. Here it does.
"""

from __future__ import annotations

import hashlib
import math
from typing import Any

import torch


def stress(model: torch.nn.Module, seed: int) -> torch.nn.Module:
    """Redraw the weights of `model` in place, from `seed` and each weight's name alone."""
    embeddings = {id(part.weight) for part in model.modules() if isinstance(part, torch.nn.Embedding)}
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if not weight.is_floating_point():
                continue
            weight.copy_(_draw(name, weight, seed, is_table=id(weight) in embeddings))
        for name, buffer in model.named_buffers():
            if name.endswith("running_mean"):
                buffer.copy_(_uniform(name, buffer, seed, -0.5, 0.5))
            elif name.endswith("running_var"):
                buffer.copy_(_uniform(name, buffer, seed, 0.5, 1.5))
    return model


def stressed(tensor: Any, name: str, seed: int) -> Any:
    """Redraw a tensor in place; return None if it holds numbers that cannot be."""
    if not tensor.is_floating_point():
        return None
    tensor.detach().copy_(_draw(name, tensor, seed, is_table=False))
    return tensor


def _draw(name: str, weight: torch.Tensor, seed: int, is_table: bool) -> torch.Tensor:
    if weight.dim() >= 2:
        fan_in = 1 if is_table else math.prod(weight.shape[1:]) or 1
        return torch.randn(weight.shape, generator=_generator(name, seed)) / math.sqrt(fan_in)
    centre = weight.detach().cpu()
    return centre + _uniform(name, weight, seed, 0.1, 0.5) * _signs(name, weight, seed)


def _uniform(name: str, like: torch.Tensor, seed: int, low: float, high: float) -> torch.Tensor:
    return torch.rand(like.shape, generator=_generator(name, seed)) * (high - low) + low


def _signs(name: str, like: torch.Tensor, seed: int) -> torch.Tensor:
    return torch.randint(0, 2, like.shape, generator=_generator(f"{name} sign", seed)) * 2.0 - 1.0


def _generator(name: str, seed: int) -> torch.Generator:
    """Make a separate generator for each weight, so that adding one does not change the others."""
    digest = hashlib.sha256(f"{seed}|{name}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:7], "big"))
