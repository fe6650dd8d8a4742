"""What `generate` and `record` share: make gold, or say what would change, and show what became of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NoReturn

import click
from click.exceptions import Exit

from goldsmith.cli.command import Function, add_options, flag, option
from goldsmith.cli.options import Seconds, make_progress, options_again
from goldsmith.cli.reports import Output, report_formats
from goldsmith.errors.base import COULD_NOT_RUN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from goldsmith.courses.layout.layout import Assignment
    from goldsmith.generate.options import Options
    from goldsmith.generate.outcome import Outcome
    from goldsmith.gold.diff import TensorChange
    from goldsmith.targets.target import Project, Target


_OPTIONS = (
    option("--seed", metavar="N", type=click.IntRange(0, 2**32 - 1), help="The seed.", show_default="42"),
    option("--device", metavar="D", help="Where models run: cpu, cuda, cuda:1, mps.", show_default="cpu"),
    option(
        "--timeout",
        metavar="SECONDS",
        type=Seconds(),
        help="Stop a recipe after this much processor time.",
        show_default="600",
    ),
    flag("--allow-large", help="Accept gold above 100 MB."),
    option(
        "--calibrate/--no-calibrate",
        default=None,
        help="Measure tolerances again, or not at all.",
        show_default="where something changed",
    ),
    flag("--force", help="Regenerate gold even if it is fresh."),
    flag("--exact", help="Treat any different bit as a change, even within noise."),
    flag("--redraw", help="Draw inputs and weights again instead of using recorded ones."),
    flag("--check", help="Write nothing; exit with 1 if anything would change."),
    flag("--review", help="At a terminal: accept or keep what would change case by case, one key each."),
    flag("--yes", "-y", help="Do not ask any questions."),
    flag("--no-wait", help="Exit instead of waiting if another goldsmith is running here."),
    flag("--verbose", "-v", help="Show what the recipe prints."),
    report_formats("gold"),
)
_QUESTION_LINES = 6
"""Lines that a question takes, so that what it is about stays visible above it."""


Asking = Literal["nothing, accept", "nothing, keep", "once", "each case"]
"""What is asked before gold is replaced; where nothing is, what happens."""


def gold_run_options(function: Function) -> Function:
    """Add the options that say how gold is made, such as `seed` and `force`."""
    return add_options(_OPTIONS, function)


def calibration(wanted: bool, flag: bool | None) -> Literal["measure", "always", "off"]:
    """Return when tolerances are measured: as the course wants it, unless a flag says so."""
    if flag is None:
        return "measure" if wanted else "off"
    return "always" if flag else "off"


def asking_of(*, interactive: bool, yes: bool, check: bool, review: bool) -> Asking:
    """Return what will be asked; raise if a review was asked for that cannot be made."""
    if review:
        from goldsmith.cli.review import require_review

        require_review(interactive=interactive, yes=yes, check=check)
        return "each case"
    return "nothing, accept" if yes else "once" if interactive else "nothing, keep"


@dataclass(frozen=True)
class Show:
    """How outcomes are shown."""

    output: Output
    verbose: bool

    @property
    def no_color(self) -> bool:
        return self.output.no_color


def check_gold(
    chosen: Sequence[Assignment | Target],
    options: Options,
    show: Show,
    outcomes: list[Outcome],
    **wanted: int | str | None,
) -> None:
    """Find what would change, without writing anything there; with the `seed` and on the `device` that the gold was
    made with, unless others are wanted."""
    import msgspec

    from goldsmith.courses.layout.resolve import resolve
    from goldsmith.generate.pipeline import dry_run
    from goldsmith.generate.verify import as_recorded, dry_run_as_recorded
    from goldsmith.workspace.temporary import private_folder

    progress = make_progress(show.no_color, verbose=show.verbose)
    given = {name: value for name, value in wanted.items() if value is not None}
    for assignment in chosen:
        target = resolve(assignment)
        same = msgspec.structs.replace(as_recorded(target, options), **given)
        with private_folder() as folder:
            if "device" in given:
                outcome = dry_run(target, same, progress, folder / "gold")
            else:
                outcome, _ = dry_run_as_recorded(target, same, progress, folder)
        if "seed" not in given and same.seed != options.seed:
            note = f"checked with the seed it was made with, {same.seed}; the course's is {options.seed}"
            outcome = msgspec.structs.replace(outcome, notes=(*outcome.notes, note))
        _report(outcome, show, after=bool(outcomes))
        outcomes.append(outcome)


def make_gold(
    project: Project,
    chosen: Mapping[str, tuple[Assignment | Target, Options]],
    asking: Asking,
    show: Show,
    outcomes: list[Outcome],
    *,
    wait: bool,
) -> None:
    """Run the steps for each subject, by name, with its options; `outcomes` grows as they finish."""
    from goldsmith.courses.layout.resolve import resolve
    from goldsmith.generate.pipeline import generate as run_steps
    from goldsmith.render.self_check import self_check
    from goldsmith.workspace.lock import project_lock

    progress = make_progress(show.no_color, verbose=show.verbose)
    doing = f"goldsmith {show.output.report.command} {' '.join(chosen)}"
    with project_lock(project, doing, wait=wait, on_wait=progress.note):
        for name, (assignment, own) in chosen.items():

            def agree(changes: Sequence[TensorChange], others: Sequence[str], name: str = name) -> bool:
                return _agrees(name, changes, others, show, asking)

            outcome = run_steps(resolve(assignment), own, progress, self_check(assignment), agree)
            outcome = _that_can_be_done(assignment, outcome)
            _report(outcome, show, after=bool(outcomes))
            outcomes.append(outcome)
            if outcome.error is not None and outcome.error.kind == "review-left":
                break


def _agrees(name: str, changes: Sequence[TensorChange], others: Sequence[str], show: Show, asking: Asking) -> bool:
    """Ask whether to replace gold; without a terminal, the old gold stays."""
    if asking == "nothing, accept":
        return True
    from goldsmith.cli.prompts import ask_to_replace
    from goldsmith.cli.review import review
    from goldsmith.render.console import open_console
    from goldsmith.render.gold_diff import show_changes

    stderr = open_console(no_color=show.no_color, stderr=True)
    if changes and not show.output.as_json and asking != "each case":
        show_changes(stderr, changes, below=_QUESTION_LINES if asking == "once" else 0)
    if asking == "nothing, keep":
        return False
    if (others or asking == "once") and not ask_to_replace(name, len(changes), others, no_color=show.no_color):
        return False
    if asking == "each case":
        review(stderr, name, changes, no_color=show.no_color)
    return True


def _that_can_be_done(assignment: Assignment | Target, outcome: Outcome) -> Outcome:
    """Add next steps that lead somewhere: internal tests only where there are some, in the course that was named."""
    import msgspec

    from goldsmith.courses.internal_tests.suite_result import tests_of
    from goldsmith.courses.layout.layout import Assignment
    from goldsmith.errors.internal_tests import NoInternalTests

    tests = f"goldsmith test {assignment.name}"
    if tests not in outcome.next or not isinstance(assignment, Assignment):
        return outcome
    best = tests
    try:
        tests_of(assignment)
    except NoInternalTests:
        best = f"goldsmith rigor {assignment.name}"
    steps = (f"{best}{options_again('course')}" if step == tests else step for step in outcome.next)
    return msgspec.structs.replace(outcome, next=tuple(steps))


def _report(outcome: Outcome, show: Show, *, after: bool) -> None:
    if after and show.output.is_shown:
        from goldsmith.render.console import print_line

        print_line(show.output.console)
    show.output.show(outcome)


def report_all(outcomes: list[Outcome], show: Show) -> NoReturn:
    """Give all outcomes in the formats that were asked for, and exit by the worst of them."""
    show.output.finish(outcomes, ok=all(item.ok for item in outcomes))
    if len(outcomes) > 1 and show.output.is_shown:
        from goldsmith.render.summary import Summary

        Summary(show.output.console).show_table(outcomes)
    raise Exit(max((item.exit_code or COULD_NOT_RUN for item in outcomes if not item.ok), default=0))
