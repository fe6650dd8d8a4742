"""Noise for numbers on the host, of any dtype: a unit in the last place, as another order of additions would make."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from goldsmith.gold.precision import last_place

_BUFFER = 2**20
_SPARE_BITS, _FEW_BITS = 8, 11
"""As in `frameworks/torch/rounding.py`: a whole number is exact unless it is so large that rounded ones are whole by
chance; of dtypes with so few bits, an array of nothing but whole numbers is."""


def disturbed(values: Any, dtype: str, generator: np.random.Generator, least: float) -> Any:
    """Move numbers that have a dtype elsewhere, all but whole ones."""
    drawn = generator.uniform(-1, 1, values.shape)
    return np.where(values == np.round(values), values, values * (1 + drawn * max(eps_of(dtype), least)))


class Noise:
    """Moves what operations return, all of it from the same random numbers."""

    def __init__(self, seed: int, *, narrowed: bool) -> None:
        self._offsets, self._position = _uniform(seed), 0
        self._least = 2.0**-23 if narrowed else 0.0

    def __call__(self, array: Any) -> Any:
        eps = eps_of(str(array.dtype))
        values = array.astype(np.complex128 if np.iscomplexobj(array) else np.float64)
        moved = values * (1 + self._drawn(values.shape) * max(eps, self._least))
        with np.errstate(over="ignore"):
            return np.where(_is_whole(values, 1 - round(math.log2(eps))), values, moved).astype(array.dtype)

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        count = math.prod(shape)
        start = self._position if self._position + count <= _BUFFER else 0
        self._position = (start + count) % _BUFFER
        return np.resize(self._offsets[start:], count).reshape(shape)


def _is_whole(values: Any, bits: int) -> Any:
    if np.iscomplexobj(values):
        return _is_whole(values.real, bits) & _is_whole(values.imag, bits)
    whole, sizes = values == np.round(values), np.abs(values)
    if bits <= _FEW_BITS and (whole & (sizes < 2.0**bits)).all():
        return whole
    return whole & (sizes < 2.0 ** (bits - _SPARE_BITS))


@functools.lru_cache(maxsize=1)
def _uniform(seed: int) -> Any:
    return np.random.default_rng(seed).uniform(-1, 1, _BUFFER)


def eps_of(dtype: str) -> float:
    """Return the unit in the last place of a dtype, of numbers around 1."""
    known = last_place(dtype)
    if known is None:
        import ml_dtypes  # comes with what has such a dtype

        return float(ml_dtypes.finfo(dtype).eps)
    return known
