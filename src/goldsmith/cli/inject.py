"""`goldsmith inject`: the solution in the starter's place, with a journal."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from goldsmith.cli.options import (
    CourseOption,
    DebugOption,
    JsonOption,
    NoColorOption,
    at_a_terminal,
    choose_one,
    locked,
    open_course,
    refuse_recipes,
    report_errors,
)

EXAMPLES = """
Nothing is lost: what was there before, even uncommitted edits, is kept and restored by `goldsmith reset`.

Examples:

    goldsmith inject              choose from a menu
    goldsmith inject scratch-1    then `goldsmith reset scratch-1` takes it out again

Exit codes: 0 injected (now or already), 2 bad usage, 3 could not: then everything is as it was.
"""


def inject(
    assignment: Annotated[str | None, typer.Argument(metavar="A", help="The assignment; omit it for a menu.")] = None,
    course: CourseOption = Path("."),
    json: JsonOption = False,
    no_color: NoColorOption = False,
    debug: DebugOption = False,
) -> None:
    with report_errors("inject", as_json=json, debug=debug) as report:
        from goldsmith.injection.results import inject_assignment

        refuse_recipes("inject", assignment)
        found = open_course(course)
        ask = at_a_terminal() and not json
        chosen = choose_one(found, assignment, "inject", ask=ask, no_color=no_color)
        with locked(found, f"inject {chosen.name}"):
            done = inject_assignment(chosen)
        if json:
            report.print([done])
        else:
            from goldsmith.render.injection import show_injection

            show_injection(done)


inject.__doc__ = f"Put the solution's files in the place of the starter's.\n{EXAMPLES}"
