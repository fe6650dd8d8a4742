"""`goldsmith grade --merge`: the class of all shares, written as by one machine; nothing is run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from goldsmith.cli.options import open_course
from goldsmith.cli.shares import require_apart
from goldsmith.courses.grade.canvas import CanvasPlan
from goldsmith.courses.grade.class_results import Class, ResultOptions, write_again
from goldsmith.courses.grade.merge_shares import merged
from goldsmith.courses.grade.regrade import Since
from goldsmith.courses.grade.result_files import Pages
from goldsmith.courses.layout.layout import Assignment
from goldsmith.render.console import open_console
from goldsmith.render.progress import ShownProgress

OPTIONS = frozenset(
    {"merge", "output", "verbose", "page", "formats", "gradebook", "column", "names", "since", "never_lower"}
    | {"course", "json", "no_color", "debug"}
)
"""What may be given with `--merge`: what is written, and where."""


def merge_class(
    parts: Sequence[Path],
    output: Path | None,
    course: Path,
    plan: Callable[[Callable[[], Assignment], Sequence[str], Path], CanvasPlan | None],
    pages: Callable[[Path], Pages | None],
    since: Callable[[str, Path, Callable[[str], None]], Since | None],
    *,
    verbose: bool,
    page_apart: bool,
    no_color: bool,
) -> tuple[Class, dict[str, Any]]:
    """Merge the shares in these folders, and return the class with what reports need to know about it. The course is
    looked at only for where grades go by default, and for Canvas."""
    record = merged(parts)

    def assignment() -> Assignment:
        return open_course(course).assignment(record.assignment)

    folder = output or assignment().course.grades_folder / record.assignment
    require_apart(folder, parts)
    canvas = plan(assignment, record.names, folder)
    stderr = open_console(no_color=no_color, stderr=True)
    earlier = since(record.assignment, folder, stderr.print)
    wanted = ResultOptions(folder, verbose, pages(folder), page_apart, canvas, earlier)
    with ShownProgress(stderr).of(record.assignment) as shown:
        shown.step(f"{len(record.entries)} submissions in {len(parts)} shares")
        result = write_again(record, wanted)
    place = folder if output else assignment().course.relative(folder)
    return result, {"folder": place, "rubric": record.rubric}
