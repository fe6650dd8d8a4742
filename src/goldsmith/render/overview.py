"""Show what `goldsmith` sees in a folder, and two or three commands that make sense there."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from goldsmith._version import __version__
from goldsmith.courses.layout.layout import Course
from goldsmith.foundation.wording import count_of
from goldsmith.generate.status import AssignmentStatus
from goldsmith.render.console import print_line, print_table
from goldsmith.render.status import next_step, state_table

_ALL = ("goldsmith --help", "every command")


def show_course(console: Console, course: Course, items: Sequence[AssignmentStatus]) -> None:
    """Show how the gold of each assignment stands, and what to do by that."""
    _headline(console, f"the course in {course.root}, {count_of(len(items), 'assignment')}")
    if items:
        print_line(console)
        state_table(console, items, "assignment")
    step = next_step(items, course)
    injected = [item.name for item in items if item.outcome == "injected"]
    stale = [item.name for item in items if item.outcome == "stale"]
    fresh = [shlex.quote(item.name) for item in items if item.outcome == "fresh"]
    rows = []
    if step.startswith("goldsmith "):
        rows.append((step, _WHY.get(step.split()[1], "")))
    elif step:
        print_line(console)
        print_line(console, step)
    if injected:
        rows.append((f"goldsmith check {shlex.quote(injected[0])}", "does what is in place agree with the gold?"))
    elif stale:
        rows.append((f"goldsmith diff {shlex.quote(stale[0])}", "what that would change, tensor by tensor"))
    elif fresh:
        rows.append((f"goldsmith check {fresh[0]} PATH", "is this implementation right, and if not, where?"))
        rows.append((f"goldsmith rigor {fresh[0]}", "would the gold catch real mistakes?"))
    _next(console, rows)


def show_recipes(console: Console, items: Sequence[AssignmentStatus]) -> None:
    """Show how the gold of recipes by themselves stands."""
    _headline(console, f"{count_of(len(items), 'recipe')} with gold in this folder, and no course around it")
    print_line(console)
    state_table(console, items, "recipe")
    step = next_step(items, None)
    rows = [(step, _WHY["record"])] if step else []
    name = shlex.quote(items[0].name)
    _next(console, [*rows, (f"goldsmith check {name} --with PATH", "does another implementation agree with it?")])


def show_kit(console: Console) -> None:
    """Show what a kit for students is run by."""
    _headline(console, "a kit for students, with which they check their own work")
    _next(console, [("python3 check.py", "is the work next to it right?")])


def show_nothing(console: Console, folder: Path) -> None:
    """Show the ways to begin, in a folder that goldsmith knows nothing of."""
    _headline(console, f"no course and no gold in {folder}")
    rows = [
        ("goldsmith init", "set goldsmith up in this folder, your course"),
        ("goldsmith init --example my-course", "a course to try things on"),
        ("goldsmith parity REF TARGET", "does a port compute what the original does?"),
    ]
    _next(console, rows)


_WHY = {
    "reset": "take the solution out again",
    "generate": "make its gold",
    "record": "make its gold",
    "new": "an assignment to start from",
}


def _headline(console: Console, what: str) -> None:
    print_line(console, Text(f"goldsmith {__version__}: {what}.", "bold"))


def _next(console: Console, rows: Sequence[tuple[str, str]]) -> None:
    print_line(console)
    print_line(console, Text("Next:", "bold"))
    print_table(console, (), [(Text(f"  {command}", "cyan"), why) for command, why in (*rows, _ALL)])
