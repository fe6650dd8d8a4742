"""How far another implementation may be from the gold, and how that number was obtained.

A measured tolerance limits two things at once, both relative to the size of the tensor: its distance as a whole
(relative L2) and its farthest element. Elements that are pure noise in every correct implementation are *noisy*: they
have a limit of their own, and never count as agreement.

Here is what a tolerance is, and which share of it a distance uses. How one is computed from trials is in
`gold/calibration.py`, which trials there are in `generate/measure_tolerances.py`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from goldsmith.gold.sizes import common_factor, root_mean_square

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from goldsmith.gold.facts import LeafFacts

RTOL, ATOL = 1e-4, 1e-5
DWARFS = 1e3
UNSEEN = 0.01
"""A tolerance is only reported as blind if it is blind to more than this share of the elements."""
TOLERANCE_FLOOR = 1e-11
"""The smallest relative tolerance of results that are float64 by nature."""
SAFETY, NOISY_SAFETY = 3.0, 10.0
"""Tolerance over noise, and the same for elements that are pure noise. Real differences between configurations were up
to 1.3 times what such trials showed."""
BLIND = 0.1
"""A measured tolerance that is a larger share of a tensor's size judges nothing: noise decides."""
MOSTLY = 0.25
"""The share of noisy elements from which a whole tensor counts as noise."""
_NEGLIGIBLE = 1e-4
"""A tensor so much smaller than the largest beside it is zero but for rounding, such as a key's bias's gradient."""
SMALLEST_LIMIT, LIFT = 2.0**-960, 2.0**500
"""Limits below the first lose digits in float64; they are compared with gaps after multiplying both by the second."""
DRAWS = "draws"
"""The cause of the noise in a statistic of random draws."""
_WIDE = ("float64", "complex128", "float (Python)")


