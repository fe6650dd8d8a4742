"""`goldsmith status`: per assignment, is its gold fresh, stale and why, or missing?"""

from __future__ import annotations

from pathlib import Path

from click.exceptions import Exit

from goldsmith.cli.command import argument, command, flag
from goldsmith.cli.options import choose_subjects, course_options, open_course, options_again, report_errors
from goldsmith.cli.reports import Output, Wanted, asked_for, report_formats
from goldsmith.errors.base import AGAINST


@command
@argument("recipes", "A… | RECIPE…", "Names of assignments, or recipe files; omit them for the course.", nargs=-1)
@flag("--check", help="Exit with 1 unless all gold is fresh and nothing is injected.")
@report_formats("status")
@course_options
def status(
    recipes: tuple[str, ...],
    check: bool,
    formats: tuple[Wanted, ...],
    course: Path,
    json: bool,
    no_color: bool,
    debug: bool,
) -> None:
    """Show which gold is fresh, stale (and why) or missing, and whose solution is injected.

    Compares hashes only: neither torch nor NumPy is imported, and nothing is run.

    Examples:

        goldsmith status                     every assignment of the course
        goldsmith status parity_cases.py     the gold of a recipe by itself

    Exit codes: 0 whatever it finds; with --check, 1 unless all gold is fresh.
    """
    wanted = asked_for(formats, json=json)
    with report_errors("status", as_json=Wanted("json") in wanted, debug=debug) as report:
        from goldsmith.courses.layout.resolve import resolve
        from goldsmith.courses.status import course_status
        from goldsmith.generate.status import target_status
        from goldsmith.targets.target import is_recipe_file

        found = None if any(is_recipe_file(name) for name in recipes) else open_course(course)
        if recipes:
            chosen = choose_subjects(course, recipes, "status", ask=False)
            items = [target_status(resolve(item)) for item in chosen]
        else:
            items = course_status(found or open_course(course))
        current = not check or all(item.outcome == "fresh" for item in items)
        output = Output(report, "status", wanted, no_color, {"course": found, "options": options_again("course")})
        output.show(items)
        output.finish(items, [items], ok=current)
    if not current:
        raise Exit(AGAINST)
