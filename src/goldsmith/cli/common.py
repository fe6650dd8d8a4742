"""What commands share: their common options, the consoles, and the one place where an error is shown."""

from __future__ import annotations

import contextlib
import sys
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from goldsmith.errors import GoldsmithError, Interrupted, Unexpected

if TYPE_CHECKING:
    from goldsmith.course import Assignment, Course
    from goldsmith.generation import Progress

CourseOption = Annotated[
    Path, typer.Option("--course", "-C", metavar="DIR", help="A folder in the course.", show_default="here")
]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON object on standard output, nothing else there.")]
DebugOption = Annotated[bool, typer.Option("--debug", help="Show a traceback when goldsmith gives up.")]
NoColorOption = Annotated[bool, typer.Option("--no-color", help="No colours; NO_COLOR in the environment does too.")]


@contextlib.contextmanager
def shown_errors(
    command: str, *, as_json: bool, debug: bool, finished: Sequence[Any] = (), subjects: str = "assignments"
) -> Iterator[None]:
    """One sentence on standard error and the right exit code; with --json an object that says the same.

    `finished` are the subjects that were done before; the object lists them.
    """
    try:
        yield
    except typer.Exit:
        raise
    except (Exception, KeyboardInterrupt) as problem:
        error = _as_error(problem)
        if debug:
            traceback.print_exc()
        if as_json:
            from goldsmith.report import report

            print(report(command, False, subjects, finished, error))
        print(f"goldsmith {command}: {error}", file=sys.stderr)
        raise typer.Exit(error.exit_code) from None


def _as_error(problem: BaseException) -> GoldsmithError:
    if isinstance(problem, GoldsmithError):
        return problem
    return Interrupted() if isinstance(problem, KeyboardInterrupt) else Unexpected(repr(problem))


def at_a_terminal() -> bool:
    """Whether a question can be asked and answered."""
    return sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()


def choose(course: Course, names: Sequence[str]) -> list[Assignment]:
    """The assignments called `names`, each once and in that order; `all` stands for every one."""
    if "all" in names:
        return course.assignments()
    return list({item.name: item for item in map(course.assignment, names)}.values())


def progress_on(no_color: bool, *, verbose: bool = False) -> Progress:
    """Progress on standard error, live where that is a terminal."""
    from rich.console import Console

    from goldsmith.report import PlainProgress, TerminalProgress

    console = Console(stderr=True, no_color=no_color or None)
    return (TerminalProgress if console.is_terminal else PlainProgress)(console, verbose=verbose)
