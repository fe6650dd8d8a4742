"""What pages show of a case: what was recorded as a curve, and the tensors that differ as pictures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

from goldsmith.comparison.results import LeafComparison
from goldsmith.html_report.pictures import cut_into_slices, histogram, profiles, units_of_tolerance
from goldsmith.html_report.view import Case, Lane, Point, Tensor
from goldsmith.judge import leaf_words
from goldsmith.judge.evidence import TensorEvidence
from goldsmith.judge.verdicts import AGREES, CaseVerdict

_MAX_PICTURE_BYTES = 1_000_000
"""Of all pictures of a page, which must stay below 2 MB."""
_MAX_POINTS = 300
"""Points of a curve. Text about more of them would be most of the page."""


def within_budget(cases: Iterable[Case]) -> tuple[Case, ...]:
    """Leave out pictures and points that would make a page too large, and say so; the first cases keep theirs."""
    left, found = _MAX_PICTURE_BYTES, []
    for case in cases:
        kept = []
        for tensor in case.tensors:
            left -= sum(map(len, (tensor.slices.gold, tensor.slices.theirs, tensor.slices.difference)))
            if left >= 0:
                kept.append(tensor)
        lines = list(case.lines)
        if len(kept) < len(case.tensors):
            names = ", ".join(tensor.name for tensor in case.tensors[len(kept) :])
            lines.append(f"not drawn, for the page would become too large: {names}")
        lanes = tuple(map(_thinned, case.lanes))
        found.append(replace(case, tensors=tuple(kept), lines=tuple(lines), lanes=lanes))
    return tuple(found)


def _thinned(lane: Lane) -> Lane:
    """Leave out points that are right, evenly, where there are too many; then what comes last."""
    over = len(lane.points) - _MAX_POINTS
    if over <= 0:
        return lane
    right = [number for number, point in enumerate(lane.points) if point.role == "right"]
    dropped = {right[number * len(right) // min(over, len(right))] for number in range(min(over, len(right)))}
    points = tuple(point for number, point in enumerate(lane.points) if number not in dropped)[:_MAX_POINTS]
    return replace(lane, points=points, order=f"{lane.order}; {len(points)} of {len(lane.points)} are shown")


def leaf_lane(case: CaseVerdict, noise: Mapping[str, float]) -> Lane | None:
    """Return what was recorded, as a curve over its `noise` by path: gradients from the loss backwards, weights as they
    are."""
    numbers = [leaf for leaf in case.leaves if leaf.excess > 0 or leaf.agrees]
    if case.outcome == AGREES or len(numbers) < 2:
        return None
    points = [
        Point(
            leaf_words.leaf_name(case, leaf),
            leaf.gold_dtype,
            "right" if leaf.agrees else "wrong",
            error,
            noise.get(leaf.path),
            limit=leaf.relative / leaf.excess if leaf.excess and leaf.relative else None,
            not_comparable=why,
        )
        for leaf in numbers
        for error, why in [comparable_error(leaf)]
    ]
    backwards = any("grad" in leaf.path for leaf in numbers)
    order = "from the loss backwards" if backwards else "in the order of the record"
    return Lane(
        "Recorded values",
        order,
        "the noise of right answers, measured for each",
        tuple(reversed(points) if backwards else points),
        "their tolerance",
        f"Every value is within its tolerance. What is wrong: {case.reason}."
        if all(leaf.agrees for leaf in (*case.leaves, *case.natural)) and case.reason
        else "",
    )


def comparable_error(leaf: LeafComparison) -> tuple[float | None, str]:
    """Return how far a value is off; where that is no number, or no matter of size, None and what is wrong with it."""
    if leaf.agrees:
        return leaf.relative, ""
    if leaf.problem != "values":
        return None, leaf_words.how_far(leaf)
    return leaf.relative, "" if math.isfinite(leaf.relative) else leaf_words.how_far(leaf)


def leaf_lines(case: CaseVerdict, gold: str = "gold") -> list[str]:
    """Describe the first wrong value."""
    first = case.first_wrong
    if first is None:
        return []
    return [
        f"{leaf_words.leaf_name(case, first)} {leaf_words.how_far(first)}",
        *leaf_words.leaf_lines(first, reveal=True, gold=gold),
        *leaf_words.choice_lines(case, first, reveal=True),
    ]


def tensor_view(case: CaseVerdict, item: TensorEvidence) -> Tensor:
    """Return what a page shows of a tensor that differs."""
    leaf = next(leaf for leaf in case.leaves if leaf.path == item.path)
    units = units_of_tolerance(item.gold, item.theirs, item.limit)
    largest = float(units.max())
    worst = "" if leaf.index is None else f"{list(leaf.index)}: {leaf.actual} instead of {leaf.gold}"
    facts = [
        ("shape", " × ".join(map(str, item.gold.shape))),
        ("tolerance", leaf.tolerance),
        ("out of tolerance", f"{int((units > 1).sum())} of {units.size}"),
        ("largest difference", f"{largest:.3g} × its tolerance" if math.isfinite(largest) else "no number"),
        ("worst element", worst),
    ]
    return Tensor(
        name=leaf_words.leaf_name(case, leaf),
        facts=tuple((name, value) for name, value in facts if value),
        explanation=leaf.guess,
        slices=cut_into_slices(item.gold, item.theirs, units),
        profiles=profiles(units),
        histogram=histogram(units),
    )
