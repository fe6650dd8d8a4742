"""How much of a solution's parts a submission's files contain: a remark for staff that decides nothing."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from goldsmith.course.layout import Assignment
from goldsmith.course.starter_modules import starter_modules
from goldsmith.errors.base import GoldsmithError
from goldsmith.guard.code_fragments import pieces_in
from goldsmith.guard.leaks import FEW_GRAMS, Secret, share_of
from goldsmith.guard.scan import belongs, guarded_by
from goldsmith.injection.journal import journals

_LARGEST, _MAX_CPU_S = 256 * 2**10, 5.0
"""Bytes that are read of a file, and seconds of processor time after which no other file is read: a remark is not worth
more. A course's assignment has some ten thousand bytes, and takes a tenth of a second."""


def parts_to_write(assignment: Assignment) -> list[Secret]:
    """Return the parts that students write, without what any file of the starter shows, if long enough to be telling.

    Return none where the course has no solution at hand.
    """
    try:
        secrets = guarded_by(assignment.course, everything_public=False).secrets
    except GoldsmithError:
        return []
    given = _shown(assignment)
    own = [replace(item, own=item.own - given) for item in secrets if belongs(item.piece.file, assignment)]
    return [item for item in own if len(item.own) >= FEW_GRAMS]


def _shown(assignment: Assignment) -> frozenset[str]:
    """Return the grams of all of the starter's code, none while the solution is injected there."""
    if any(journal.assignment == assignment.name for journal in journals(assignment.course)):
        return frozenset()
    files = [item for item in starter_modules(assignment) if item.source.is_file()]
    return frozenset(
        gram for item in files for piece in pieces_in(item.target.name, item.read()) for gram in piece.grams
    )


def similarity(parts: Sequence[Secret], files: Mapping[str, bytes], threshold: float) -> dict[str, float]:
    """Return by part its largest share in one piece of `files`, where that reaches `threshold`.

    After `_MAX_CPU_S` no further file is read; a file that cannot be parsed is skipped.
    """
    found = {part.part: 0.0 for part in parts}
    began = time.thread_time()
    for name, content in files.items():
        if time.thread_time() - began > _MAX_CPU_S:
            break
        with contextlib.suppress(RecursionError, MemoryError, ValueError):
            for piece in pieces_in(name, content[:_LARGEST]):
                for part in parts:
                    found[part.part] = max(found[part.part], share_of(part, piece.grams))
    return {name: round(share, 3) for name, share in found.items() if share >= threshold}
