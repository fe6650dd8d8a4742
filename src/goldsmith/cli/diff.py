"""`goldsmith diff`: what regenerating would change, or what changed since a git revision."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goldsmith.cli.common import (
    CourseOption,
    DebugOption,
    JsonOption,
    NoColorOption,
    at_a_terminal,
    choose_one,
    open_course,
    progress_on,
    shown_errors,
)
from goldsmith.errors import AGAINST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from goldsmith.course import Assignment
    from goldsmith.gold import TensorChange


def diff(
    name: Annotated[str | None, typer.Argument(metavar="A", help="The assignment; without, a menu.")] = None,
    revision: Annotated[
        str | None, typer.Argument(metavar="REV", help="A git revision to compare with; without, regenerate.")
    ] = None,
    course: CourseOption = Path("."),
    json: JsonOption = False,
    no_color: NoColorOption = False,
    debug: DebugOption = False,
) -> None:
    """Show, tensor by tensor, what regenerating would change, or what changed since a git revision.

    Examples:

        goldsmith diff scratch-1             run the recipe again, compare with the gold
        goldsmith diff scratch-1 HEAD~3      compare the gold with that of three commits ago

    Nothing is written. Exit codes: 0 no tensor differs, 1 some do, 2 bad usage, 3 could not run.
    """
    from goldsmith.workspace import make_room

    with shown_errors("diff", as_json=json, debug=debug):
        ask = at_a_terminal() and not json
        assignment = choose_one(open_course(course), name, "diff", ask=ask, no_color=no_color)
        with make_room() as room:
            changes = _since(assignment, revision, room) if revision else _would(assignment, room, no_color)
        _show(assignment, revision, changes, json, no_color)
    raise typer.Exit(AGAINST if changes else 0)


def _since(assignment: Assignment, revision: str, folder: Path) -> Sequence[TensorChange]:
    from goldsmith.generation import gold_at_revision
    from goldsmith.gold import gold_changes

    return gold_changes(gold_at_revision(assignment, revision, folder), assignment.gold)


def _would(assignment: Assignment, folder: Path, no_color: bool) -> Sequence[TensorChange]:
    from goldsmith.errors import Failed
    from goldsmith.generation import recorded_options, rehearse

    outcome = rehearse(assignment, recorded_options(assignment), progress_on(no_color), folder / "gold")
    if outcome.error is not None and outcome.outcome != "stale":
        raise Failed(outcome.error.message)
    return outcome.changes


def _show(
    assignment: Assignment, revision: str | None, changes: Sequence[TensorChange], as_json: bool, no_color: bool
) -> None:
    import msgspec

    name = assignment.name
    if as_json:
        from goldsmith.report import report

        outcome = "stale" if changes else "unchanged"
        item = {"name": name, "outcome": outcome, "revision": revision, "changes": msgspec.to_builtins(changes)}
        print(report("diff", True, "assignments", [item]))
        return
    from rich.console import Console

    from goldsmith.report import show_changes

    console = Console(no_color=no_color or None)
    if changes:
        show_changes(console, changes)
        console.print()
    what = f"since {revision}" if revision else "by regenerating"
    count = f"{len(changes)} tensor{'' if len(changes) == 1 else 's'}"
    console.print(f"{name}: {count if changes else 'no tensor'} changed {what}.", style="bold", highlight=False)
