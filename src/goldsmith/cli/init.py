"""`goldsmith init`: a course to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from goldsmith.cli.common import DebugOption, JsonOption, shown_errors


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder to make; must be new or empty.")],
    example: Annotated[bool, typer.Option("--example", help="Copy the bundled course into it.")] = False,
    json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Copy the bundled example course out, as a git repository of its own.

    It has three assignments (a transformer, a vision encoder, a policy), each with starter, solution,
    recipe, tests and gold:

        goldsmith init --example my-course
        cd my-course && goldsmith generate all
    """
    with shown_errors("init", as_json=json, debug=debug):
        if not example:
            print(
                "goldsmith init: say --example to copy the bundled course; a course of your own needs only the "
                "folders src/assignments/<name>/ and private/solutions/<name>/.",
            )
            raise typer.Exit(2)
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
