"""`goldsmith generate`: the nine steps."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goldsmith.cli.gold_runs import (
    AllowLargeOption,
    CalibrateOption,
    CheckOption,
    DeviceOption,
    ExactOption,
    ForceOption,
    NoWaitOption,
    RedrawOption,
    SeedOption,
    Show,
    TimeoutOption,
    VerboseOption,
    YesOption,
    calibration,
    check_gold,
    make_gold,
    report_all,
)
from goldsmith.cli.options import (
    CourseOption,
    DebugOption,
    JsonOption,
    NoColorOption,
    at_a_terminal,
    choose,
    open_course,
    refuse_recipes,
    report_errors,
)
from goldsmith.errors.base import COULD_NOT_RUN

if TYPE_CHECKING:
    from goldsmith.course.layout import Assignment
    from goldsmith.generate.options import Options
    from goldsmith.generate.outcome import Outcome


class Kind(StrEnum):
    outputs = "outputs"
    checkpoint = "checkpoint"
    both = "both"


EXAMPLES = """
Examples:

    goldsmith generate                     choose from a menu
    goldsmith generate scratch-1           one assignment
    goldsmith generate all --yes --json    every assignment, for a script
    goldsmith generate all --check         would anything change? (for CI, on any machine)
    goldsmith generate all --check --exact the same, to the last bit
    goldsmith generate hw3 --kind both     no recipe yet: write one to start from

Exit codes: 0 all well, 1 gold would change (with --check, or without --yes), 2 bad usage or configuration,
3 could not run or gold refused.
"""


def generate(
    assignments: Annotated[
        list[str] | None, typer.Argument(metavar="A… | all", help="Names of assignments; omit them for a menu.")
    ] = None,
    kind: Annotated[Kind | None, typer.Option(help="What to record when there is no recipe yet.")] = None,
    seed: SeedOption = None,
    device: DeviceOption = None,
    timeout: TimeoutOption = None,
    allow_large: AllowLargeOption = False,
    calibrate: CalibrateOption = None,
    force: ForceOption = False,
    exact: ExactOption = False,
    redraw: RedrawOption = False,
    check: CheckOption = False,
    yes: YesOption = False,
    no_wait: NoWaitOption = False,
    verbose: VerboseOption = False,
    course: CourseOption = Path("."),
    json: JsonOption = False,
    no_color: NoColorOption = False,
    debug: DebugOption = False,
) -> None:
    outcomes: list[Outcome] = []
    with report_errors("generate", as_json=json, debug=debug, finished=outcomes) as report:
        from goldsmith.generate.options import options_from

        refuse_recipes("generate", *(assignments or ()))
        found = open_course(course)
        config = found.config
        options = options_from(
            config,
            seed=config.seed if seed is None else seed,
            timeout=config.timeout if timeout is None else timeout,
            device=device or "cpu",
            kind=kind.value if kind else None,
            allow_large=allow_large,
            force=force,
            exact=exact,
            redraw=redraw,
            calibrate=calibration(config.calibrate, calibrate),
        )
        interactive = at_a_terminal() and not (yes or json)
        chosen = choose(found, assignments or [], "generate", ask=interactive, no_color=no_color)
        show = Show(report=report, as_json=json, no_color=no_color, verbose=verbose)
        if check:
            given = {"seed": seed, "device": device}
            check_gold(chosen, options, {name: it for name, it in given.items() if it is not None}, show, outcomes)
        else:
            planned = {item.name: (item, _planned(item, options, interactive, no_color)) for item in chosen}
            make_gold(found, planned, interactive, yes, show, outcomes, wait=not no_wait)
        report_all(outcomes, show)
    bad = [item.exit_code or COULD_NOT_RUN for item in outcomes if not item.ok]
    raise typer.Exit(max(bad, default=0))


generate.__doc__ = f"Run the solution with fixed seeds; verify, document and publish its gold.\n{EXAMPLES}"


def _planned(assignment: Assignment, options: Options, interactive: bool, no_color: bool) -> Options:
    """Ask what to record for each assignment without a recipe."""
    if assignment.recipe.is_file() or options.kind or not interactive:
        return options
    import msgspec

    from goldsmith.cli.prompts import ask_kind

    return msgspec.structs.replace(options, kind=ask_kind(assignment, no_color=no_color))
