"""`goldsmith reset`: everything as it was before `inject`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from goldsmith.cli.options import (
    CourseOption,
    DebugOption,
    JsonOption,
    NoColorOption,
    at_a_terminal,
    locked,
    open_course,
    report_errors,
)

if TYPE_CHECKING:
    from goldsmith.course.layout import Course

EXAMPLES = """
Files that were edited while they were injected are never thrown away silently: choose what becomes of them.

Examples:

    goldsmith reset                            whatever is injected; several: choose from a menu
    goldsmith reset scratch-1 --keep           edits become the solution
    goldsmith reset scratch-1 --save DIR       edits go into a folder
    goldsmith reset scratch-1 --discard        edits are given up

Exit codes: 0 reset (or nothing was injected), 1 edited files stand in the way, 2 bad usage, 3 could not.
"""


def reset(
    assignment: Annotated[
        str | None, typer.Argument(metavar="A", help="The assignment; without, a menu, or every injected one.")
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
    with report_errors("reset", as_json=json, debug=debug, finished=items):
        from goldsmith.errors.injection import OneWayOnly

        if keep + discard + (save is not None) > 1:
            raise OneWayOnly
        found = open_course(course, repair=False)
        ask = at_a_terminal() and not json
        names = _chosen(found, assignment, ask, no_color)
        told = _Told(keep, save, discard) if keep or save or discard else None
        with locked(found, f"reset {assignment or 'all'}"):
            for name, told_or_asked in [(name, told or _asked(found, name, ask, no_color)) for name in names]:
                items.append(_reset(found, name, told_or_asked))
        if json:
            from goldsmith.render.json_output import report

            print(report("reset", True, "assignments", items))
            return
        for item in items:
            _show(item)
        if not items:
            print("Nothing is injected.")


reset.__doc__ = f"Take the solution away again: every byte, mode and link as it was before.\n{EXAMPLES}"


@dataclass(frozen=True)
class _Told:
    """What is to become of edits; with none of these, they stand in the way."""

    keep: bool = False
    save: Path | None = None
    discard: bool = False


def _chosen(course: Course, assignment: str | None, ask: bool, no_color: bool) -> list[str]:
    """The one that is named, or whatever is injected; a person chooses among several."""
    from goldsmith.injection.journal import journals

    standing = list(journals(course))
    names = [item.assignment for item in standing]
    if assignment is not None:
        return [assignment] if assignment in names else [course.assignment(assignment).name]
    if len(names) < 2 or not ask:
        return names
    from goldsmith.cli.prompts import ask_injected

    return ask_injected(standing, no_color=no_color)


def _asked(course: Course, name: str, ask: bool, no_color: bool) -> _Told:
    """Edits shown as a difference, and what a person wants to become of them. Nothing is reset before all is asked."""
    from goldsmith.injection.inject import edited_since
    from goldsmith.injection.journal import read_journal

    journal = read_journal(course, name)
    edited = edited_since(course, journal) if journal is not None else []
    if not edited or not ask:
        return _Told()
    from rich.console import Console

    from goldsmith.cli.prompts import ask_about_edits
    from goldsmith.render.injected_edits import show_edits

    show_edits(Console(stderr=True, no_color=no_color or None), course, edited)
    answer = ask_about_edits(name, len(edited), no_color=no_color)
    folder = Path(f"{name}-edits") if answer == "save" else None
    return _Told(answer == "keep", folder, answer == "discard")


def _reset(course: Course, name: str, told: _Told) -> dict[str, Any]:
    from goldsmith.injection.edits import (
        Kept,
        discard_edits,
        keep_edits,
        save_edits,
    )
    from goldsmith.injection.inject import edited_since
    from goldsmith.injection.inject import reset as take_away
    from goldsmith.injection.journal import read_journal

    journal = read_journal(course, name)
    if journal is None:
        return {"name": name, "outcome": "unchanged", "files": [], "kept": []}
    edited = edited_since(course, journal)
    kept = Kept([], {})
    if told.keep:
        kept = keep_edits(course, edited)
    elif told.save is not None:
        kept = save_edits(course, edited, told.save)
    elif told.discard:
        kept = discard_edits(course, edited)
    take_away(course, name, release=kept.released)
    return {
        "name": name,
        "outcome": "reset",
        "files": [change.path for change in journal.changes],
        "kept": [str(course.relative(path)) for path in kept.paths],
    }


def _show(item: dict[str, Any]) -> None:
    if item["outcome"] == "unchanged":
        print(f"{item['name']} is not injected; nothing to do.")
        return
    for path in item["kept"]:
        print(f"  edits are in {path}")
    count = len(item["files"])
    print(f"{item['name']}: {count} file{'' if count == 1 else 's'} as before the injection, byte for byte (checked).")
