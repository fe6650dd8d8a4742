"""The limits a leaf is held to: a tolerance of the gold's, the caller's, or the default of its dtype."""

from __future__ import annotations

import numpy as np

from goldsmith.comparison.leaves import Array, Form
from goldsmith.gold.tolerances import (
    DWARFS,
    SMALLEST_LIMIT,
    Tolerance,
    elementwise_ratios,
    ratios,
    scalar_ratio,
    sizes_of,
)

_TINY, _HUGE = 1e-30, 1e30


class Limit:
    """Limits of one leaf: `rtol` and `atol` for each element, `max` for each in units of the tensor's size, `l2` for
    the whole tensor. With `by_parts`, a complex number counts as two."""

    __slots__ = (
        "atol",
        "by_parts",
        "fits_single",
        "in_units",
        "kind",
        "l2",
        "max",
        "noisy_limit",
        "rtol",
        "scale",
        "single_atol",
        "single_rtol",
    )

    def __init__(self, kind: str, rtol: float | None, atol: float | None) -> None:
        self.kind = kind
        none = rtol is None and atol is None
        self.rtol = None if none else float(rtol or 0.0)
        self.atol = 0.0 if none else float(atol or 0.0)
        self.max: float | None = None
        self.l2: float | None = None
        self.scale = 1.0
        self.noisy_limit = 0.0
        self.by_parts = False
        self.in_units = False
        with np.errstate(over="ignore"):  # then it does not fit, and is not used
            self.single_rtol, self.single_atol = np.array(self.rtol or 0.0, np.float32), np.array(self.atol, np.float32)
        self.fits_single = self._fits_single()

    def in_units_of(self, tolerance: Tolerance) -> None:
        self.max, self.l2, self.scale = tolerance.max, tolerance.l2, tolerance.scale
        self.in_units = self.max is not None or self.l2 is not None
        self.fits_single = self._fits_single()

    def _fits_single(self) -> bool:
        """Say whether float32 can hold these limits with room to spare on both sides."""
        if self.rtol is not None and self.in_units:
            return False
        if self.rtol is not None and not (self.rtol < 1 and _TINY <= self.atol <= _HUGE) and (self.rtol or self.atol):
            return False
        in_units = (item for item in (self.max, self.l2) if item is not None)
        fits = (_TINY <= number <= _HUGE for item in in_units for number in (item, self.scale, item * self.scale))
        return all(fits)

    @property
    def is_tiny(self) -> bool:
        """Say whether limits of gaps are so small that float64 may not hold them as a product."""
        return self.max is not None and self.max * self.scale < SMALLEST_LIMIT

    def shares(self, gap: Array, gold: Array) -> Array:
        """Return each element's share of its own limit, in float64; `gold` holds magnitudes."""
        found: Array = np.zeros(gap.shape)
        if self.rtol is not None:
            found = elementwise_ratios(gap, gold, self.rtol, self.atol)
        if self.max is not None:
            with np.errstate(over="ignore"):
                relative = gap / sizes_of(gold, self.scale)
            found = np.maximum(found, ratios(relative, np.float64(self.max)))
        return found

    def share_of(self, gap: float, gold: float) -> float:
        """Return the share of one element that does not dwarf the tensor."""
        found = 0.0 if self.rtol is None else scalar_ratio(gap, self.atol + self.rtol * gold)
        return found if self.max is None else max(found, scalar_ratio(gap / self.scale, self.max))

    def is_outlier(self, largest: float, margin: float) -> bool:
        """Say whether an element of this magnitude may be so large that it is measured in its own size."""
        return largest > DWARFS * self.scale * (1 - margin)


def limit_of(tolerance: Tolerance) -> Limit:
    """Return the limits of a gold's tolerance, as `goldsmith.gold.tolerances.tolerance_ratio` understands them."""
    if tolerance.kind == "exact":
        limit = Limit("exact", 0.0, 0.0)
    else:
        limit = Limit(tolerance.kind, tolerance.rtol, tolerance.atol)
    limit.in_units_of(tolerance)
    limit.noisy_limit = tolerance.noisy_limit
    limit.by_parts = True
    return limit


def default_limit(actual: Form, gold: Form) -> Limit:
    """Return the limits of torch.testing: the wider of both dtypes' documented tolerances; integers are exact."""
    rtol, atol = max(actual.rtol, gold.rtol), max(actual.atol, gold.atol)
    return Limit("default" if rtol else "exact", rtol, atol)
