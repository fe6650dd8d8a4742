"""`goldsmith check`: replay one implementation against the gold."""

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
    choose_subject,
    replay_progress,
    report_errors,
)
from goldsmith.errors.usage import BadOption


def check(
    assignment: Annotated[
        str | None, typer.Argument(metavar="A", help="The assignment, or a recipe file; omit it for a menu.")
    ] = None,
    submission: Annotated[
        str | None,
        typer.Argument(metavar="PATH", help="A folder, a file or a git revision; omit it for the working tree."),
    ] = None,
    implementation: Annotated[
        str | None,
        typer.Option(
            "--with",
            metavar="[NAME=]WHERE",
            help="The same as PATH; for a recipe file also a module, and NAME, the module that it takes the place of.",
        ),
    ] = None,
    cases: Annotated[
        list[str] | None, typer.Option("--case", metavar="NAME", help="Only this case; may be given several times.")
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a comment for the student, in Markdown.")] = False,
    reveal: Annotated[bool, typer.Option("--reveal", help="Also show gold's values in the Markdown.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="With --markdown: every case and part, not only what to look at first.")
    ] = False,
    adapter: Annotated[
        Path | None, typer.Option("--adapter", metavar="FILE", help="An adapter to use instead of the course's.")
    ] = None,
    timeout: Annotated[
        float | None, typer.Option("--timeout", metavar="SECONDS", help="Stop a case after this much processor time.")
    ] = None,
    device: Annotated[str, typer.Option("--device", metavar="D", help="Where models run.")] = "cpu",
    allow_stale: Annotated[bool, typer.Option("--allow-stale", help="Check against gold that is stale.")] = False,
    course: CourseOption = Path("."),
    json: JsonOption = False,
    no_color: NoColorOption = False,
    debug: DebugOption = False,
) -> None:
    """Replay the recipe on another implementation and say what is wrong with it.

    It is given the gold's inputs and weights. The answer names the part, whether it is the source or a victim, how far
    off it is, where, and what that looks like. It runs in a private copy, in a process of its own that never sees the
    gold's outputs; nothing is written.

    Examples:

        goldsmith check scratch-1                            the working tree
        goldsmith check scratch-1 submissions/ada            a student's submission
        goldsmith check scratch-1 origin/ada --markdown      a branch, as a comment for its author
        goldsmith check parity_cases.py                      without a course: what the recipe imports, as it stands
        goldsmith check parity_cases.py --with new_package   another implementation in its place
        goldsmith check parity_cases.py --with HEAD~3        the repository as it was

    Exit codes: 0 agrees, 1 differs or a provided part was changed, 2 bad usage, 3 could not run, or
    goldsmith itself failed.
    """
    with report_errors("check", as_json=json, debug=debug, subjects="submissions") as report:
        if timeout is not None and not 0 < timeout < float("inf"):
            raise BadOption("--timeout", timeout, "a number of seconds above 0")
        ask = at_a_terminal() and not json
        if implementation and submission:
            raise BadOption("--with", implementation, "either PATH or --with")
        chosen = choose_subject(course, assignment, "check", ask=ask, no_color=no_color)

        from goldsmith.check.check import check as judge
        from goldsmith.check.implementations import open_to_check
        from goldsmith.check.request import Request
        from goldsmith.generate.options import options_from

        config, what = chosen.project.config, submission or implementation
        with open_to_check(chosen, what) as (subject, opened), replay_progress(no_color, chosen.name) as watcher:
            request = Request(
                options=options_from(config, device=device),
                case_timeout=timeout or config.case_timeout,
                cases=tuple(cases or ()),
                adapter=adapter,
                allow_stale=allow_stale,
                watcher=watcher,
            )
            verdict = judge(subject, opened, request)
        if json:
            report.print([verdict], ok=verdict.exit_code == 0)
        elif markdown:
            from goldsmith.grade.verdict_markdown import verdict_markdown

            print(verdict_markdown(verdict, reveal=reveal, verbose=verbose))
        else:
            from goldsmith.render.console import open_console
            from goldsmith.render.verdict import show_verdict

            show_verdict(open_console(no_color=no_color), verdict)
    raise typer.Exit(verdict.exit_code)
