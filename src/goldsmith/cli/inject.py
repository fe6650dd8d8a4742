"""`goldsmith inject`: the solution in the starter's place, with a journal."""

from __future__ import annotations

from pathlib import Path

from goldsmith.cli.command import argument, command
from goldsmith.cli.options import (
    at_a_terminal,
    choose_one,
    course_options,
    locked,
    open_course,
    refuse_recipes,
    report_errors,
)


@command
@argument("assignment", "A", "The assignment; omit it for a menu.", required=False)
@course_options
def inject(assignment: str | None, course: Path, json: bool, no_color: bool, debug: bool) -> None:
    """Put the solution's files in the place of the starter's.

    Nothing is lost: what was there before, even uncommitted edits, is kept and restored by `goldsmith reset`.

    Examples:

        goldsmith inject              choose from a menu
        goldsmith inject scratch-1    then `goldsmith reset scratch-1` takes it out again

    Exit codes: 0 injected (now or already), 2 bad usage, 3 could not: then everything is as it was.
    """
    with report_errors("inject", as_json=json, debug=debug) as report:
        from goldsmith.courses.injection.results import inject_assignment

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
