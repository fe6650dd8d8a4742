"""Edits made to an injected solution: written back into it, saved elsewhere, or discarded. Never lost by accident."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from goldsmith.courses.layout.journal import Change, state_of
from goldsmith.courses.layout.layout import Course
from goldsmith.errors.injection import EditsNotKept
from goldsmith.foundation.atomic_files import write_durably


@dataclass(frozen=True)
class Kept:
    """Where edits are now, and the contents that may therefore be replaced."""

    paths: list[Path]
    released: dict[str, str]


def keep_edits(course: Course, edited: Sequence[Change]) -> Kept:
    """Write edited files back into the solution, all or none: none where the solution was changed there, too."""
    goals = {}
    for change in edited:
        if change.source is None:
            raise EditsNotKept(Path(change.path), "it has no counterpart in the solution")
        source = course.root / change.source
        there, now = state_of(source), state_of(course.root / change.path)
        if there is not None and not there.same_content(change.after) and not there.same_content(now):
            raise EditsNotKept(Path(change.path), f"{change.source} was changed, too")
        goals[change] = source
    return _copy_out(course, goals)


def save_edits(course: Course, edited: Sequence[Change], folder: Path) -> Kept:
    """Write edited files into `folder`, which must not hold files of those names yet."""
    goals = {change: folder / change.path for change in edited}
    for goal in goals.values():
        if goal.exists() or goal.is_symlink():
            raise EditsNotKept(goal, "it exists already, and nothing is overwritten")
    return _copy_out(course, goals)


def discard_edits(course: Course, edited: Sequence[Change]) -> Kept:
    """Release the contents of edited files without keeping them; remove links, but refuse a folder."""
    for change in edited:
        target = course.root / change.path
        if target.is_symlink():
            target.unlink()
        elif target.is_dir():
            raise EditsNotKept(Path(change.path), "it is a folder now; move that away yourself")
    states = {change.path: state_of(course.root / change.path) for change in edited}
    return Kept([], {path: state.digest for path, state in states.items() if state is not None})


def _copy_out(course: Course, goals: Mapping[Change, Path]) -> Kept:
    """Copy edited files to their goals; release exactly the bytes written, whatever happens to the file meanwhile."""
    contents: dict[Change, bytes] = {}
    released = {}
    for change in goals:
        try:
            contents[change] = (course.root / change.path).read_bytes()
        except OSError as error:
            raise EditsNotKept(Path(change.path), error.strerror or str(error)) from None
        released[change.path] = hashlib.sha256(contents[change]).hexdigest()
    for change, goal in goals.items():
        try:
            goal.parent.mkdir(parents=True, exist_ok=True)
            write_durably(goal, contents[change], goal.stat().st_mode & 0o7777 if goal.exists() else 0o644)
        except OSError as error:
            raise EditsNotKept(goal, error.strerror or str(error)) from None
    return Kept(list(goals.values()), released)