class Noise(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What was measured: the largest difference among `trials`, as relative L2 and as farthest element over the
    tensor's root mean square, and the trial that caused it. `float64` is how far the gold itself is from its float64
    reference. `customary` is how much of rtol 1e-4 / atol 1e-5 correct work uses up, `unseen` the share of elements
    so small that those would accept anything in their place."""

    trials: int
    """How many trials there were."""
    l2: float
    """The largest difference as relative L2."""
    max: float
    """The same for the farthest element, over the root mean square of the tensor."""
    worst: str
    """The trial that caused it."""
    float64: float | None = None
    """How far the gold is from its float64 reference."""
    customary: float = 0.0
    """How much of rtol 1e-4 / atol 1e-5 correct work uses up."""
    unseen: float = 0.0
    """The share of elements so small that those would accept anything in their place."""

    @property
    def sentence(self) -> str | None:
        """Say what is wrong with the customary tolerance here, or return None."""
        if self.customary > 1:
            return (
                f"rtol 1e-4 / atol 1e-5 could reject correct work: its noise is up to {self.customary:.1f} x as large"
            )
        if self.unseen > UNSEEN:
            return f"rtol 1e-4 / atol 1e-5 would accept anything in {self.unseen:.0%} of the elements"
        return None


class Tolerance(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Limits of one tensor. A measured one has `l2` and `max`, in units of `scale`; a customary or pinned one may
    have `rtol` and `atol` instead. `noisy` elements (marked in the reference file) may be off by `noisy_limit`."""

    kind: Literal["exact", "measured", "pinned", "customary"]
    """How it was arrived at."""
    reason: str
    """Why it is what it is, in words."""
    l2: float | None = None
    """Limit of the relative L2 distance, in units of `scale`."""
    max: float | None = None
    """Limit of the farthest element, in units of `scale`."""
    scale: float = 1.0
    """The root mean square of the tensor."""
    rtol: float | None = None
    """Relative limit of each element, where it is `customary` or `pinned`."""
    atol: float | None = None
    """Absolute limit of each element, where it is `customary` or `pinned`."""
    noisy: int = 0
    """How many elements are noise, on which no correct implementation agrees."""
    noisy_limit: float = 0.0
    """How far those may be off."""
    noise: Noise | None = None
    """What was measured."""
    factor: float | None = None
    """How far the factor by which the whole tensor is off may be from 1, where a ruler limits that more closely."""


class Pinned(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, kw_only=True):
    """A tolerance that the recipe's author has set, and why: elementwise (`rtol`, `atol`) or relative to the tensor's
    size (`l2`, `max`); for a statistic, one that follows from a number of `draws`."""

    reason: str
    rtol: float | None = None
    atol: float | None = None
    l2: float | None = None
    max: float | None = None
    draws: int = 0

    @staticmethod
    def of(tolerance: Mapping[str, Any]) -> Pinned:
        """Read what a recipe says; the message of a ValueError continues "the tolerance of …"."""
        try:
            pin = msgspec.convert(dict(tolerance), Pinned)
        except (msgspec.ValidationError, TypeError, ValueError) as error:
            raise ValueError(f"cannot be read: {error}") from None
        if problem := pin.problem():
            raise ValueError(problem)
        return pin

    def problem(self) -> str | None:
        """Say what is wrong with the pin, or return None."""
        limits = [limit for limit in (self.rtol, self.atol, self.l2, self.max) if limit is not None]
        if not self.reason.strip():
            return "needs its reason as text"
        if not limits:
            return "limits nothing: give rtol and atol, or l2 and max"
        if any(not 0 <= limit < math.inf for limit in limits):
            return "has a limit that is negative or not finite"
        return None


def unmeasured(leaf: LeafFacts, why: str, pinned: Mapping[str, Pinned]) -> Tolerance | None:
    """Return the tolerance of a leaf that no trial measured; None if it is not a number."""
    if not leaf.is_number:
        return None
    pin = pin_for(leaf.path, pinned)
    if pin is not None:
        return apply_pin(pin, Tolerance(kind="customary", reason="", scale=leaf.rms or 1.0))
    if not leaf.is_inexact:
        return Tolerance(kind="exact", reason="not a floating-point number")
    return Tolerance(kind="customary", rtol=RTOL, atol=ATOL, reason=f"customary, {why}")


def pin_for(path: str, pinned: Mapping[str, Pinned]) -> Pinned | None:
    """Return the pin of the leaf itself or of what it is part of, the nearest first."""
    while path:
        if path in pinned:
            return pinned[path]
        path = path.rpartition(".")[0]
    return None


def apply_pin(pin: Pinned, measured: Tolerance) -> Tolerance:
    """Replace the limits of `measured` by the pin's, and keep its noise as evidence; no element is excused as noise.
    The noise of a statistic is its variation from draw to draw."""
    if pin.draws:
        seen = Noise(trials=pin.draws, l2=pin.atol or 0.0, max=pin.atol or 0.0, worst=DRAWS)
        return Tolerance(kind="pinned", reason=pin.reason, atol=pin.atol, noise=seen)
    return msgspec.structs.replace(
        measured,
        kind="pinned",
        reason=pin.reason,
        l2=pin.l2,
        max=pin.max,
        rtol=pin.rtol,
        atol=pin.atol,
        noisy=0,
        noisy_limit=0.0,
    )


def with_floor(tolerance: Tolerance, dtype: str, floor: float = TOLERANCE_FLOOR) -> Tolerance:
    """Widen a measured tolerance of a float64 result to `floor`: its noise is so small that another correct formula
    would fail."""
    if tolerance.kind != "measured" or dtype not in _WIDE:
        return tolerance
    return msgspec.structs.replace(
        tolerance,
        l2=max(tolerance.l2 or 0.0, floor),
        max=max(tolerance.max or 0.0, floor),
        noisy_limit=max(tolerance.noisy_limit, floor * tolerance.scale),
    )


def blind_paths(tolerances: Mapping[str, Tolerance], counts: Mapping[str, int]) -> list[str]:
    """List the tensors that noise moves so far that nothing can be judged by them; `counts` are their elements."""
    measured = {path: item for path, item in tolerances.items() if item.kind == "measured" and path in counts}
    largest = max((item.scale for item in measured.values()), default=0.0)
    telling = {path: item for path, item in measured.items() if item.scale > _NEGLIGIBLE * largest}
    return [path for path, item in telling.items() if is_blind(item, counts[path])]


def is_blind(tolerance: Tolerance, count: int) -> bool:
    """Say whether a measured tolerance of so many elements is larger than a tenth of their size, or most of them are
    noise of that size."""
    if tolerance.kind != "measured":
        return False
    is_noise = tolerance.noisy > MOSTLY * count and tolerance.noisy_limit > BLIND * tolerance.scale
    return is_noise or (tolerance.l2 or 0.0) > BLIND


def first_jump(call_noise: Mapping[str, float]) -> str:
    """Return the first call, in the order in which they ended, that noise moves so far; empty if there is none."""
    return next((name for name, noise in call_noise.items() if noise > BLIND), "")


def sizes_of(gold: npt.NDArray[np.float64], scale: float) -> npt.NDArray[np.float64]:
    """Return the unit of each element's distance: the tensor's size, or the element's own where it dwarfs that."""
    import numpy as np

    magnitude = np.abs(gold)
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(magnitude) & (magnitude > DWARFS * scale), magnitude, scale)


