"""`goldsmith status`: per assignment, is its gold fresh, stale and why, or missing?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from goldsmith.cli.options import CourseOption, DebugOption, JsonOption, NoColorOption, open_course, report_errors

if TYPE_CHECKING:
    from rich.console import Console

    from goldsmith.course.layout import Assignment
    from goldsmith.generate.freshness import Freshness


def status(
    course: CourseOption = Path("."),
    json: JsonOption = False,
    no_color: NoColorOption = False,
    debug: DebugOption = False,
) -> None:
    """Say of every assignment whether its gold is fresh, stale and why, or missing, or its solution injected.

    Looks at hashes only: neither torch nor NumPy is imported, nothing is run.
    """
    with report_errors("status", as_json=json, debug=debug):
        from goldsmith.generate.freshness import survey

        found = open_course(course)
        known = {item.name: item for item in found.assignments()}
        items = [_item(name, state, known.get(name)) for name, state in survey(found).items()]
        if json:
            from goldsmith.render.json_output import report

            print(report("status", True, "assignments", items))
            return
        places = {name: found.relative(item.solution).as_posix() for name, item in known.items()}
        _show(items, places, no_color)
    raise typer.Exit(0)


def _item(name: str, state: Freshness, assignment: Assignment | None) -> dict[str, Any]:
    """`recipe` and `folder` are places in the course; what is no assignment any more has neither."""
    facts: dict[str, Any] = {"label": name, "description": "", "recipe": None, "folder": None}
    if assignment is not None:
        course = assignment.course
        facts = {
            "label": assignment.label,
            "description": assignment.description,
            "recipe": course.relative(assignment.recipe).as_posix() if assignment.recipe.is_file() else None,
            "folder": course.relative(assignment.gold).as_posix(),
        }
    found = {"name": name, "outcome": state.outcome, "reasons": list(state.reasons), "notes": list(state.notes)}
    return {**found, **facts}


def _show(items: list[dict[str, Any]], solutions: Mapping[str, str], no_color: bool) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from goldsmith.generate.freshness import NO_RECIPE, NO_SOLUTION

    colours = {"fresh": "green", "stale": "yellow", "missing": "red", "injected": "red"}
    console = Console(no_color=no_color or None)
    if not console.is_terminal:
        console.width = 240  # a log has no edge to wrap at
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for heading in ("assignment", "gold", "why"):
        table.add_column(heading)
    for item in items:
        reasons = item["reasons"]
        why = reasons[0] + (f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else "") if reasons else ""
        table.add_row(item["name"], Text(item["outcome"], style=colours[item["outcome"]]), why)
    console.print(table)
    for note in dict.fromkeys(note for item in items for note in item["notes"]):
        names = ", ".join(item["name"] for item in items if note in item["notes"])
        console.print(
            f"Note: {names}: {note}; `goldsmith verify --reproduce` says whether that matters.",
            style="yellow",
            highlight=False,
            soft_wrap=not console.is_terminal,
        )
    injected = [item["name"] for item in items if item["outcome"] == "injected"]
    bare = [item["name"] for item in items if item["reasons"] == [NO_RECIPE]]
    unsolved = [item["name"] for item in items if item["reasons"] == [NO_SOLUTION]]
    others = {*bare, *injected, *unsolved}
    todo = [item["name"] for item in items if item["outcome"] != "fresh" and item["name"] not in others]
    todo, kind = (todo, "") if todo else (bare, " --kind outputs")
    console.print()
    if not items:
        console.print("There are no assignments yet; make one with `goldsmith new NAME`.", highlight=False)
    elif injected:
        console.print(f"Next: goldsmith reset {injected[0]}", style="bold", highlight=False)
    elif todo:
        console.print(f"Next: goldsmith generate {' '.join(todo)}{kind}", style="bold", highlight=False)
    elif unsolved:
        _ask_for_solutions(console, unsolved, solutions)
    else:
        console.print("All gold is fresh.", style="bold green")


def _ask_for_solutions(console: Console, names: Sequence[str], places: Mapping[str, str]) -> None:
    many = f"{len(names)} assignments have" if len(names) > 1 else f"{names[0]} has"
    what = f"put <name>_solution.py for each <name>.py it replaces into {places[names[0]]}/"
    example = f", for {names[0]}" if len(names) > 1 else ""
    console.print(f"{many} no solution yet: {what}{example}.", highlight=False, soft_wrap=not console.is_terminal)
