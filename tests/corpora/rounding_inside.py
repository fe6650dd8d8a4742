"""Operators that can round inside, in any dtype, where torch does not see it: behind NumPy, as a kernel would."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

Rounding = Callable[[torch.Tensor], torch.Tensor]


def hidden(dtype: str) -> Rounding:
    """Return a function that rounds numbers to a dtype, and returns them in the one that they came in."""

    def rounded(values: torch.Tensor) -> torch.Tensor:
        numbers = values.detach().double().numpy()
        return torch.from_numpy(_rounded(numbers, dtype).astype(np.float64)).to(values.dtype)

    return rounded


def _rounded(numbers: Any, dtype: str) -> Any:
    if dtype != "bfloat16":
        return numbers.astype(dtype)
    bits = numbers.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)


def exact(values: torch.Tensor) -> torch.Tensor:
    return values


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, r: Rounding = exact, off: float = 0.0) -> torch.Tensor:
    kind, q, k, v = q.dtype, r(q), r(k), r(v)
    weights = torch.softmax(r(q @ k.transpose(-1, -2) * (1 + off) * q.shape[-1] ** -0.5), -1)
    return (r(weights) @ v).to(kind)


def norm(x: torch.Tensor, scale: torch.Tensor, r: Rounding = exact, off: float = 0.0) -> torch.Tensor:
    return r(r(x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5 + off)) * scale)


def mlp(x: torch.Tensor, up: torch.Tensor, down: torch.Tensor, r: Rounding = exact, off: float = 0.0) -> torch.Tensor:
    return r(torch.relu(r(x @ up)) * (1 + off)) @ down


FUNCTIONS: dict[str, tuple[Callable[..., torch.Tensor], tuple[tuple[int, ...], ...]]] = {
    "attention": (attention, ((2, 16, 8), (2, 16, 8), (2, 16, 8))),
    "norm": (norm, ((4, 32), (32,))),
    "mlp": (mlp, ((4, 32), (32, 48), (48, 32))),
}
"""Each with the shapes of its inputs."""


def drawn(name: str, dtype: torch.dtype, seed: int = 0) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(seed)
    return tuple(torch.randn(shape, generator=generator).to(dtype) for shape in FUNCTIONS[name][1])
