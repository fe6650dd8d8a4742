"""A few numbers of a gradient, which gold keeps in its place: enough to tell one gradient from another."""

from __future__ import annotations

from typing import Any

_PROJECTIONS = 3


def projections(gradient: Any) -> list[float]:
    """Return the length of a gradient, and how far it goes in a few fixed directions."""
    import numpy as np

    flat = np.asarray(gradient, dtype="float64").ravel()
    steps = np.arange(1, flat.size + 1)
    along = [float(flat @ np.cos(steps * (1.3 + number))) for number in range(_PROJECTIONS)]
    return [float(np.linalg.norm(flat)), *along]
