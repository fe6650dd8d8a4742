"""Say why nothing can be judged by a tensor: how far rounding alone moves it, by how much its terms cancel, and what
would help. Measured with the tolerance: the noise that the reference's own trials showed."""

from __future__ import annotations

from goldsmith.gold.tolerances import BLIND, NOISY_SAFETY, SAFETY, Tolerance
from goldsmith.judge.reduced_precision import eps_of
from goldsmith.judge.verdicts import Cancellation

_HALF = ("bfloat16", "float16", "complex32")
OTHER_INPUTS = "record what it is made from, too, or choose inputs at which rounding moves it less"
FINER = f"judge it in a finer dtype, {OTHER_INPUTS}"
GIVE_TOLERANCE = "give other inputs, or a tolerance of your own"


def cancellation(path: str, tolerance: Tolerance, dtype: str, remedy: str = "") -> Cancellation:
    """Measure it of a tensor that was judged in `dtype`. Noise over the unit of rounding is how far rounding is
    amplified, which is about the size of the terms over the size of what is left of them."""
    moved = _noise(tolerance)
    return Cancellation(
        tensor=path,
        dtype=dtype,
        moved=moved,
        amplified=moved / eps_of(dtype),
        remedy=remedy or (FINER if dtype in _HALF else OTHER_INPUTS),
    )


def moved_by_rounding(name: str, found: Cancellation | None = None) -> str:
    """Say why nothing can be judged by a value."""
    said = f"rounding alone moves {name} by more than {BLIND:.0%} of its size"
    if found is None or found.amplified <= 1:
        return said
    return f"{said}: {found.amplified:,.1g} times one rounding to {found.dtype}, as where terms so much larger cancel"


def _noise(tolerance: Tolerance) -> float:
    """Return the largest noise that was seen, over the tensor's size, of all its elements or of those that are
    noise."""
    seen = tolerance.noise.l2 if tolerance.noise is not None else (tolerance.l2 or 0.0) / SAFETY
    noisy = tolerance.noisy_limit / NOISY_SAFETY / tolerance.scale if tolerance.noisy and tolerance.scale else 0.0
    return max(seen, noisy)
