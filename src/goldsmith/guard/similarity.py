"""How much of a solution's parts somebody's files hold: a remark for staff, from which nothing follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from goldsmith.course import Assignment
from goldsmith.errors import GoldsmithError
from goldsmith.guard.leaks import FEW, Secret, share_of
from goldsmith.guard.pieces import pieces_in
from goldsmith.guard.sweep import belongs, guarded_by
from goldsmith.workspace import journals


def parts_to_write(assignment: Assignment) -> list[Secret]:
    """The parts of a solution that students write and that are long enough not to be anybody's; none where the course
    has no solution at hand. What any file of the starter shows is nobody's doing, and left out."""
    try:
        secrets = guarded_by(assignment.course, everything_public=False).secrets
    except GoldsmithError:
        return []
    given = _shown(assignment)
    own = [replace(item, own=item.own - given) for item in secrets if belongs(item.piece.file, assignment)]
    return [item for item in own if len(item.own) >= FEW]


def _shown(assignment: Assignment) -> frozenset[str]:
    """All code of the starter, unless the solution stands in its place."""
    if any(journal.assignment == assignment.name for journal in journals(assignment.course)):
        return frozenset()
    files = [path for path in assignment.files(".py") if path.is_file()]
    return frozenset(
        gram for path in files for piece in pieces_in(path.name, path.read_bytes()) for gram in piece.grams
    )


def similarity(parts: Sequence[Secret], files: Mapping[str, bytes], threshold: float) -> dict[str, float]:
    """By part, the largest share of it in one piece of `files`, where that is remarkable."""
    grams = [piece.grams for name, content in files.items() for piece in pieces_in(name, content)]
    found = {part.part: max((share_of(part, piece) for piece in grams), default=0.0) for part in parts}
    return {name: round(share, 3) for name, share in found.items() if share >= threshold}