def tolerance_ratio(
    tolerance: Tolerance,
    gap: npt.NDArray[np.float64],
    gold: npt.NDArray[np.float64],
    noisy: npt.NDArray[np.bool_] | None = None,
) -> float:
    """Return the share of the tolerance that the distance `gap` from `gold` uses up: at most 1 is within. All must be
    finite."""
    import numpy as np

    gap, gold = np.abs(gap), np.abs(gold)
    found = [0.0]
    if noisy is not None and noisy.any():
        found.append(scalar_ratio(float(gap[noisy].max()), tolerance.noisy_limit))
        gap, gold = gap[~noisy], gold[~noisy]
    if gap.size:
        found += list(_shares(tolerance, gap, gold))
    return max(found)


def factor_ratio(
    tolerance: Tolerance,
    gap: npt.NDArray[np.float64],
    gold: npt.NDArray[np.float64],
    noisy: npt.NDArray[np.bool_] | None = None,
) -> float:
    """Return the share of its limit that a factor uses up by which all of `gold` is off, where the distance `gap` has a
    sign. Roundings go both ways, so that over many elements a factor shows that is smaller than each of them."""
    if tolerance.factor is None:
        return 0.0
    if noisy is not None and noisy.any():
        gap, gold = gap[~noisy], gold[~noisy]
    return scalar_ratio(abs(common_factor(gap, gold)), tolerance.factor)


def _shares(tolerance: Tolerance, gap: Any, gold: Any) -> Any:
    import numpy as np

    if tolerance.kind == "exact":
        yield scalar_ratio(float(gap.max()), 0.0)
    with np.errstate(over="ignore"):
        relative = gap / sizes_of(gold, tolerance.scale)
    if tolerance.l2 is not None:
        yield scalar_ratio(root_mean_square(relative), tolerance.l2)
    if tolerance.max is not None:
        yield scalar_ratio(float(relative.max()), tolerance.max)
    if tolerance.rtol is not None or tolerance.atol is not None:
        limits = np.atleast_1d(gap), np.atleast_1d(gold), tolerance.rtol or 0.0, tolerance.atol or 0.0
        yield float(elementwise_ratios(*limits).max())


def elementwise_ratios(gap: Any, gold: Any, rtol: float, atol: float) -> npt.NDArray[Any]:
    """Divide each gap by `atol + rtol * gold`, exactly also where that limit is too small for float64 to hold."""
    import numpy as np

    limit = atol + rtol * gold
    found = ratios(gap, limit)
    tiny = limit < SMALLEST_LIMIT
    if rtol and tiny.any():
        with np.errstate(over="ignore"):
            found[tiny] = ratios(gap[tiny] * LIFT, atol * LIFT + rtol * (gold[tiny] * LIFT))
    return found


def ratios(gap: npt.NDArray[Any], limit: Any) -> npt.NDArray[Any]:
    """Divide each gap by its limit: no gap is 0, a gap beyond a limit of 0 is infinite."""
    import numpy as np

    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        found: npt.NDArray[Any] = gap / limit
    found[gap == 0] = 0.0
    found[np.isnan(found)] = math.inf
    return found


def scalar_ratio(gap: float, limit: float) -> float:
    """Divide one gap by its limit, as `ratios` does."""
    if gap == 0:
        return 0.0
    found = gap / limit if limit else math.inf
    return math.inf if math.isnan(found) else found


def unmoved_tolerance(measured: Tolerance, exact: bool) -> Tolerance:
    """Return the tolerance of a leaf that no trial moved. It is exact by nature, or else nothing was measured: the
    disturbance was rounded away by code that torch does not see."""
    trials = measured.noise.trials if measured.noise else 0
    if exact:
        reason = f"its numbers are exact: in {trials} trials none of them moved"
        return msgspec.structs.replace(measured, reason=reason)
    return Tolerance(
        kind="customary",
        reason=f"customary, because {trials} trials moved nothing at all, which measures nothing",
        rtol=RTOL,
        atol=digits(max(ATOL * min(measured.scale, 1.0), (measured.max or 0.0) * measured.scale)),
        scale=measured.scale,
    )


def digits(number: float) -> float:
    """Round to three digits: a random measurement has no more."""
    return float(f"{number:.2e}")
