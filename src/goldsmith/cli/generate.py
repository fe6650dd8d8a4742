"""`goldsmith generate`: the nine steps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from goldsmith.cli.command import command, option
from goldsmith.cli.gold_runs import Show, asking_of, calibration, check_gold, gold_run_options, make_gold, report_all
from goldsmith.cli.options import (
    at_a_terminal,
    choose,
    course_options,
    open_course,
    refuse_recipes,
    report_errors,
    several_assignments,
)
from goldsmith.cli.reports import Output, Wanted, asked_for

if TYPE_CHECKING:
    from goldsmith.courses.layout.layout import Assignment
    from goldsmith.generate.options import Options
    from goldsmith.generate.outcome import Outcome


@command
@several_assignments
@option(
    "--kind", type=click.Choice(["outputs", "checkpoint", "both"]), help="What to record when there is no recipe yet."
)
@gold_run_options
@course_options
def generate(
    assignments: tuple[str, ...],
    kind: Literal["outputs", "checkpoint", "both"] | None,
    seed: int | None,
    device: str | None,
    timeout: float | None,
    allow_large: bool,
    calibrate: bool | None,
    force: bool,
    exact: bool,
    redraw: bool,
    check: bool,
    review: bool,
    yes: bool,
    no_wait: bool,
    verbose: bool,
    formats: tuple[Wanted, ...],
    course: Path,
    json: bool,
    no_color: bool,
    debug: bool,
) -> None:
    """Run the solution with fixed seeds; verify, document and publish its gold.

    Examples:

        goldsmith generate                        choose from a menu
        goldsmith generate scratch-1              one assignment
        goldsmith generate scratch-1 --review     accept what would change case by case
        goldsmith generate all --yes --json       every assignment, for a script
        goldsmith generate all --check            would anything change? (for CI, on any machine)
        goldsmith generate all --check --exact    the same, to the last bit
        goldsmith generate hw3 --kind both        no recipe yet: write one to start from

    Exit codes: 0 all well, 1 gold would change (with --check, without --yes, or kept in a review), 2 bad usage or
    configuration, 3 could not run or gold refused.
    """
    wanted = asked_for(formats, json=json)
    json = Wanted("json") in wanted
    outcomes: list[Outcome] = []
    with report_errors("generate", as_json=json, debug=debug, finished=outcomes) as report:
        from goldsmith.generate.options import Options

        refuse_recipes("generate", *assignments)
        found = open_course(course)
        config = found.config
        options = Options(
            threads=config.threads,
            seed=config.seed if seed is None else seed,
            timeout=config.timeout if timeout is None else timeout,
            device=device or "cpu",
            kind=kind,
            allow_large=allow_large,
            force=force,
            exact=exact,
            redraw=redraw,
            calibrate=calibration(config.calibrate, calibrate),
        )
        interactive = at_a_terminal() and not (yes or json)
        asking = asking_of(interactive=interactive, yes=yes, check=check, review=review)
        chosen = choose(found, assignments, "generate", ask=interactive, no_color=no_color)
        show = Show(Output(report, "gold", wanted, no_color), verbose)
        if check:
            check_gold(chosen, options, show, outcomes, seed=seed, device=device)
        else:
            planned = {item.name: (item, _planned(item, options, interactive, no_color)) for item in chosen}
            make_gold(found, planned, asking, show, outcomes, wait=not no_wait)
        report_all(outcomes, show)


def _planned(assignment: Assignment, options: Options, interactive: bool, no_color: bool) -> Options:
    """Ask what to record for each assignment without a recipe."""
    if assignment.recipe.is_file() or options.kind or not interactive:
        return options
    import msgspec

    from goldsmith.cli.prompts import ask_kind

    return msgspec.structs.replace(options, kind=ask_kind(assignment, no_color=no_color))
