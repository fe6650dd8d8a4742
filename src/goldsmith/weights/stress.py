"""The `stress` weight profile: no parameter at its identity value, activations still of order one.

At init a norm's scale is 1 and a bias is 0, so that a missing scale or bias does not show. Here it does.
"""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING, Any

from goldsmith.gold.arrays import is_tensor

if TYPE_CHECKING:
    import torch


def apply_stress(model: torch.nn.Module, seed: int) -> None:
    """Redraw the weights of `model` in place, from `seed` and each weight's name alone."""
    import torch

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


def apply_stress_to_arrays(weights: Any, seed: int, name: str = "") -> int:
    """Redraw the arrays in nested dicts and lists in place, in the same way; return how many there were."""
    import numpy as np

    if isinstance(weights, dict):
        return sum(apply_stress_to_arrays(item, seed, f"{name}.{key}") for key, item in weights.items())
    if isinstance(weights, list):
        return sum(apply_stress_to_arrays(item, seed, f"{name}.{at}") for at, item in enumerate(weights))
    if is_tensor(weights):
        if weights.is_floating_point():
            weights.detach().copy_(_draw(name, weights, seed, is_table=False))
            return 1
    elif isinstance(weights, np.ndarray) and np.issubdtype(weights.dtype, np.floating) and weights.flags.writeable:
        weights[...] = _drawn_array(name, weights, seed)
        return 1
    return 0


def _drawn_array(name: str, weight: Any, seed: int) -> Any:
    """Draw an array's values. Its input axis is unknown, so scaling by the larger axis keeps outputs of order one."""
    import numpy as np

    digest = hashlib.sha256(f"{seed}|{name}".encode()).digest()
    source = np.random.default_rng(int.from_bytes(digest[:7], "big"))
    if name.lower().endswith(("var", "variance")):
        return source.uniform(0.5, 1.5, weight.shape)
    if weight.ndim >= 2:
        return source.standard_normal(weight.shape) / math.sqrt(max(weight.shape) or 1)
    return weight + source.uniform(0.1, 0.5, weight.shape) * source.choice([-1.0, 1.0], weight.shape)


def _draw(name: str, weight: torch.Tensor, seed: int, is_table: bool) -> torch.Tensor:
    import torch

    if weight.dim() >= 2:
        fan_in = 1 if is_table else math.prod(weight.shape[1:]) or 1
        return torch.randn(weight.shape, generator=_generator(name, seed)) / math.sqrt(fan_in)
    centre = weight.detach().cpu()
    return centre + _uniform(name, weight, seed, 0.1, 0.5) * _signs(name, weight, seed)


def _uniform(name: str, like: torch.Tensor, seed: int, low: float, high: float) -> torch.Tensor:
    import torch

    return torch.rand(like.shape, generator=_generator(name, seed)) * (high - low) + low


def _signs(name: str, like: torch.Tensor, seed: int) -> torch.Tensor:
    import torch

    return torch.randint(0, 2, like.shape, generator=_generator(f"{name} sign", seed)) * 2.0 - 1.0


def _generator(name: str, seed: int) -> torch.Generator:
    """Make a separate generator for each weight, so that adding one does not change the others."""
    import torch

    digest = hashlib.sha256(f"{seed}|{name}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:7], "big"))
