"""The autograder folder for Classroom 50, which everybody can read: a kit of sketches, and never gold."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from goldsmith.courses.grade.classroom50 import points_scale
from goldsmith.courses.grade.grader import rubric_for
from goldsmith.courses.grade.rubric import CASE, Rubric
from goldsmith.courses.handout.make_kit import HandedOut, hand_out
from goldsmith.courses.layout.layout import Assignment
from goldsmith.errors.packs import NothingToScore, PackTooLarge

KIT = "kit"
_MAX_BUNDLE_BYTES = 10 * 2**20
"""More than this, Classroom 50's runner does not fetch."""


def hand_out_kit(assignment: Assignment, output: Path) -> tuple[HandedOut, Rubric, int]:
    """Write the kit into the folder; return it, the part of the rubric that it can decide, and by what points are
    multiplied."""
    rubric = rubric_for(assignment, allow_stale=False)
    output.mkdir(exist_ok=True)
    kit = hand_out(assignment, output / KIT)
    decided = decided_by(rubric, kit.cases, decisive_cases(kit, rubric))
    if not decided.items:
        raise NothingToScore(assignment.name)
    return kit, decided, points_scale(decided, 0.0)


def decisive_cases(kit: HandedOut, rubric: Rubric) -> tuple[str, ...]:
    """Return the cases of a kit in which every recorded value that takes work has a sketch. In any other, work may look
    right that is wrong, and nobody earns points by that."""
    silent = [text.partition(": ")[::2] for text in kit.not_sketched]
    doubtful = {case for case, path in silent if path not in rubric.hollow.get(case, ())}
    return tuple(case for case in kit.cases if case not in doubtful)


def decided_by(rubric: Rubric, cases: Sequence[str], decisive: Sequence[str]) -> Rubric:
    """Return the rubric of what these cases show. What is not shown by decisive ones alone is tried for no points."""
    shown = {case: parts for case, parts in rubric.shown.items() if case in cases}
    parts = {part for some in shown.values() for part in some}
    doubtful = {part for case, some in shown.items() if case not in decisive for part in some}
    items = []
    for item in rubric.items:
        if item.name in (cases if item.kind == CASE else parts):
            certain = item.name in decisive if item.kind == CASE else item.name not in doubtful
            items.append(item if certain else msgspec.structs.replace(item, points=0.0))
    return msgspec.structs.replace(
        rubric,
        items=tuple(items),
        cases=tuple(case for case in rubric.cases if case in cases),
        shown=shown,
        hollow={case: paths for case, paths in rubric.hollow.items() if case in cases},
        empty=tuple(case for case in rubric.empty if case in cases),
    )


def require_size(assignment: Assignment, size: int) -> None:
    """Raise if a bundle of this many bytes would not be fetched."""
    if size > _MAX_BUNDLE_BYTES:
        raise PackTooLarge(assignment.name, size, _MAX_BUNDLE_BYTES)
