"""What commands share: their common options, the consoles, and the one place where an error is shown."""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from goldsmith.cli.command import Function, argument, flag, option
from goldsmith.errors.base import GoldsmithError
from goldsmith.foundation.log_injection import without_commands
from goldsmith.foundation.platforms import require

if TYPE_CHECKING:
    import msgspec

    from goldsmith.course.layout import Assignment, Course
    from goldsmith.generate.progress import Progress
    from goldsmith.process.launcher import Watcher

PATH = click.Path(path_type=Path)
_COURSE = option(
    "--course", "-C", metavar="DIR", type=PATH, default=".", help="A folder in the course.", show_default="here"
)
_OUTPUT = (
    flag("--json", help="One JSON object on standard output, nothing else there."),
    flag("--no-color", help="No colours; NO_COLOR in the environment does too."),
    flag("--debug", help="Show a traceback when goldsmith gives up."),
)
one_assignment = argument("assignment", "A", "The assignment; without, a menu.", required=False)
several_assignments = argument("assignments", "A… | all", "Assignments by name; without, a menu.", nargs=-1)


def course_options(function: Function) -> Function:
    """Add the options that every command in a course has: `course`, `json`, `no_color` and `debug`."""
    decorated: Function = _COURSE(output_options(function))
    return decorated


def output_options(function: Function) -> Function:
    """Add the options that every command has: `json`, `no_color` and `debug`."""
    for decorate in reversed(_OUTPUT):
        function = decorate(function)
    return function


class Seconds(click.FloatRange):
    """A time of at least a tenth of a second."""

    def __init__(self) -> None:
        super().__init__(min=0.1)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        seconds = super().convert(value, param, ctx)
        return seconds if seconds >= 0.1 else self.fail("nan is not a time.", param, ctx)


@dataclass(frozen=True)
class JsonReport:
    """Prints what a command found as one JSON object; `subjects` is what the list in it is called."""

    command: str
    subjects: str

    def print(
        self,
        items: Sequence[msgspec.Struct],
        *,
        ok: bool = True,
        error: GoldsmithError | None = None,
        more: msgspec.Struct | None = None,
    ) -> None:
        from goldsmith.render.json_output import encode_report

        print(encode_report(self.command, self.subjects, items, ok=ok, error=error, more=more))


@contextlib.contextmanager
def report_errors(
    command: str,
    *,
    as_json: bool,
    debug: bool,
    finished: Sequence[msgspec.Struct] = (),
    subjects: str = "assignments",
) -> Iterator[JsonReport]:
    """Turn an error into one sentence on standard error and its exit code; with --json, also into an object.

    `finished` are the subjects that were done before; the object lists them.
    """
    if debug:
        import logging

        logging.basicConfig(format="%(asctime)s %(name)s: %(message)s")
        logging.getLogger("goldsmith").setLevel(logging.DEBUG)
    report = JsonReport(command, subjects)
    try:
        require(command)
        yield report
    except (click.exceptions.Exit, click.UsageError):
        raise
    except (Exception, KeyboardInterrupt) as problem:
        error = _as_error(problem, command)
        if debug:
            traceback.print_exc()
        if as_json:
            report.print(finished, ok=False, error=error)
        print(without_commands(f"goldsmith {command}: {error}"), file=sys.stderr)
        raise click.exceptions.Exit(error.exit_code) from None


def _as_error(problem: BaseException, command: str) -> GoldsmithError:
    from goldsmith.errors.gold import Interrupted, Unexpected

    if isinstance(problem, GoldsmithError):
        return problem
    return Interrupted(command) if isinstance(problem, KeyboardInterrupt) else Unexpected(repr(problem))


def at_a_terminal() -> bool:
    """Whether a question can be asked and answered: somebody is there, and can be shown a menu."""
    able = os.environ.get("TERM", "dumb") not in ("", "dumb", "unknown")
    return able and sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()


def open_course(start: Path, *, repair: bool = True) -> Course:
    """The course that `start` lies in, once what a killed process left half done in it is put in order."""
    from goldsmith.course.layout import find_course
    from goldsmith.errors.gold import Busy
    from goldsmith.injection.inject import needs_recovery, recover
    from goldsmith.workspace.lock import course_lock

    course = find_course(start)
    if repair and needs_recovery(course):
        with contextlib.suppress(Busy), course_lock(course, "repair", wait=False, on_wait=lambda text: None):
            for note in recover(course):
                print(f"goldsmith: {note}.", file=sys.stderr)
    return course


@contextlib.contextmanager
def locked(course: Course, doing: str) -> Iterator[None]:
    """The course for this process alone; whoever has it is named while we wait."""
    from goldsmith.workspace.lock import course_lock

    def tell(text: str) -> None:
        print(f"goldsmith: {text}", file=sys.stderr)

    with course_lock(course, f"goldsmith {doing}", wait=True, on_wait=tell):
        yield


def choose(
    course: Course, names: Sequence[str], command: str, *, ask: bool, no_color: bool = False
) -> list[Assignment]:
    """The assignments called `names`, each once and in that order; `all` stands for every one. When none is named,
    a person is asked."""
    if names and "all" not in names:
        return list({item.name: item for item in map(course.assignment, names)}.values())
    found = _assignments(course)
    if names:
        return found
    if not ask:
        from goldsmith.errors.course import NothingChosen

        raise NothingChosen(command, [item.name for item in found])
    from goldsmith.cli.prompts import ask_assignments

    return ask_assignments(command, found, no_color=no_color)


def choose_one(
    course: Course, name: str | None, command: str, *, ask: bool, no_color: bool = False, after: str = ""
) -> Assignment:
    """The assignment called `name`. When none is named, a person is asked; `after` is what else the command needs."""
    if name is not None:
        return course.assignment(name)
    found = _assignments(course)
    if not ask:
        from goldsmith.errors.course import NothingChosen

        raise NothingChosen(command, [item.name for item in found], several=False, after=after)
    from goldsmith.cli.prompts import ask_assignment

    return ask_assignment(command, found, no_color=no_color)


def _assignments(course: Course) -> list[Assignment]:
    found = course.assignments()
    if not found:
        from goldsmith.errors.course import NoAssignments

        raise NoAssignments(course.relative(course.assignments_folder))
    return found


def make_progress(no_color: bool, *, verbose: bool = False) -> Progress:
    """Progress on standard error, live where that is a terminal."""
    from goldsmith.render.console import open_console
    from goldsmith.render.progress import PlainProgress, TerminalProgress

    console = open_console(no_color=no_color, stderr=True)
    return (TerminalProgress if console.is_terminal else PlainProgress)(console, verbose=verbose)


@contextlib.contextmanager
def replay_progress(no_color: bool, name: str) -> Iterator[Watcher]:
    """Progress of a replay on standard error, live where that is a terminal."""
    from goldsmith.render.console import open_console
    from goldsmith.render.progress import replay_progress

    with replay_progress(open_console(no_color=no_color, stderr=True), name) as watcher:
        yield watcher
