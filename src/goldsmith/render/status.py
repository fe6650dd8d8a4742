"""Show the state of every assignment's gold in a table, and the command to run next."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from goldsmith.courses.layout.layout import Course
from goldsmith.foundation.wording import and_more
from goldsmith.generate.freshness import NO_RECIPE, NO_SOLUTION
from goldsmith.generate.status import AssignmentStatus
from goldsmith.render.console import print_line, print_table

_COLOURS = {"fresh": "green", "stale": "yellow", "missing": "red", "injected": "red"}


def show_status(console: Console, items: Sequence[AssignmentStatus], course: Course | None, options: str = "") -> None:
    """Show a row for each assignment, notes that several share once, and what to do next, with
    the `options` that it needs, too."""
    state_table(console, items, "assignment" if course else "recipe")
    for note in dict.fromkeys(note for item in items for note in item.notes):
        names = ", ".join(item.name for item in items if note in item.notes)
        said = f"Note: {names}: {note}; `goldsmith verify --reproduce` says whether that matters."
        print_line(console, Text(said, "yellow"))
    print_line(console)
    step = next_step(items, course)
    if not items:
        print_line(console, f"There are no assignments yet; make one with `goldsmith new NAME{options}`.")
    elif step.startswith("goldsmith "):
        print_line(console, Text(f"Next: {step}{options}", "bold"))
    else:
        print_line(console, step or Text("All gold is fresh.", "bold green"))


def state_table(console: Console, items: Sequence[AssignmentStatus], what: str) -> None:
    """Show how each gold stands, and why it is not fresh."""
    rows = [
        (item.name, Text(item.outcome, _COLOURS[item.outcome]), "".join(item.reasons[:1]) + and_more(item.reasons))
        for item in items
    ]
    print_table(console, (what, "gold", "why"), rows)


def next_step(items: Sequence[AssignmentStatus], course: Course | None) -> str:
    """Return the command to run next, or a sentence where there is none; nothing if all gold is fresh."""
    injected = [item.name for item in items if item.outcome == "injected"]
    without_recipe = [item.name for item in items if item.reasons == (NO_RECIPE,)]
    without_solution = [item.name for item in items if item.reasons == (NO_SOLUTION,)]
    others = {*without_recipe, *injected, *without_solution}
    todo = [item.name for item in items if item.outcome != "fresh" and item.name not in others]
    todo, kind = (todo, "") if todo else (without_recipe, " --kind outputs")
    if not items:
        return "goldsmith new NAME"
    if injected:
        return f"goldsmith reset {injected[0]}"
    if todo:
        return f"goldsmith {'generate' if course else 'record'} {shlex.join(todo)}{kind}"
    return _ask_for_solutions(without_solution, course) if without_solution and course else ""


def _ask_for_solutions(names: Sequence[str], course: Course) -> str:
    folder = course.relative(course.assignment(names[0]).solution).as_posix()
    many = f"{len(names)} assignments have" if len(names) > 1 else f"{names[0]} has"
    what = f"put <name>_solution.py for each <name>.py it replaces into {folder}/"
    example = f", for {names[0]}" if len(names) > 1 else ""
    return f"{many} no solution yet: {what}{example}."
