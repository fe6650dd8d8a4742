"""How far another implementation may be from the gold, and how that number was arrived at."""

from __future__ import annotations

import msgspec

from goldsmith.gold.facts import LeafFacts

RTOL, ATOL = 1e-4, 1e-5


class Tolerance(msgspec.Struct, frozen=True):
    rtol: float
    atol: float
    reason: str


def customary(leaf: LeafFacts) -> Tolerance | None:
    """What courses customarily use for floating-point numbers; everything else must be equal."""
    if not leaf.is_number:
        return None
    if not leaf.is_inexact:
        return Tolerance(0.0, 0.0, "exact: not a floating-point number")
    return Tolerance(RTOL, ATOL, "customary, not measured")
