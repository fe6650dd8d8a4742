"""`goldsmith init`: a course to start from, or what a course of your own still lacks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from goldsmith.cli.common import DebugOption, JsonOption, at_a_terminal, open_course, shown_errors

EXAMPLES = """
In a course that is there already, it adds scripts/dev_utils.py and a pre-commit hook that refuses commits while a
solution is in place or that would show one. It says what it would write, asks, and overwrites nothing.

With --example it copies out a course with three assignments (a transformer, a vision encoder, a policy), each with
starter, solution, recipe, tests and gold.

Examples:

    goldsmith init                       in your course
    goldsmith init --example my-course   a course to try things on
"""


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The course, or the folder to make.")] = Path("."),
    example: Annotated[bool, typer.Option("--example", help="Copy the bundled course into DIR.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Ask nothing.")] = False,
    json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    with shown_errors("init", as_json=json, debug=debug):
        if example:
            _copy(folder, json)
        else:
            _add(folder, yes, json)


init.__doc__ = f"Add to a course what it lacks, or copy the bundled one out.\n{EXAMPLES}"


def _copy(folder: Path, json: bool) -> None:
    from goldsmith.course import copy_example

    course = copy_example(folder)
    if json:
        from goldsmith.report import report

        names = [{"name": item.name, "outcome": "copied"} for item in course.assignments()]
        print(report("init", True, "assignments", names))
        return
    print(f"Copied the example course to {folder} (a git repository with one commit):")
    for assignment in course.assignments():
        print(f"  {assignment.label}  {assignment.description}")
    print(f"\nNext: cd {folder} && goldsmith generate all")


def _add(folder: Path, yes: bool, json: bool) -> None:
    from goldsmith.course import additions

    course = open_course(folder)
    items: list[dict[str, Any]] = []
    for addition in additions(course):
        name = str(course.relative(addition.path))
        outcome = {"missing": "left", "same": "unchanged", "other": "kept"}[addition.standing]
        if addition.standing == "missing" and (yes or _agrees(name, addition.why, json)):
            addition.write()
            outcome = "written"
        items.append({"name": name, "outcome": outcome, "why": addition.why})
    if json:
        from goldsmith.report import report

        print(report("init", True, "files", items))
        return
    said = {
        "written": "written",
        "unchanged": "there already",
        "kept": "kept as it is: it is not goldsmith's",
        "left": "not written; say --yes",
    }
    for item in items:
        print(f"  {item['name']}: {said[item['outcome']]} ({item['why']})")
    print("Next: goldsmith status")


def _agrees(name: str, why: str, json: bool) -> bool:
    if json or not at_a_terminal():
        return False
    from goldsmith.cli.questions import ask_to_write

    return ask_to_write(name, why)
