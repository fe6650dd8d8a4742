"""Projections of a gradient that gold stores in its place: enough to tell one gradient from another."""

from __future__ import annotations

import math
from typing import Any

from goldsmith.gold.sizes import quick_norm, root_mean_square

_PROJECTIONS = 3
_PIECE = 2**20
"""Elements of a gradient that are projected at once: of a larger one, the cosines alone would take six times its memory
in float32."""


def projections(gradient: Any) -> list[float]:
    """Return the norm of a gradient and its projections on a few fixed directions."""
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
