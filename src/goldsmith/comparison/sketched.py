"""Compare a leaf with a sketch of gold's: how far off it is as a whole, by estimate; not where."""

from __future__ import annotations

import math
from typing import Any

from goldsmith.comparison.leaf_result import mismatch
from goldsmith.comparison.leaves import Leaf, leaf_of
from goldsmith.comparison.results import SKETCHED, LeafComparison
from goldsmith.gold.arrays import as_numpy
from goldsmith.gold.sketches.sketch import Sketch, widened
from goldsmith.gold.tolerances import RTOL, Tolerance, scalar_ratio


def compare_sketched(
    path: str, actual: Any, gold: Sketch, tolerance: Tolerance | None, notes: tuple[str, ...] = ()
) -> LeafComparison:
    """Compare `actual` with the sketch, within the tolerance that was measured for the whole tensor."""
    leaf = leaf_of(actual, path)
    if not isinstance(leaf, Leaf):
        return mismatch(path, "type", leaf.dtype, gold.dtype, notes=notes)
    if leaf.shape != gold.shape:
        return mismatch(path, "shape", leaf.dtype, gold.dtype, leaf.shape, gold.shape, notes=notes)
    numbers = as_numpy(actual)
    relative = gold.error_of(numbers)
    share = scalar_ratio(relative, widened(relative_limit(tolerance, gold.rms), gold.count))
    agrees = share <= 1 and leaf.dtype == gold.dtype
    bad = _not_finite(numbers)
    problem = "" if agrees else "dtype" if share <= 1 else "nan" if bad else "values"
    return LeafComparison(
        path=path,
        agrees=agrees,
        problem=problem,  # type: ignore[arg-type]
        actual_dtype=leaf.dtype,
        gold_dtype=gold.dtype,
        actual_shape=leaf.shape,
        gold_shape=gold.shape,
        elements=gold.size,
        excess=share if problem in ("", "values") else math.inf,
        tolerance=SKETCHED,
        rms_gap=relative * gold.rms,
        gold_rms=gold.rms,
        relative=relative,
        nan_actual=bad[0] if bad else 0,
        inf_actual=bad[1] if bad else 0,
        notes=notes,
    )


def relative_limit(tolerance: Tolerance | None, rms: float) -> float:
    """Return the largest relative error of a whole tensor that its tolerance admits."""
    if tolerance is None:
        return RTOL
    if tolerance.l2 is not None or tolerance.max is not None:
        limits = [limit for limit in (tolerance.l2, tolerance.max) if limit is not None]
        return min(limits) * (tolerance.scale / rms)
    return (tolerance.rtol or 0.0) + (tolerance.atol or 0.0) / rms


def _not_finite(numbers: Any) -> tuple[int, int] | None:
    """Count NaN and infinities; None if there are none."""
    import numpy as np

    if numbers.dtype.kind not in "fc" or np.isfinite(numbers).all():
        return None
    return int(np.isnan(numbers).sum()), int(np.isinf(numbers).sum())
