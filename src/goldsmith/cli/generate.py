"""`goldsmith generate`: the nine steps."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click
from click.exceptions import Exit

from goldsmith.cli.command import command, flag, option
from goldsmith.cli.options import (
    JsonReport,
    Seconds,
    at_a_terminal,
    choose,
    course_options,
    make_progress,
    open_course,
    report_errors,
    several_assignments,
)
from goldsmith.errors.base import COULD_NOT_RUN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from goldsmith.course.layout import Assignment, Course
    from goldsmith.generate.options import Options
    from goldsmith.generate.outcome import Outcome
    from goldsmith.gold.diff import TensorChange
    from goldsmith.render.summary import Summary


_QUESTION = 6
"""Lines that a question takes, which what it is about should stay in sight of."""


@command
@several_assignments
@option(
    "--kind", type=click.Choice(["outputs", "checkpoint", "both"]), help="What to make when there is no recipe yet."
)
@option("--seed", metavar="N", type=click.IntRange(0, 2**32 - 1), help="The seed.", show_default="42")
@option("--device", metavar="D", help="Where models run: cpu, cuda, cuda:1, mps.", show_default="cpu")
@option(
    "--timeout",
    metavar="SECONDS",
    type=Seconds(),
    help="Stop a recipe after this much processor time.",
    show_default="600",
)
@flag("--allow-large", help="Accept gold above 100 MB.")
@option(
    "--calibrate/--no-calibrate",
    default=None,
    help="Measure tolerances again, or not at all.",
    show_default="where something changed",
)
@flag("--force", help="Regenerate fresh gold, too.")
@flag("--exact", help="Take other bits for a change, even where they are noise.")
@flag("--redraw", help="Draw inputs and weights again instead of using recorded ones.")
@flag("--check", help="Write nothing; exit 1 if anything would change.")
@flag("--yes", "-y", help="Ask nothing.")
@flag("--no-wait", help="Give up when another goldsmith is at work here.")
@flag("--verbose", "-v", help="Show what the recipe prints.")
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
    yes: bool,
    no_wait: bool,
    verbose: bool,
    course: Path,
    json: bool,
    no_color: bool,
    debug: bool,
) -> None:
    """Run the solution with fixed seeds and leave verified, documented gold behind.

    Examples:

        goldsmith generate                        choose from a menu
        goldsmith generate scratch-1              one assignment
        goldsmith generate all --yes --json       every assignment, for a script
        goldsmith generate all --check            would anything change? (for CI, on any machine)
        goldsmith generate all --check --exact    the same, to the last bit
        goldsmith generate hw3 --kind both        no recipe yet: write one to start from

    Exit codes: 0 all well, 1 gold would change (with --check, or without --yes), 2 bad usage or configuration,
    3 could not run or gold refused.
    """
    outcomes: list[Outcome] = []
    with report_errors("generate", as_json=json, debug=debug, finished=outcomes) as report:
        from goldsmith.generate.options import options_from

        found = open_course(course)
        config = found.config
        options = options_from(
            config,
            seed=config.seed if seed is None else seed,
            timeout=config.timeout if timeout is None else timeout,
            device=device or "cpu",
            kind=kind,
            allow_large=allow_large,
            force=force,
            exact=exact,
            redraw=redraw,
            calibrate=_calibration(config.calibrate, calibrate),
        )
        interactive = at_a_terminal() and not (yes or json)
        chosen = choose(found, assignments, "generate", ask=interactive, no_color=no_color)
        show = _Show(report=report, as_json=json, no_color=no_color, verbose=verbose)
        if check:
            given = {"seed": seed, "device": device}
            _check(chosen, options, {name: it for name, it in given.items() if it is not None}, show, outcomes)
        else:
            _run(found, chosen, options, interactive, yes, show, outcomes, wait=not no_wait)
    bad = [item.exit_code or COULD_NOT_RUN for item in outcomes if not item.ok]
    raise Exit(max(bad, default=0))


def _calibration(wanted: bool, flag: bool | None) -> Literal["measure", "always", "off"]:
    if flag is None:
        return "measure" if wanted else "off"
    return "always" if flag else "off"


def _planned(assignment: Assignment, options: Options, interactive: bool, no_color: bool) -> Options:
    """Without a recipe, a person is asked what to make."""
    if assignment.recipe.is_file() or options.kind or not interactive:
        return options
    import msgspec

    from goldsmith.cli.prompts import ask_kind

    return msgspec.structs.replace(options, kind=ask_kind(assignment, no_color=no_color))


@dataclass(frozen=True)
class _Show:
    """How outcomes are to be shown."""

    report: JsonReport
    as_json: bool
    no_color: bool
    verbose: bool


def _check(
    chosen: list[Assignment], options: Options, given: Mapping[str, Any], show: _Show, outcomes: list[Outcome]
) -> None:
    """What would change, without writing anything into the course; with the seed and on the device that the gold was
    made with, unless others are `given`."""
    import msgspec

    from goldsmith.generate.nine_steps import dry_run
    from goldsmith.generate.verify import as_recorded, dry_run_as_recorded
    from goldsmith.workspace.temporary import private_folder

    progress = make_progress(show.no_color, verbose=show.verbose)
    for assignment in chosen:
        same = msgspec.structs.replace(as_recorded(assignment, options), **given)
        with private_folder() as folder:
            if "device" in given:
                outcome = dry_run(assignment, same, progress, folder / "gold")
            else:
                outcome, _ = dry_run_as_recorded(assignment, same, progress, folder)
        if "seed" not in given and same.seed != options.seed:
            note = f"checked with the seed it was made with, {same.seed}; the course's is {options.seed}"
            outcome = msgspec.structs.replace(outcome, notes=(*outcome.notes, note))
        _report(outcome, show, after=bool(outcomes))
        outcomes.append(outcome)
    _report_all(outcomes, show)


def _run(
    course: Course,
    chosen: list[Assignment],
    options: Options,
    interactive: bool,
    yes: bool,
    show: _Show,
    outcomes: list[Outcome],
    *,
    wait: bool,
) -> None:
    """Run the steps for each chosen assignment; `outcomes` grows as they finish."""
    from goldsmith.generate.nine_steps import generate as run_steps
    from goldsmith.render.refuse_disagreeing import refuse_disagreeing
    from goldsmith.workspace.lock import course_lock

    progress = make_progress(show.no_color, verbose=show.verbose)
    doing = f"goldsmith generate {' '.join(item.name for item in chosen)}"
    planned = [_planned(assignment, options, interactive, show.no_color) for assignment in chosen]
    with course_lock(course, doing, wait=wait, on_wait=progress.note):
        for assignment, own in zip(chosen, planned, strict=True):

            def agree(changes: Sequence[TensorChange], others: Sequence[str], name: str = assignment.name) -> bool:
                return yes or _agrees(name, changes, others, show, interactive)

            outcome = _that_can_be_done(assignment, run_steps(assignment, own, progress, refuse_disagreeing, agree))
            _report(outcome, show, after=bool(outcomes))
            outcomes.append(outcome)
    _report_all(outcomes, show)


def _agrees(name: str, changes: Sequence[TensorChange], others: Sequence[str], show: _Show, interactive: bool) -> bool:
    """A person who has seen what would change; without one, the old gold stays."""
    if changes and not show.as_json:
        from goldsmith.render.console import open_console
        from goldsmith.render.gold_diff import show_changes

        stderr = open_console(no_color=show.no_color, stderr=True)
        show_changes(stderr, changes, below=_QUESTION if interactive else 0)
    if not interactive:
        return False
    from goldsmith.cli.prompts import ask_to_replace

    return ask_to_replace(name, len(changes), others, no_color=show.no_color)


def _that_can_be_done(assignment: Assignment, outcome: Outcome) -> Outcome:
    """An outcome whose next steps lead somewhere: internal tests are run where there are some."""
    import msgspec

    from goldsmith.errors.internal_tests import NoInternalTests
    from goldsmith.internal_tests.suite_result import tests_of

    tests = f"goldsmith test {assignment.name}"
    if tests not in outcome.next:
        return outcome
    try:
        tests_of(assignment)
    except NoInternalTests:
        instead = {tests: f"goldsmith rigor {assignment.name}"}
        return msgspec.structs.replace(outcome, next=tuple(instead.get(step, step) for step in outcome.next))
    return outcome


def _report(outcome: Outcome, show: _Show, *, after: bool) -> None:
    if not show.as_json:
        _summary(show).show(outcome, after=after)


def _report_all(outcomes: list[Outcome], show: _Show) -> None:
    if show.as_json:
        show.report.print(outcomes, ok=all(item.ok for item in outcomes))
    elif len(outcomes) > 1:
        _summary(show).show_table(outcomes)


def _summary(show: _Show) -> Summary:
    from goldsmith.render.console import open_console
    from goldsmith.render.summary import Summary

    return Summary(open_console(no_color=show.no_color))
