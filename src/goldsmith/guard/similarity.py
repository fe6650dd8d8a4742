"""How much of a solution's parts somebody's files hold: a remark for staff, from which nothing follows."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from goldsmith.course.layout import Assignment
from goldsmith.errors.base import GoldsmithError
from goldsmith.guard.code_fragments import pieces_in
from goldsmith.guard.leaks import FEW, Secret, share_of
from goldsmith.guard.scan import belongs, guarded_by
from goldsmith.injection.journal import journals

_LARGEST, _LONGEST_S = 256 * 2**10, 5.0
"""Bytes of a file that are looked at, and seconds of processor time after which no other file is: a remark is worth no
more. A course's assignment has some ten thousands of bytes, and takes a tenth of a second."""


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
    """By part, the largest share of it in one piece of `files`, where that is remarkable. Files after those that took
    too long are not looked at, nor is one that nobody can read."""
    found = {part.part: 0.0 for part in parts}
    began = time.thread_time()
    for name, content in files.items():
        if time.thread_time() - began > _LONGEST_S:
            break
        with contextlib.suppress(RecursionError, MemoryError, ValueError):
            for piece in pieces_in(name, content[:_LARGEST]):
                for part in parts:
                    found[part.part] = max(found[part.part], share_of(part, piece.grams))
    return {name: round(share, 3) for name, share in found.items() if share >= threshold}
