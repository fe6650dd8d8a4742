"""Show the state of every assignment's gold in a table, and the command to run next."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from goldsmith.courses.layout.layout import Course
from goldsmith.foundation.wording import and_more
from goldsmith.generate.freshness import NO_RECIPE, NO_SOLUTION
from goldsmith.generate.status import AssignmentStatus
from goldsmith.render.console import LOG_WIDTH

_COLOURS = {"fresh": "green", "stale": "yellow", "missing": "red", "injected": "red"}


def show_status(console: Console, items: Sequence[AssignmentStatus], course: Course | None) -> None:
    """Show a row for each assignment, notes that several share once, and what to do next."""
    if not console.is_terminal:
        console.width = LOG_WIDTH
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for heading in ("assignment" if course else "recipe", "gold", "why"):
        table.add_column(heading)
    for item in items:
        more = and_more(item.reasons)
        why = f"{item.reasons[0]}{more}" if item.reasons else ""
        table.add_row(item.name, Text(item.outcome, style=_COLOURS[item.outcome]), why)
    console.print(table)
    for note in dict.fromkeys(note for item in items for note in item.notes):
        names = ", ".join(item.name for item in items if note in item.notes)
        console.print(
            f"Note: {names}: {note}; `goldsmith verify --reproduce` says whether that matters.",
            style="yellow",
            highlight=False,
            soft_wrap=not console.is_terminal,
        )
    console.print()
    _show_next(console, items, course)


def _show_next(console: Console, items: Sequence[AssignmentStatus], course: Course | None) -> None:
    injected = [item.name for item in items if item.outcome == "injected"]
    without_recipe = [item.name for item in items if item.reasons == (NO_RECIPE,)]
    without_solution = [item.name for item in items if item.reasons == (NO_SOLUTION,)]
    others = {*without_recipe, *injected, *without_solution}
    todo = [item.name for item in items if item.outcome != "fresh" and item.name not in others]
    todo, kind = (todo, "") if todo else (without_recipe, " --kind outputs")
    if not items:
        console.print("There are no assignments yet; make one with `goldsmith new NAME`.", highlight=False)
    elif injected:
        console.print(f"Next: goldsmith reset {injected[0]}", style="bold", highlight=False)
    elif todo:
        command = "generate" if course else "record"
        console.print(f"Next: goldsmith {command} {shlex.join(todo)}{kind}", style="bold", highlight=False)
    elif without_solution and course:
        _ask_for_solutions(console, without_solution, course)
    else:
        console.print("All gold is fresh.", style="bold green")


def _ask_for_solutions(console: Console, names: Sequence[str], course: Course) -> None:
    folder = course.relative(course.assignment(names[0]).solution).as_posix()
    many = f"{len(names)} assignments have" if len(names) > 1 else f"{names[0]} has"
    what = f"put <name>_solution.py for each <name>.py it replaces into {folder}/"
    example = f", for {names[0]}" if len(names) > 1 else ""
    console.print(f"{many} no solution yet: {what}{example}.", highlight=False, soft_wrap=not console.is_terminal)
