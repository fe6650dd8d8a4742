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


_DROPPED = {"bfloat16": 16, "tf32": 13}
"""Binary digits of float32 that NumPy has no dtype without."""


def _rounded(numbers: Any, dtype: str) -> Any:
    dropped = _DROPPED.get(dtype)
    if dropped is None:
        return numbers.astype(dtype)
    bits = numbers.astype(np.float32).view(np.uint32)
    half, last = (1 << dropped - 1) - 1, (bits >> dropped) & 1
    return ((bits + half + last) >> dropped << dropped).astype(np.uint32).view(np.float32)


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


def layer(x: torch.Tensor, weights: list[torch.Tensor], r: Rounding = exact, off: float = 0.0) -> torch.Tensor:
    """A transformer's layer, with a kernel in the place of its attention and of half its MLP."""
    q, k, v, out, up, down = weights
    one = torch.ones(x.shape[-1], dtype=x.dtype)
    normed = norm(x, one)
    x = x + attention(normed @ q, normed @ k, normed @ v, r, off) @ out
    return x + mlp(norm(x, one), up, down, r, off)


def layers(count: int, size: int = 32, rows: int = 16, seed: int = 0) -> tuple[torch.Tensor, list[list[torch.Tensor]]]:
    """Return an input and the weights of so many layers, in float64 and exact in bfloat16."""
    generator = torch.Generator().manual_seed(seed)

    def made(*shape: int) -> torch.Tensor:
        return (torch.randn(shape, generator=generator) / shape[0] ** 0.5).bfloat16().double()

    shapes = [(size, size)] * 4 + [(size, 4 * size), (4 * size, size)]
    return made(rows, size) * rows**0.5, [[made(*shape) for shape in shapes] for _ in range(count)]


FUNCTIONS: dict[str, tuple[Callable[..., torch.Tensor], tuple[tuple[int, ...], ...]]] = {
    "attention": (attention, ((2, 16, 8), (2, 16, 8), (2, 16, 8))),
    "norm": (norm, ((4, 32), (32,))),
    "mlp": (mlp, ((4, 32), (32, 48), (48, 32))),
}
"""Each with the shapes of its inputs."""


def drawn(name: str, dtype: torch.dtype, seed: int = 0) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(seed)
    return tuple(torch.randn(shape, generator=generator).to(dtype) for shape in FUNCTIONS[name][1])
