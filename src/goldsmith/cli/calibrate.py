"""`goldsmith calibrate`: measure how far correct work may be off in another setting than the gold's own."""

from __future__ import annotations

from pathlib import Path

import click

from goldsmith.cli.command import argument, command, flag, option
from goldsmith.cli.options import (
    at_a_terminal,
    choose_subject,
    course_options,
    make_progress,
    options_again,
    report_errors,
    setting_options,
)
from goldsmith.foundation.platforms import require


@command
@argument("assignment", "A", "The assignment, or a recipe file; omit it for a menu.", required=False)
@setting_options("Where the solution runs.")
@option("--threads", metavar="N", type=click.IntRange(1), help="Threads of the solution.", show_default="the course's")
@flag("--force", help="Measure again, even if the gold has this ruler.")
@flag("--no-wait", help="Exit instead of waiting if another goldsmith is running here.")
@course_options
def calibrate(
    assignment: str | None,
    device: str,
    dtype: str,
    tf32: bool,
    compiled: bool,
    threads: int | None,
    force: bool,
    no_wait: bool,
    course: Path,
    json: bool,
    no_color: bool,
    debug: bool,
) -> None:
    """Measure a ruler: how far correct work may be off on another device or in a dtype.

    The solution is replayed there on gold's inputs and weights, repeatedly and with disturbed rounding, and compared
    with its float64 reference. The ruler goes into the gold's manifest; no other file but the README changes. `check`
    and `grade` use it where they run in that setting.

    Examples:

        goldsmith calibrate scratch-1 --device cuda                     its own dtype, on a GPU
        goldsmith calibrate scratch-1 --device cuda --dtype bfloat16    in half precision
        goldsmith calibrate parity_cases.py --dtype bfloat16            a recipe by itself, on the CPU

    Exit codes: 0 measured, or there already; 2 bad usage; 3 could not, or nothing could be judged by it.
    """
    with report_errors("calibrate", as_json=json, debug=debug) as report:
        require("calibrate")
        ask = at_a_terminal() and not json
        chosen = choose_subject(course, assignment, "calibrate", ask=ask, no_color=no_color)

        import msgspec

        from goldsmith.courses.layout.resolve import resolve
        from goldsmith.generate.calibrate import calibrate_in
        from goldsmith.generate.options import options_of
        from goldsmith.runs.setting import setting_of
        from goldsmith.workspace.lock import project_lock

        target = resolve(chosen)
        setting = setting_of(device, dtype=dtype, tf32=tf32, compiled=compiled)
        more = {"threads": threads} if threads else {}
        options = options_of(target, device=device, **more)
        progress = make_progress(no_color)
        doing = f"goldsmith calibrate {target.name}"
        with project_lock(target.project, doing, wait=not no_wait, on_wait=progress.note):
            found = calibrate_in(target, setting, options, progress, force=force)
        found = msgspec.structs.replace(found, next=tuple(step + options_again("course") for step in found.next))
        if json:
            report.print([found])
        else:
            from goldsmith.render.console import open_console
            from goldsmith.render.rulers import show_ruler

            show_ruler(open_console(no_color=no_color), found)
