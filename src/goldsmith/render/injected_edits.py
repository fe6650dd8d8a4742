"""What was edited in an injected solution, as a difference people know how to read."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from goldsmith.course.layout import Course
from goldsmith.injection.journal import Change

_SHOWN = 60


def show_edits(console: Console, course: Course, edited: Sequence[Change]) -> None:
    for change in edited:
        lines = list(_difference(course, change))
        for line in lines[:_SHOWN]:
            style = "green" if line.startswith("+") else "red" if line.startswith("-") else ""
            console.print(Text(line, style=style), soft_wrap=True)
        if len(lines) > _SHOWN:
            console.print(f"and {len(lines) - _SHOWN} more lines", highlight=False)


def _difference(course: Course, change: Change) -> Sequence[str]:
    """Against the solution as it stands in its own folder."""
    target = course.root / change.path
    source = course.root / change.source if change.source else None
    if not target.is_file():
        return [f"{change.path} is no file any more"]
    one = source.read_text(errors="replace").splitlines() if source is not None and source.is_file() else []
    two = target.read_text(errors="replace").splitlines()
    return list(difflib.unified_diff(one, two, change.source or "nothing", change.path, lineterm=""))
