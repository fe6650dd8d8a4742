"""`goldsmith guard`: is any solution visible in what students get?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from click.exceptions import Exit

from goldsmith.cli.command import argument, command, flag, option
from goldsmith.cli.options import PATH, course_options, open_course, report_errors
from goldsmith.cli.reports import Output, Wanted, asked_for, report_formats
from goldsmith.errors.base import AGAINST
from goldsmith.foundation.log_injection import say

if TYPE_CHECKING:
    from goldsmith.courses.guard.leaks import Finding


@command
@argument("path", "PATH", "A folder or file that students get.", type=PATH, required=False)
@option("--ref", metavar="REV", help="A git revision with its history.")
@flag("--staged", help="Only what is staged for the next commit.")
@report_formats("leaks")
@course_options
def guard(
    path: Path | None,
    ref: str | None,
    staged: bool,
    formats: tuple[Wanted, ...],
    course: Path,
    json: bool,
    no_color: bool,
    debug: bool,
) -> None:
    """Say whether any solution is visible in what students get.

    Compares function by function, even if files, functions and variables were renamed; looks into notebooks, Markdown
    and commented-out code; finds solution markers, gold, private folders, and secrets.

    Examples:

        goldsmith guard                  the course, without private folders
        goldsmith guard ../handout       a folder or archive for students
        goldsmith guard --ref release    a branch, with its history
        goldsmith guard --staged         what the next commit would add

    Exit codes: 0 nothing found, 1 something was, 2 bad usage, 3 it could not know what to look for.
    """
    wanted = asked_for(formats, json=json)
    findings: list[Finding] = []
    with report_errors("guard", as_json=Wanted("json") in wanted, debug=debug, subjects="findings") as report:
        from goldsmith.courses.guard.public_files import public_at, public_files, public_in, staged_files
        from goldsmith.courses.guard.scan import guarded_by, injected_findings, sweep
        from goldsmith.errors.course import OneTargetOnly, Unreadable
        from goldsmith.render.guard import GuardSummary, leaks_from

        output = Output(report, "leaks", wanted, no_color)
        if (path is not None) + (ref is not None) + staged > 1:
            raise OneTargetOnly
        if path is not None and not path.exists():
            raise Unreadable(path, "there is no such file or folder")
        found = open_course(course)
        guarded = guarded_by(found, everything_public=path is not None or ref is not None)
        if path is not None:
            files = public_in(path)
        elif ref is not None:
            files = public_at(found, ref)
        else:
            findings += injected_findings(found)
            files = staged_files(found) if staged else public_files(found)
        swept = sweep(found, files, guarded, nothing_is_fine=staged)
        findings += swept.findings
        for text in guarded.blind:
            say(f"goldsmith guard: note that {text}, so none of it was looked for.", stderr=True)
        for folder in guarded.handed_in:
            text = f"{folder}/ is taken for submissions, so nothing in it was looked at"
            say(f"goldsmith guard: note that {text}.", stderr=True)
        what = str(path) if path is not None else ref or ("what is staged" if staged else "this course")
        leaks = leaks_from(findings)
        output.settings |= {"unseen": swept.unseen, "where": what, "parts_sought": len(guarded.secrets)}
        output.show(leaks)
        output.finish(leaks, [leaks], ok=not leaks, more=GuardSummary(not_looked_into=tuple(swept.unseen)))
    raise Exit(AGAINST if findings else 0)
