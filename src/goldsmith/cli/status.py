"""`goldsmith status`: per assignment, is its gold fresh, stale and why, or missing?"""

from __future__ import annotations

from pathlib import Path

from goldsmith.cli.options import CourseOption, DebugOption, JsonOption, NoColorOption, open_course, report_errors


def status(
    course: CourseOption = Path("."),
    json: JsonOption = False,
    no_color: NoColorOption = False,
    debug: DebugOption = False,
) -> None:
    """Show for every assignment whether its gold is fresh, stale (and why) or missing, or its solution injected.

    Compares hashes only: neither torch nor NumPy is imported, and nothing is run.
    """
    with report_errors("status", as_json=json, debug=debug) as report:
        from goldsmith.generate.status import course_status

        found = open_course(course)
        items = course_status(found)
        if json:
            report.print(items)
        else:
            from goldsmith.render.console import open_console
            from goldsmith.render.status import show_status

            show_status(open_console(no_color=no_color), items, found)
