"""How many sums a tensor can be given away in without being given away itself.

A sketch is a handful of linear equations about a tensor, with signs that everybody knows. Its secret is that there are
far fewer equations than unknowns. What counts as an unknown is therefore derived for each tensor: whoever guesses that
it is sparse, smooth, of low rank or full of repetitions has fewer of them. docs/contributing/sketches.md derives the
rule; tests/unit/gold/sketches/test_sketch_privacy.py attacks what it lets through.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from goldsmith.gold.sketches.sketch import SUMS, parts_of

MARGIN = 0.9
"""The relative error, over that of the tensor's mean, which every reconstruction must at least be left with."""
VIEWS = 3
"""How many tensors of a kit may follow from one another by maps that everybody knows, such as a linear layer."""
SAME_DIGITS = 1e5
"""Numbers that differ by less than the tensor's size over this count as one number."""
FEWEST = 4
"""Fewer sums than these say too little about how far off a tensor is."""
MAX_MATRIX_SIDE = 2048
"""Unfoldings with a longer short side are not decomposed: no such tensor has so low a rank that 32 sums matter."""

_ENERGY = 1.0 - MARGIN**2


FEWEST_NUMBERS = math.ceil(FEWEST * VIEWS / _ENERGY)
"""A tensor with fewer numbers has no sketch, whatever they are."""


def most_sums(numbers: int) -> int:
    """Return how many sums of a tensor with this many numbers may ever be handed out, whatever they are."""
    found = min(SUMS, int(_ENERGY * numbers / VIEWS))
    return found if found >= FEWEST else 0


def sums_allowed(array: Any) -> tuple[int, str]:
    """Return how many sums of a tensor may be handed out; if none, the reason why."""
    array = np.asarray(array)
    if array.dtype.kind not in "fc":
        return 0, "it does not hold floating-point numbers"
    numbers = parts_of(array).astype(np.float64)
    if not most_sums(numbers.size):
        return 0, f"it has only {array.size} {'number' if array.size == 1 else 'numbers'}"
    if not np.isfinite(numbers).all():
        return 0, "not all of it is finite"
    if bool((numbers == np.round(numbers)).all()):
        return 0, "all of its numbers are whole"
    found, reason = SUMS, ""
    unit = float(np.abs(numbers).max()) or 1.0  # squares of very small or large numbers leave float64's range
    for unknowns, why in _structures(numbers / unit):
        if _ENERGY * unknowns < found:
            found, reason = int(_ENERGY * unknowns), why
    return (found, "") if found >= FEWEST else (0, reason)


def _structures(numbers: Any) -> Iterator[tuple[float, str]]:
    """Yield what may be guessed about a tensor: with how many unknowns, over the share of its energy that they are."""
    centred = numbers - numbers.mean()
    total = float((centred**2).sum())
    if total <= 1e-20 * float((numbers**2).sum()):
        yield 0.0, "it is constant"
        return
    distinct = len(np.unique(np.round(centred * (SAME_DIGITS * math.sqrt(numbers.size / total)))))
    yield distinct, f"it has only {distinct} different numbers"
    yield numbers.size / VIEWS, f"it has only {numbers.size} numbers"
    for coefficients, why in _bases(centred):
        yield _sparse(coefficients, total), why
    yield from _low_rank(centred, total)


def _sparse(coefficients: Any, total: float) -> float:
    """Return the unknowns of the sparse part of a tensor, over its share of the energy, for the worst such part.

    A vector with m coefficients that are not zero is determined by 2m equations, even if nobody says which they are.
    """
    energy = np.cumsum(np.sort((coefficients**2).reshape(-1))[::-1]) / total
    large = energy > _ENERGY
    counted = np.arange(1, energy.size + 1)
    return float((2.0 * counted[large] / energy[large]).min())


def _bases(centred: Any) -> Iterator[tuple[Any, str]]:
    """Yield a tensor's coefficients where few of them may be large: by itself, and where it is smooth along some axes.
    All bases are orthonormal."""
    yield centred, "few of its numbers are large"
    axes = [axis for axis, size in enumerate(centred.shape) if size > 1]
    everywhere = centred
    for axis in axes:
        yield _cosines(centred, axis), f"it changes little along axis {axis}"
        everywhere = _cosines(everywhere, axis)
    if len(axes) > 1:
        yield everywhere, "it is smooth"


def _cosines(numbers: Any, axis: int) -> Any:
    """Return the orthonormal discrete cosine transform along one axis."""
    moved = np.moveaxis(numbers, axis, -1)
    length = moved.shape[-1]
    twice = np.concatenate([moved, moved[..., ::-1]], axis=-1)
    turn = np.exp(-0.5j * np.pi * np.arange(length) / length)
    found = (np.fft.fft(twice, axis=-1)[..., :length] * turn).real / np.sqrt(2.0 * length)
    found[..., 0] /= np.sqrt(2.0)
    return np.moveaxis(found, -1, axis)


def _low_rank(centred: Any, total: float) -> Iterator[tuple[float, str]]:
    """Yield the part of rank r of every matrix that the tensor unfolds to, which has r (a + b - r) unknowns."""
    for split in range(1, centred.ndim):
        matrix = centred.reshape(int(np.prod(centred.shape[:split])), -1)
        rows, columns = matrix.shape
        if min(rows, columns) < 2 or min(rows, columns) > MAX_MATRIX_SIDE:
            continue
        gram = matrix @ matrix.T if rows <= columns else matrix.T @ matrix
        values = np.clip(np.linalg.eigvalsh(gram)[::-1], 0.0, None)
        energy = np.cumsum(values) / total
        rank = np.arange(1, values.size + 1)
        large = energy > _ENERGY
        unknowns = rank * (rows + columns - rank)
        if large.any():
            yield float((unknowns[large] / energy[large]).min()), "it is of low rank"
