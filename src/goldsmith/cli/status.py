"""`goldsmith status`: per assignment, is its gold fresh, stale and why, or missing?"""

from __future__ import annotations

from pathlib import Path

from goldsmith.cli.command import command
from goldsmith.cli.options import course_options, open_course, report_errors


@command
@course_options
def status(course: Path, json: bool, no_color: bool, debug: bool) -> None:
    """Say of every assignment whether its gold is fresh, stale and why, or missing, or its solution injected.

    Looks at hashes only: neither torch nor NumPy is imported, nothing is run.
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
