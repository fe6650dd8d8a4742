"""`goldsmith new`: an assignment to start from, complete and ready to generate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from goldsmith.cli.command import argument, command, flag, option
from goldsmith.cli.options import at_a_terminal, course_options, open_course, options_again, report_errors

if TYPE_CHECKING:
    from goldsmith.courses.scaffold.new_plan import Kind


@command
@argument("assignment", "A", "Its name, such as hw-1.")
@option(
    "--kind",
    type=click.Choice(["torch", "numpy", "jax", "notebook"]),
    help="What it uses.",
    show_default="torch where that is installed",
)
@flag("--dry-run", help="Show everything, write nothing.")
@flag("--yes", "-y", help="Do not ask any questions.")
@course_options
def new(
    assignment: str, kind: Kind | None, dry_run: bool, yes: bool, course: Path, json: bool, no_color: bool, debug: bool
) -> None:
    """Create an assignment to start from: starter, solution, recipe, tests, README.

    Writes a small exercise that works at once: starter, solution, recipe, tests that students run, tests for staff, and
    the students' README. Then make it your own. No existing file is overwritten.

    Examples:

        goldsmith new hw1                   choose between torch and NumPy
        goldsmith new hw1 --kind numpy
        goldsmith new hw1 --kind notebook   starter and solution are notebooks
        goldsmith generate hw1              then make its gold

    Exit codes: 0 created, 2 bad usage or a name that is taken, 3 could not be written.
    """
    with report_errors("new", as_json=json, debug=debug) as report:
        from goldsmith.courses.scaffold.changes import apply
        from goldsmith.courses.scaffold.new_plan import new_assignment
        from goldsmith.render.console import open_console
        from goldsmith.render.scaffold import NewAssignment, scaffold_files, show_new_assignment

        found = open_course(course)
        chosen = _kind(kind, ask=at_a_terminal() and not (yes or json or dry_run), no_color=no_color)
        plan = new_assignment(found, assignment, chosen)
        written = [] if dry_run else plan.pending
        apply(written)
        if json:
            files = scaffold_files(plan, written, differences=dry_run)
            outcome: Literal["made", "planned"] = "planned" if dry_run else "made"
            report.print([NewAssignment(name=assignment, outcome=outcome, kind=chosen, files=files)])
        else:
            console, options = open_console(no_color=no_color), options_again("course")
            show_new_assignment(console, plan, assignment, options, dry_run=dry_run)


def _kind(wanted: Kind | None, *, ask: bool, no_color: bool) -> Kind:
    from goldsmith.courses.scaffold.new_plan import usual_kind

    if wanted is not None:
        return wanted
    usual = usual_kind()
    if not ask:
        return usual
    from goldsmith.cli.prompts import ask_new_kind

    return ask_new_kind(usual, no_color=no_color)
