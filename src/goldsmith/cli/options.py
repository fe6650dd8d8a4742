"""What commands share: common options, consoles, and the one place where an error is shown."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from goldsmith.cli.command import Function, add_options, argument, flag, option
from goldsmith.errors.base import GoldsmithError
from goldsmith.errors.usage import BadOption
from goldsmith.foundation.log_injection import printable, say, say_json
from goldsmith.foundation.platforms import require

if TYPE_CHECKING:
    import msgspec

    from goldsmith.courses.layout.layout import Assignment, Course
    from goldsmith.render.progress import ShownProgress
    from goldsmith.targets.target import Project, Target

PATH = click.Path(path_type=Path)


def _set_color(ctx: click.Context, parameter: click.Parameter, no_color: bool) -> bool:
    """Have click print without colours, too."""
    ctx.color = False if no_color else ctx.color
    return no_color


_COURSE = option(
    "--course", "-C", metavar="DIR", type=PATH, default=".", help="A folder in the course.", show_default="here"
)
_OUTPUT = (
    flag("--json", help="Print one JSON object on standard output, and nothing else."),
    flag("--no-color", help="No colours; NO_COLOR in the environment does the same.", callback=_set_color),
    flag("--debug", help="Log what goldsmith does, and show tracebacks."),
)
several_assignments = argument("assignments", "A… | all", "Names of assignments; omit them for a menu.", nargs=-1)


def course_options(function: Function) -> Function:
    """Add the options that every command in a course has: `course`, `json`, `no_color` and `debug`."""
    decorated: Function = _COURSE(output_options(function))
    return decorated


def output_options(function: Function) -> Function:
    """Add the options that every command has: `json`, `no_color` and `debug`."""
    return add_options(_OUTPUT, function)


DTYPES = ("own", "bfloat16", "float16", "float32")


def setting_options(
    where: str, compiled: str = "Compile models and functions with torch.compile."
) -> Callable[[Function], Function]:
    """Add the options that say in which setting something runs: `device`, `dtype`, `tf32` and `compiled`."""
    options = (
        option("--device", metavar="D", default="cpu", help=where),
        option("--dtype", type=click.Choice(DTYPES), default="own", help="The dtype of inputs and weights."),
        flag("--tf32", help="Allow TF32 in products of float32."),
        flag("--compile", "--compiled", "compiled", help=compiled),
    )
    return lambda function: add_options(options, function)


def check_limits(timeout: float | None, memory: float = 1.0) -> None:
    """Raise unless the seconds for a case and the GiB for a submission are such that anything can run."""
    if timeout is not None and not 0 < timeout < float("inf"):
        raise BadOption("--timeout", timeout, "a number of seconds above 0")
    if not 0.5 <= memory < 1e6:
        raise BadOption("--memory", memory, "a number of GiB, at least 0.5")


class Seconds(click.FloatRange):
    """A time of at least a tenth of a second."""

    def __init__(self) -> None:
        super().__init__(min=0.1)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        seconds = super().convert(value, param, ctx)
        return seconds if seconds >= 0.1 else self.fail(f"nan is not in the range x>={self.min}.", param, ctx)


@dataclass(frozen=True)
class JsonReport:
    """Print what a command found as one JSON object; `subjects` is what the list in it is called."""

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

        say_json(encode_report(self.command, self.subjects, items, ok=ok, error=error, more=more))


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

        class Printable(logging.Formatter):
            def format(self, record: logging.LogRecord) -> str:
                return printable(super().format(record))

        handler = logging.StreamHandler()
        handler.setFormatter(Printable("%(asctime)s %(name)s: %(message)s"))
        logging.basicConfig(handlers=[handler])
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
            say(traceback.format_exc(), stderr=True)
        if as_json:
            report.print(finished, ok=False, error=error)
        say(f"{f'goldsmith {command}'.rstrip()}: {error}", stderr=True)
        raise click.exceptions.Exit(error.exit_code) from None


def _as_error(problem: BaseException, command: str) -> GoldsmithError:
    from goldsmith.errors.gold import Interrupted, Unexpected

    if isinstance(problem, GoldsmithError):
        return problem
    return Interrupted(command) if isinstance(problem, KeyboardInterrupt) else Unexpected(repr(problem))


def at_a_terminal() -> bool:
    """Say whether a question can be asked and answered here: on a terminal that can show a menu."""
    able = os.environ.get("TERM", "dumb") not in ("", "dumb", "unknown")
    return able and sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()


def open_course(start: Path, *, repair: bool = True) -> Course:
    """Find the course that `start` is in, and finish or undo what a killed process left half done in it."""
    from goldsmith.courses.layout.journal import needs_recovery
    from goldsmith.courses.layout.layout import find_course

    course = find_course(start)
    if repair and needs_recovery(course):
        from goldsmith.courses.injection.inject import recover
        from goldsmith.errors.gold import Busy
        from goldsmith.workspace.lock import project_lock

        with contextlib.suppress(Busy), project_lock(course, "repair", wait=False, on_wait=lambda text: None):
            for note in recover(course):
                say(f"goldsmith: {note}.", stderr=True)
    return course


@contextlib.contextmanager
def locked(course: Project, doing: str) -> Iterator[None]:
    """Lock the course for this process; while waiting, say which process holds it."""
    from goldsmith.workspace.lock import project_lock

    def tell(text: str) -> None:
        say(f"goldsmith: {text}", stderr=True)

    with project_lock(course, f"goldsmith {doing}", wait=True, on_wait=tell):
        yield


def refuse_recipes(command: str, *names: str | None) -> None:
    """Say so if a recipe by itself was named where an assignment is needed."""
    from goldsmith.courses.layout.resolve import open_recipe
    from goldsmith.errors.lone_recipe import NeedsACourse
    from goldsmith.targets.target import is_recipe_file

    for name in names:
        if name is not None and is_recipe_file(name):
            open_recipe(name)
            raise NeedsACourse(command, name)


def choose_subjects(
    start: Path, names: Sequence[str], command: str, *, ask: bool, no_color: bool = False
) -> list[Assignment | Target]:
    """Return the recipes by themselves, and the assignments of the course around `start`, that are called `names`."""
    from goldsmith.courses.layout.resolve import open_recipe
    from goldsmith.generate.imported_sources import as_recorded_on
    from goldsmith.targets.target import is_recipe_file

    recipes = [name for name in names if is_recipe_file(name)]
    others = [name for name in names if name not in recipes]
    found: list[Assignment | Target] = [as_recorded_on(open_recipe(name)) for name in dict.fromkeys(recipes)]
    if others or not recipes:
        found += choose(open_course(start), others, command, ask=ask, no_color=no_color)
    return found


def choose(
    course: Course, names: Sequence[str], command: str, *, ask: bool, no_color: bool = False
) -> list[Assignment]:
    """Return the assignments called `names`, each once and in that order; `all` stands for every one. Without names,
    ask at the terminal."""
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


def options_again(*names: str) -> str:
    """Return those of these options that were given on this command line, each after a space, for a command that is
    advised: another one about the same has to be told the same."""
    context, found = click.get_current_context(), ""
    for item in context.command.params:
        is_given = context.get_parameter_source(item.name or "") is click.core.ParameterSource.COMMANDLINE
        if item.name in names and is_given and (value := context.params[item.name]) is not False:
            found += f" {item.opts[0]}" + ("" if value is True else f" {shlex.quote(str(value))}")
    return found


def choose_one(
    course: Course, name: str | None, command: str, *, ask: bool, no_color: bool = False, after: str = ""
) -> Assignment:
    """Return the assignment called `name`; without a name, ask at the terminal. `after` is what else the command
    needs."""
    if name is not None:
        return course.assignment(name)
    found = _assignments(course)
    if not ask:
        from goldsmith.errors.course import NothingChosen

        raise NothingChosen(command, [item.name for item in found], several=False, after=after)
    from goldsmith.cli.prompts import ask_assignment

    return ask_assignment(command, found, no_color=no_color)


def choose_subject(
    start: Path, name: str | None, command: str, *, ask: bool, no_color: bool = False, after: str = ""
) -> Assignment | Target:
    """Return the recipe by itself that is called `name`, or the assignment of the course around `start`."""
    from goldsmith.targets.target import is_recipe_file

    if name is not None and is_recipe_file(name):
        return choose_subjects(start, [name], command, ask=False)[0]
    return choose_one(open_course(start), name, command, ask=ask, no_color=no_color, after=after)


def _assignments(course: Course) -> list[Assignment]:
    found = course.assignments()
    if not found:
        from goldsmith.errors.course import NoAssignments

        raise NoAssignments(course.relative(course.assignments_folder))
    return found


def make_progress(no_color: bool, *, verbose: bool = False) -> ShownProgress:
    """Report progress on standard error, live where that is a terminal."""
    from goldsmith.render.console import open_console
    from goldsmith.render.progress import ShownProgress

    return ShownProgress(open_console(no_color=no_color, stderr=True), verbose=verbose)
