"""`goldsmith inject`: the solution in the starter's place, with a journal."""

from __future__ import annotations

from pathlib import Path

from goldsmith.cli.command import command
from goldsmith.cli.options import (
    at_a_terminal,
    choose_one,
    course_options,
    locked,
    one_assignment,
    open_course,
    report_errors,
)


@command
@one_assignment
@course_options
def inject(assignment: str | None, course: Path, json: bool, no_color: bool, debug: bool) -> None:
    """Put the solution's files over the starter's, in place.

    Nothing is lost: what was there before, uncommitted edits too, is kept and comes back with `goldsmith reset`.

    Examples:

        goldsmith inject              choose from a menu
        goldsmith inject scratch-1    then `goldsmith reset scratch-1` takes it away again

    Exit codes: 0 injected (now or already), 2 bad usage, 3 could not: then everything is as it was.
    """
    with report_errors("inject", as_json=json, debug=debug) as report:
        from goldsmith.injection.results import inject_assignment

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
