"""`goldsmith check`: replay one implementation against the gold."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from click.exceptions import Exit

from goldsmith.cli.command import argument, command, flag, option
from goldsmith.cli.options import (
    PATH,
    at_a_terminal,
    check_limits,
    choose_subject,
    course_options,
    make_progress,
    options_again,
    report_errors,
    setting_options,
)
from goldsmith.cli.reports import Output, Wanted, asked_for, report_formats
from goldsmith.errors.usage import BadOption

if TYPE_CHECKING:
    from goldsmith.courses.layout.layout import Assignment
    from goldsmith.targets.target import Submission, Target

_SAME = ("course", "device", "dtype", "tf32", "compiled", "adapter", "timeout", "allow_stale")
"""Options that a check of a single case needs, too, to find the same."""


@command
@argument("assignment", "A", "The assignment, or a recipe file; omit it for a menu.", required=False)
@argument("submission", "PATH", "A folder, a file or a git revision; omit it for the working tree.", required=False)
@option(
    "--with",
    "implementation",
    metavar="[NAME=]WHERE",
    help="The same as PATH; for a recipe file also a module, and NAME, the module that it takes the place of.",
)
@option("--case", "cases", metavar="NAME", multiple=True, help="Only this case; may be given several times.")
@flag("--markdown", help="Print a comment for the student, in Markdown.")
@flag("--reveal", help="Also show gold's values in the Markdown.")
@flag("--verbose", help="Every case and part, not only what is wrong and what to look at.")
@option("--html", "page", metavar="FILE", type=PATH, help="Also write a page to look at: curves, trees, tensors.")
@report_formats("verdict")
@option("--adapter", metavar="FILE", type=PATH, help="An adapter to use instead of the course's.")
@option("--timeout", metavar="SECONDS", type=float, help="Stop a case after this much processor time.")
@setting_options("Where models run.", "Run what agrees once more, compiled with torch.compile.")
@flag("--allow-stale", help="Check against gold that is stale.")
@course_options
def check(
    assignment: str | None,
    submission: str | None,
    implementation: str | None,
    cases: tuple[str, ...],
    markdown: bool,
    reveal: bool,
    verbose: bool,
    page: Path | None,
    formats: tuple[Wanted, ...],
    adapter: Path | None,
    timeout: float | None,
    device: str,
    dtype: str,
    tf32: bool,
    compiled: bool,
    allow_stale: bool,
    course: Path,
    json: bool,
    no_color: bool,
    debug: bool,
) -> None:
    """Replay the recipe on another implementation and say what is wrong with it.

    It is given the gold's inputs and weights. The answer names the part, whether it is the source or a victim, how far
    off it is, where, and what that looks like. It runs in a private copy, in a process of its own that never sees the
    gold's outputs; nothing is written.

    Examples:

        goldsmith check scratch-1                            the working tree
        goldsmith check scratch-1 submissions/ada            a student's submission
        goldsmith check scratch-1 origin/ada --markdown      a branch, as a comment for its author
        goldsmith check scratch-1 --html check.html          where it goes wrong, as a picture
        goldsmith check parity_cases.py                      without a course: what the recipe imports, as it stands
        goldsmith check parity_cases.py --with new_package   another implementation in its place
        goldsmith check parity_cases.py --with HEAD~3        the repository as it was

    Exit codes: 0 agrees, 1 differs or a provided part was changed, 2 bad usage, 3 could not run,
    inconclusive, or goldsmith itself failed.
    """
    wanted = asked_for(formats, json=json, markdown=markdown, page=page)
    json = Wanted("json") in wanted
    with report_errors("check", as_json=json, debug=debug, subjects="submissions") as report:
        check_limits(timeout)
        ask = at_a_terminal() and not json
        if implementation and submission:
            raise BadOption("--with", implementation, "either PATH or --with")
        output = Output(report, "verdict", wanted, no_color)
        chosen = choose_subject(course, assignment, "check", ask=ask, no_color=no_color)

        from goldsmith.check.check import check as judge
        from goldsmith.check.compiled_cases import COMPILING_TIMEOUT_S
        from goldsmith.check.request import Request
        from goldsmith.judge.evidence import Evidence
        from goldsmith.runs.setting import setting_of

        evidence = Evidence() if output.wants("html") else None
        what, steps = submission or implementation, make_progress(no_color).of(chosen.name)
        with _opened(chosen, what) as (target, opened), steps as progress:
            request = Request(
                cases=cases,
                adapter=adapter,
                allow_stale=allow_stale,
                watcher=progress.watcher,
                evidence=evidence,
                setting=setting_of(device, dtype=dtype, tf32=tf32),
                compiled=compiled,
            )
            more = COMPILING_TIMEOUT_S if compiled else 0.0
            target = dataclasses.replace(target, device=device, case_timeout=(timeout or target.case_timeout) + more)
            verdict = judge(target, opened, request)
        output.settings |= {"reveal": reveal, "verbose": verbose, "evidence": evidence, "gold": target.gold}
        output.settings["options"] = options_again(*_SAME)
        output.show(verdict)
        output.finish([verdict], ok=verdict.exit_code == 0)
    raise Exit(verdict.exit_code)


@contextlib.contextmanager
def _opened(chosen: Assignment | Target, what: str | None) -> Iterator[tuple[Target, Submission]]:
    """Resolve whose gold it is, and open what is to be checked against it: by default the tree as it stands, or what
    the recipe imports."""
    from goldsmith.check.implementations import open_to_check
    from goldsmith.courses.layout.resolve import resolve
    from goldsmith.courses.submissions.open_submission import open_submission
    from goldsmith.targets.target import Target

    if isinstance(chosen, Target):
        with open_to_check(chosen, what) as opened:
            yield opened
    else:
        target = resolve(chosen)
        with open_submission(chosen, what) as submission:
            yield target, submission
