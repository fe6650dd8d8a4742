"""`goldsmith reset`: everything as it was before `inject`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from goldsmith.cli.common import (
    CourseOption,
    DebugOption,
    JsonOption,
    NoColorOption,
    at_a_terminal,
    locked,
    open_course,
    shown_errors,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from goldsmith.course import Course
    from goldsmith.workspace import Change, Journal

EXAMPLES = """
Files that were edited while they were injected are never thrown away silently: choose what becomes of them.

Examples:

    goldsmith reset                            whatever is injected
    goldsmith reset scratch-1 --keep           edits become the solution
    goldsmith reset scratch-1 --save DIR       edits go into a folder
    goldsmith reset scratch-1 --discard        edits are given up

Exit codes: 0 reset (or nothing was injected), 1 edited files stand in the way, 2 bad usage, 3 could not.
"""


def reset(
    assignment: Annotated[
        str | None, typer.Argument(metavar="A", help="The assignment; without, every injected one.")
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Write edits back into the solution.")] = False,
    save: Annotated[Path | None, typer.Option("--save", metavar="DIR", help="Write edits into this folder.")] = None,
    discard: Annotated[bool, typer.Option("--discard", help="Give edits up.")] = False,
    course: CourseOption = Path("."),
    json: JsonOption = False,
    no_color: NoColorOption = False,
    debug: DebugOption = False,
) -> None:
    items: list[dict[str, Any]] = []
    with shown_errors("reset", as_json=json, debug=debug, finished=items):
        from goldsmith.errors import OneWayOnly
        from goldsmith.workspace import journals

        if keep + discard + (save is not None) > 1:
            raise OneWayOnly
        found = open_course(course, repair=False)
        standing = [item.assignment for item in journals(found)]
        names = standing
        if assignment is not None:
            names = [assignment] if assignment in standing else [found.assignment(assignment).name]
        ask = at_a_terminal() and not json
        with locked(found, f"reset {assignment or 'all'}"):
            for name in names:
                item = _reset(found, name, keep=keep, save=save, discard=discard, ask=ask, no_color=no_color)
                items.append(item)
        if json:
            from goldsmith.report import report

            print(report("reset", True, "assignments", items))
            return
        for item in items:
            _show(item)
        if not items:
            print("Nothing is injected.")


reset.__doc__ = f"Take the solution away again: every byte, mode and link as it was before.\n{EXAMPLES}"


def _reset(
    course: Course, name: str, *, keep: bool, save: Path | None, discard: bool, ask: bool, no_color: bool
) -> dict[str, Any]:
    from goldsmith.workspace import Kept, edited_since, give_up_edits, keep_edits, read_journal, save_edits
    from goldsmith.workspace import reset as take_away

    journal = read_journal(course, name)
    if journal is None:
        return {"name": name, "outcome": "unchanged", "files": [], "kept": []}
    edited = edited_since(course, journal)
    if edited and ask and not (keep or save or discard):
        keep, save, discard = _ask(course, journal, edited, no_color)
    kept = Kept([], {})
    if keep:
        kept = keep_edits(course, edited)
    elif save is not None:
        kept = save_edits(course, edited, save)
    elif discard:
        kept = give_up_edits(course, edited)
    take_away(course, name, release=kept.released)
    return {
        "name": name,
        "outcome": "reset",
        "files": [change.path for change in journal.changes],
        "kept": [str(course.relative(path)) for path in kept.paths],
    }


def _ask(course: Course, journal: Journal, edited: Sequence[Change], no_color: bool) -> tuple[bool, Path | None, bool]:
    """What was edited, shown as a difference, and what is to become of it."""
    from rich.console import Console

    from goldsmith.cli.questions import ask_about_edits
    from goldsmith.report import show_edits

    show_edits(Console(stderr=True, no_color=no_color or None), course, edited)
    answer = ask_about_edits(journal.assignment, len(edited))
    folder = Path(f"{journal.assignment}-edits")
    return answer == "keep", folder if answer == "save" else None, answer == "discard"


def _show(item: dict[str, Any]) -> None:
    if item["outcome"] == "unchanged":
        print(f"{item['name']} is not injected; nothing to do.")
        return
    for path in item["kept"]:
        print(f"  edits are in {path}")
    count = len(item["files"])
    print(f"{item['name']}: {count} file{'' if count == 1 else 's'} as before the injection, byte for byte (checked).")
