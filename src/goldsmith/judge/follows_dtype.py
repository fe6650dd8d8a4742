"""Find out whether code follows the dtype that it is given, by two more runs in float64.

Code that torch does not see (Triton, ctypes, another library, a custom backward) may round to bfloat16 whatever it is
given: then its run in float64 is no finer than one in its own dtype, and says nothing about it. A small mistake is no
finer there either, so how far off a run is does not tell the two apart. How it responds does: inputs are moved by far
less than the dtype's last place, and by about as much as that. What is computed in float64 moves in proportion. What is
rounded inside stays where it is or jumps by a whole last place, which is far out of proportion to the small move, so
that one such call shows among all others.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from goldsmith.gold.arrays import difference_of, numbers_of
from goldsmith.gold.precision import last_place
from goldsmith.gold.sizes import root_mean_square
from goldsmith.gold.tolerances import SAFETY, Tolerance, factor_ratio, sizes_of, tolerance_ratio
from goldsmith.judge.policy import COARSE_MOVE, FINE_MOVE, FLOORS_INSIDE, LEAST_COARSE_MOVE, ROUNDS_INSIDE
from goldsmith.runs.conditions import FLOAT64, Conditions

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]

_FLOAT32, _TF32 = "float32", "tf32"
_NUDGED = ("nudged_finely", "nudged_coarsely")


def is_nudged(run: str) -> bool:
    """Return whether a run is one of these, by its name."""
    return run.startswith(_NUDGED)


def inner_dtypes(dtype: str, *, tf32: bool = False) -> tuple[str, ...]:
    """Return what code may round to inside whose own dtype is this one: that, and float32, which is finer than most;
    TF32 before it, where products may be rounded to it."""
    eps, least = last_place(dtype), last_place(_FLOAT32)
    if eps is None or least is None or eps < least:
        return ()
    return (*((_TF32,) if tf32 and eps == least else ()), *dict.fromkeys((dtype, _FLOAT32)))


def nudges(dtype: str) -> tuple[Conditions, Conditions]:
    """Return the conditions of both runs that show whether code rounds to this dtype."""
    fine, coarse = (
        FLOAT64.but(name=f"{name}_{dtype}", unit=unit) for name, unit in zip(_NUDGED, _moves(dtype), strict=True)
    )
    return fine, coarse


def _moves(dtype: str) -> tuple[float, float]:
    """Return by which share numbers are moved, to see whether they are rounded to a dtype."""
    eps = last_place(dtype)
    assert eps is not None
    return FINE_MOVE * eps, max(COARSE_MOVE * eps, LEAST_COARSE_MOVE)


def slope_gap(dtype: str, plain: Any, fine: Any, coarse: Any) -> float:
    """Return how far apart the responses to both moves are, in proportion to the moves and to the larger response: 0 if
    one is the other's multiple, 1 if there is none to one of them."""
    import numpy as np

    own, near, far = (numbers_of(values) for values in (plain, fine, coarse))
    if not own.shape == near.shape == far.shape:
        return 0.0
    first, second = difference_of(near, own), difference_of(far, own)
    sound = np.isfinite(first) & np.isfinite(second)
    near_by, far_by = _moves(dtype)
    slopes = first[sound] / near_by, second[sound] / far_by
    size = max(float(np.linalg.norm(slope)) for slope in slopes)
    return float(np.linalg.norm(slopes[0] - slopes[1])) / size if size else 0.0


def limit_of_rounding(own: Any, exact: Any, dtype: str) -> Tolerance:
    """Return how far off code may be that rounds to a dtype inside: as far as the reference's `own` result there is
    from its `exact` one in float64, times the safety of every tolerance, or about as far as one rounding takes it."""
    import numpy as np

    gold, eps = numbers_of(exact), last_place(dtype) or 0.0
    gap = np.abs(difference_of(numbers_of(own), gold))
    sound = np.isfinite(gap) & np.isfinite(gold)
    scale = root_mean_square(gold[sound]) or 1.0
    off = gap[sound] / sizes_of(gold[sound], scale)
    return Tolerance(
        kind="measured",
        reason=f"{SAFETY:g} x what the reference is off in {dtype}",
        l2=max(SAFETY * root_mean_square(off), FLOORS_INSIDE[0] * eps),
        max=max(SAFETY * float(off.max(initial=0.0)), FLOORS_INSIDE[1] * eps),
        scale=scale,
    )


def rounds_inside(
    dtype: str,
    inner: str,
    wide: tuple[Mapping[str, Any], Mapping[str, Any], Mapping[str, Any]],
    reference: Mapping[str, Any],
    sharp: Mapping[str, Tolerance],
    own: Mapping[str, Any],
    noisy: Mapping[str, Any],
    ruled: Mapping[str, Tolerance] = MappingProxyType({}),
) -> bool:
    """Say whether all that is off in float64, beyond its `sharp` tolerance, is rounded to `inner` inside, and is off by
    no more than rounding to `dtype` explains: of that, by as large a share as it is rounded. `own` are the reference's
    values in that dtype, which is the code's own, unless limits were measured there (`ruled`); `wide` are a run of it
    as it is, and both moved ones."""
    plain, fine, coarse = wide
    off = off_in_float64(plain, reference, sharp, noisy)
    for path in off:
        if not all(path in values for values in (own, fine, coarse)):
            return False
        share = min(1.0, slope_gap(inner, plain[path], fine[path], coarse[path]))
        limit = ruled.get(path) or limit_of_rounding(own[path], reference[path], dtype)
        if share < ROUNDS_INSIDE or _excess(plain[path], reference[path], limit, noisy.get(path)) > share:
            return False
    return bool(off)


def off_in_float64(
    plain: Mapping[str, Any], reference: Mapping[str, Any], sharp: Mapping[str, Tolerance], noisy: Mapping[str, Any]
) -> list[str]:
    """List what is beyond its tolerance in float64."""
    known = [path for path in reference if path in sharp and path in plain]
    return [path for path in known if _excess(plain[path], reference[path], sharp[path], noisy.get(path)) > 1]


def _excess(actual: Any, gold: Any, tolerance: Tolerance, noisy: Any) -> float:
    import numpy as np

    one, two = numbers_of(actual), numbers_of(gold)
    if one.shape != two.shape:
        return float("inf")
    gap = difference_of(one, two)
    if not np.isfinite(gap).all():
        return float("inf")
    sound = np.isfinite(two)
    marks = noisy[sound] if noisy is not None and noisy.shape == two.shape else None
    given = tolerance, gap[sound], two[sound], marks
    return max(tolerance_ratio(*given), factor_ratio(*given))
