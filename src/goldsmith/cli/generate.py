"""`goldsmith generate`: the nine steps."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goldsmith.cli.common import (
    CourseOption,
    DebugOption,
    JsonOption,
    NoColorOption,
    at_a_terminal,
    shown_errors,
)
from goldsmith.errors import COULD_NOT_RUN

if TYPE_CHECKING:
    from goldsmith.course import Assignment, Course
    from goldsmith.generation import Options, Outcome


class Kind(StrEnum):
    outputs = "outputs"
    checkpoint = "checkpoint"
    both = "both"


EXAMPLES = """
Examples:

    goldsmith generate                     choose from a menu
    goldsmith generate scratch-1           one assignment
    goldsmith generate all --json          every assignment, for a script
    goldsmith generate hw3 --kind both     no recipe yet: write one to start from

Exit codes: 0 all well, 2 bad usage or configuration, 3 could not run or gold refused.
"""


def generate(
    assignments: Annotated[
        list[str] | None, typer.Argument(metavar="A… | all", help="Assignments by name; without, a menu.")
    ] = None,
    kind: Annotated[Kind | None, typer.Option(help="What to make when there is no recipe yet.")] = None,
    seed: Annotated[
        int | None, typer.Option(metavar="N", min=0, max=2**32 - 1, help="The seed.", show_default="42")
    ] = None,
    device: Annotated[str, typer.Option(metavar="D", help="Where models run: cpu, cuda, cuda:1, mps.")] = "cpu",
    timeout: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", min=0.1, help="Stop a recipe after this long.", show_default="600"),
    ] = None,
    allow_large: Annotated[bool, typer.Option("--allow-large", help="Accept gold above 100 MB.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Ask nothing.")] = False,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Give up when another goldsmith is at work here.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show what the recipe prints.")] = False,
    course: CourseOption = Path("."),
    json: JsonOption = False,
    no_color: NoColorOption = False,
    debug: DebugOption = False,
) -> None:
    outcomes: list[Outcome] = []
    with shown_errors("generate", as_json=json, debug=debug, finished=outcomes):
        from goldsmith.course import find_course
        from goldsmith.generation import Options

        found = find_course(course)
        config = found.config
        options = Options(
            seed=config.seed if seed is None else seed,
            threads=config.threads,
            timeout=config.timeout if timeout is None else timeout,
            device=device,
            kind=kind.value if kind else None,
            allow_large=allow_large,
        )
        interactive = at_a_terminal() and not (yes or json)
        chosen = _choose(found, assignments or [], interactive)
        show = _Show(as_json=json, no_color=no_color, verbose=verbose)
        _run(found, chosen, options, interactive, show, outcomes, wait=not no_wait)
    bad = [item.exit_code or COULD_NOT_RUN for item in outcomes if not item.ok]
    raise typer.Exit(max(bad, default=0))


generate.__doc__ = f"Run the solution with fixed seeds and leave verified, documented gold behind.\n{EXAMPLES}"


def _choose(course: Course, names: list[str], interactive: bool) -> list[Assignment]:
    from goldsmith.errors import MenuLeft, NothingChosen

    found = course.assignments()
    if "all" in names and found:
        return found
    if names and "all" not in names:
        return list({item.name: item for item in map(course.assignment, names)}.values())
    if interactive and found:
        from goldsmith.cli.questions import ask_assignments

        chosen = ask_assignments(found)
        if not chosen:
            raise MenuLeft
        return chosen
    raise NothingChosen([item.name for item in found])


def _planned(assignment: Assignment, options: Options, interactive: bool) -> Options:
    """Without a recipe, a person is asked what to make."""
    if assignment.recipe.is_file() or options.kind or not interactive:
        return options
    import msgspec

    from goldsmith.cli.questions import ask_kind
    from goldsmith.errors import MenuLeft

    kind = ask_kind()
    if kind is None:
        raise MenuLeft
    return msgspec.structs.replace(options, kind=kind)


@dataclass(frozen=True)
class _Show:
    """How outcomes are to be shown."""

    as_json: bool
    no_color: bool
    verbose: bool


def _run(
    course: Course,
    chosen: list[Assignment],
    options: Options,
    interactive: bool,
    show: _Show,
    outcomes: list[Outcome],
    *,
    wait: bool,
) -> None:
    """Run the steps for each chosen assignment; `outcomes` grows as they finish."""
    from rich.console import Console

    from goldsmith.generation import generate as run_steps
    from goldsmith.report import PlainProgress, Summary, TerminalProgress, report
    from goldsmith.workspace import course_lock

    no_color = show.no_color or None
    console = Console(stderr=True, no_color=no_color)
    progress = (TerminalProgress if console.is_terminal else PlainProgress)(console, verbose=show.verbose)
    summary = Summary(Console(no_color=no_color))
    doing = f"goldsmith generate {' '.join(item.name for item in chosen)}"
    with course_lock(course, doing, wait=wait, on_wait=progress.note):
        for assignment in chosen:
            outcome = run_steps(assignment, _planned(assignment, options, interactive), progress)
            if not show.as_json:
                summary.show(outcome, after=bool(outcomes))
            outcomes.append(outcome)
    if show.as_json:
        print(report("generate", all(item.ok for item in outcomes), "assignments", outcomes))
    elif len(outcomes) > 1:
        summary.show_table(outcomes)
