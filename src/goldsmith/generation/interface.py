"""Do starter and solution agree on what students are given? A check like the others, made before anything runs."""

from __future__ import annotations

from collections.abc import Sequence

from goldsmith.course import Assignment, Placement, find_drift
from goldsmith.gold import Check

INTERFACE = "interface"


def check_interface(assignment: Assignment, placed: Sequence[Placement]) -> Check:
    """Fails on every drift that the configuration does not allow by name."""
    allowed = assignment.config.allow_drift
    found = find_drift(assignment, placed)
    problems = tuple(str(item) for item in found if item.part not in allowed)
    title = "Starter and solution agree"
    if problems:
        return Check(INTERFACE, title, "failed", problems[0], problems)
    met = sorted({item.part for item in found})
    detail = f"{len(met)} allowed: {', '.join(met)}" if met else "in provided code and signatures"
    return Check(INTERFACE, title, "passed", detail)
