"""The options of `goldsmith grade` about an earlier run: whose points moved, and what becomes of points that fell."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from goldsmith.cli.command import Function, add_options, flag, option
from goldsmith.cli.options import PATH
from goldsmith.cli.reports import Wanted

if TYPE_CHECKING:
    from goldsmith.courses.grade.class_results import Class
    from goldsmith.courses.grade.regrade import Since
    from goldsmith.courses.layout.layout import Assignment


@dataclass(frozen=True)
class RegradeChoice:
    """What was said of an earlier run."""

    since: Path | None
    never_lower: bool
    dry_run: bool

    def require(self, formats: Sequence[Wanted], page: str | None) -> None:
        """Raise if other options contradict these."""
        for_students = [item.name for item in formats if item.name in ("canvas", "autolab")]
        if self.dry_run and (page is not None or for_students or any(item.file is not None for item in formats)):
            raise click.UsageError("--dry-run writes nothing: leave out --html, --format canvas, autolab and NAME=FILE")
        if self.never_lower and "autolab" in for_students:
            raise click.UsageError("--never-lower keeps whole scores, and Autolab takes points by item: leave out one")

    def open(
        self, assignment: str, folder: Path, tell: Callable[[str], None], chosen: Assignment | None = None
    ) -> Since | None:
        """Return the earlier run to compare with, by default that of which the grades are in `folder`; None where there
        is none. Verdicts may be cached where the assignment is at hand, as `chosen`."""
        from goldsmith.courses.grade.earlier_run import earlier_run, has_grades, has_record
        from goldsmith.errors.usage import NoEarlierRun

        is_there = has_record(folder) or (self.never_lower and has_grades(folder))
        if self.since is None and not is_there:
            if self.never_lower:
                tell(f"Note: --never-lower keeps nothing: there is no earlier run in {folder}/ to compare with")
            return None
        try:
            found = earlier_run(assignment, self.since or folder, chosen)
            return dataclasses.replace(found, never_lower=self.never_lower)
        except NoEarlierRun as problem:
            if self.since is not None or self.never_lower:
                raise
            tell(f"Note: nobody is told whose points moved, since {problem}")
            return None

    def output(self, stack: contextlib.ExitStack, folder: Path) -> Path:
        """Return where to write: with --dry-run, a folder that is removed at the end."""
        from goldsmith.workspace.temporary import private_folder

        return stack.enter_context(private_folder()) / "grades" if self.dry_run else folder

    def told(self, result: Class) -> Class:
        """Return what is to be told of a class: with --dry-run, nothing of its files."""
        return dataclasses.replace(result, files=(), earlier=None, left=(), is_dry=True) if self.dry_run else result


_OPTIONS = (
    option(
        "--since",
        metavar="DIR",
        type=PATH,
        help="Say whose points moved since the run in DIR; default the one in --output.",
    ),
    flag("--never-lower", rare=True, help="Keep the points of that run where this one gives fewer, and say so."),
    flag("--dry-run", help="Show whose points would move; write no grades."),
)


def regrade_options(function: Function) -> Function:
    """Add the options about an earlier run, as one argument `regrade`."""

    @functools.wraps(function)
    def collected(*arguments: Any, since: Path | None, never_lower: bool, dry_run: bool, **others: Any) -> Any:
        return function(*arguments, regrade=RegradeChoice(since, never_lower, dry_run), **others)

    return add_options(_OPTIONS, collected)  # type: ignore[return-value]
