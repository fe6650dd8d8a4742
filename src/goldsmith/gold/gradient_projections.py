"""Projections of a gradient that gold stores in its place: enough to tell one gradient from another."""

from __future__ import annotations

import math
from typing import Any

from goldsmith.gold.sizes import quick_norm, root_mean_square

_PROJECTIONS = 3


def projections(gradient: Any) -> list[float]:
    """Return the norm of a gradient and its projections on a few fixed directions."""
    import numpy as np

    flat = np.asarray(gradient, dtype="float64").ravel()
    steps = np.arange(1, flat.size + 1)
    along = [float(flat @ np.cos(steps * (1.3 + number))) for number in range(_PROJECTIONS)]
    norm = quick_norm(flat)
    return [root_mean_square(flat) * math.sqrt(flat.size) if norm is None else norm, *along]
