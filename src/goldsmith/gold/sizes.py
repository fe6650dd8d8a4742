"""Sizes of arrays, and of one relative to another, over the whole range of float64: a square leaves it at 1e-162 and
1e154."""

from __future__ import annotations

import math
from typing import Any

_PROJECTIONS = 3
_PIECE = 2**20
"""Elements of a gradient that are projected at once: of a larger one, the cosines alone would take six times its memory
in float32."""
_USUAL = (1e-140, 1e140)


def root_mean_square(finite: Any) -> float:
    """Compute the root mean square without overflow or underflow: 0 for none, and where all are 0."""
    unit, mean = _size(finite)
    return max(unit * mean, math.ulp(0.0)) if unit else 0.0


def relative_size(gap: Any, whole: Any) -> float:
    """Return the norm of `gap` over that of `whole`, which has as many elements; nothing over nothing is 0."""
    one, two = quick_norm(gap), quick_norm(whole)
    if one is not None and two:
        return one / two
    (unit, mean), (whole_unit, whole_mean) = _size(gap), _size(whole)
    if not unit or not whole_unit or unit == math.inf:
        return math.inf if unit else 0.0
    return (unit / whole_unit) * (mean / whole_mean)


def common_factor(gap: Any, whole: Any) -> float:
    """Return by which share of `whole` all of it is off, if `gap` is a multiple of it and what goes both ways; 0 where
    that leaves the range of float64."""
    import numpy as np

    unit = max(float(np.max(np.abs(whole), initial=0.0)), float(np.max(np.abs(gap), initial=0.0)))
    if not 0.0 < unit < math.inf:
        return 0.0
    one, two = np.ravel(gap / unit), np.ravel(whole / unit)
    square = float(np.real(np.vdot(two, two)))
    return float(np.real(np.vdot(two, one))) / square if square > _USUAL[0] else 0.0


def quick_norm(numbers: Any) -> float | None:
    """Return the Euclidean norm by plain squares; None where these may have left the range of float64."""
    import numpy as np

    with np.errstate(over="ignore", invalid="ignore"):
        found = float(np.linalg.norm(numbers))
    return found if _USUAL[0] < found < _USUAL[1] or not (found or np.any(numbers)) else None


def _size(numbers: Any) -> tuple[float, float]:
    """Return the largest magnitude, and the root mean square in units of it."""
    import numpy as np

    array = np.asarray(numbers)
    if np.iscomplexobj(array):  # counts as two: its own magnitude may overflow
        array = np.stack([array.real, array.imag])
    largest = max(float(array.max(initial=0.0)), -float(array.min(initial=0.0)))
    if not 0.0 < largest < math.inf:
        return largest, 1.0
    shares = np.atleast_1d(array / largest)
    return largest, math.sqrt(float(np.mean(np.square(shares, out=shares))))


def projections(gradient: Any) -> list[float]:
    """Return the norm of a gradient and its projections on a few fixed directions. Gold stores those in its place: they
    are enough to tell one gradient from another."""
    import numpy as np

    flat = np.asarray(gradient, dtype="float64").ravel()
    along = [0.0] * _PROJECTIONS
    for begin in range(0, flat.size, _PIECE):
        piece = flat[begin : begin + _PIECE]
        steps = np.arange(begin + 1, begin + piece.size + 1)
        for number in range(_PROJECTIONS):
            along[number] += float(piece @ np.cos(steps * (1.3 + number)))
    norm = quick_norm(flat)
    return [root_mean_square(flat) * math.sqrt(flat.size) if norm is None else norm, *along]
