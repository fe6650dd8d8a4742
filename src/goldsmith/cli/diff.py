"""`goldsmith diff`: what regenerating would change, or what changed since a git revision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goldsmith.cli.options import (
    CourseOption,
    DebugOption,
    JsonOption,
    NoColorOption,
    at_a_terminal,
    choose_one,
    make_progress,
    open_course,
    report_errors,
)
from goldsmith.errors.base import AGAINST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from goldsmith.course.layout import Assignment
    from goldsmith.generate.previous_gold import MachineNoise
    from goldsmith.gold.diff import TensorChange


def diff(
    name: Annotated[str | None, typer.Argument(metavar="A", help="The assignment; without, a menu.")] = None,
    revision: Annotated[
        str | None, typer.Argument(metavar="REV", help="A git revision to compare with; without, regenerate.")
    ] = None,
    exact: Annotated[bool, typer.Option("--exact", help="Show other bits, too, where they are noise.")] = False,
    redraw: Annotated[
        bool, typer.Option("--redraw", help="Draw inputs and weights again instead of using recorded ones.")
    ] = False,
    course: CourseOption = Path("."),
    json: JsonOption = False,
    no_color: NoColorOption = False,
    debug: DebugOption = False,
) -> None:
    """Show, tensor by tensor, what regenerating would change, or what changed since a git revision.

    Examples:

        goldsmith diff scratch-1             run the recipe again, compare with the gold
        goldsmith diff scratch-1 HEAD~3      compare the gold with that of three commits ago

    Recorded inputs and weights are used again as long as a case's own code in the recipe has not changed; where they
    are not, a note says why. What moved within noise, as on another machine, is a note, too.

    Nothing is written. Exit codes: 0 no tensor differs, 1 some do, 2 bad usage, 3 could not run.
    """
    with report_errors("diff", as_json=json, debug=debug):
        from goldsmith.workspace.temporary import private_folder

        ask = at_a_terminal() and not json
        assignment = choose_one(open_course(course), name, "diff", ask=ask, no_color=no_color)
        with private_folder() as folder:
            if revision:
                found = _Found(tuple(_since(assignment, revision, folder)))
            else:
                found = _would(assignment, folder, exact, redraw, no_color)
        _show(assignment, revision, found, json, no_color)
    raise typer.Exit(AGAINST if found.changes else 0)


@dataclass(frozen=True)
class _Found:
    """What would change, and what there is to say about the rest."""

    changes: tuple[TensorChange, ...]
    notes: tuple[str, ...] = ()
    noise: MachineNoise | None = None
    environment: tuple[str, ...] = ()
    redrawn: Mapping[str, str] = field(default_factory=dict)


def _since(assignment: Assignment, revision: str, folder: Path) -> Sequence[TensorChange]:
    from goldsmith.generate.sources import gold_at_revision
    from goldsmith.gold.diff import gold_changes

    return gold_changes(gold_at_revision(assignment, revision, folder), assignment.gold)


def _would(assignment: Assignment, folder: Path, exact: bool, redraw: bool, no_color: bool) -> _Found:
    import msgspec

    from goldsmith.errors.gold import Failed
    from goldsmith.generate.verify import dry_run_as_recorded, recorded_options

    options = msgspec.structs.replace(recorded_options(assignment), exact=exact, redraw=redraw)
    outcome, _ = dry_run_as_recorded(assignment, options, make_progress(no_color), folder)
    if outcome.error is not None and outcome.outcome != "stale":
        raise Failed(outcome.error.message)
    return _Found(outcome.changes, outcome.notes, outcome.noise, outcome.environment, outcome.redrawn)


def _show(assignment: Assignment, revision: str | None, found: _Found, as_json: bool, no_color: bool) -> None:
    import msgspec

    name, changes = assignment.name, found.changes
    if as_json:
        from goldsmith.render.json_output import report

        outcome = "stale" if changes else "unchanged"
        item = {"name": name, "outcome": outcome, "revision": revision, **msgspec.to_builtins(found)}
        print(report("diff", True, "assignments", [item]))
        return
    from rich.console import Console

    from goldsmith.render.gold_diff import show_changes

    console = Console(no_color=no_color or None)
    if not console.is_terminal:
        console.width = 160  # a log has no edge to wrap at
    if changes:
        show_changes(console, changes)
        console.print()
    for note in found.notes:
        console.print(f"Note: {note}.", style="yellow", highlight=False, soft_wrap=not console.is_terminal)
    what = f"since {revision}" if revision else "by regenerating"
    count = f"{len(changes)} tensor{'' if len(changes) == 1 else 's'}"
    console.print(f"{name}: {count if changes else 'no tensor'} changed {what}.", style="bold", highlight=False)
