"""`goldsmith check`: replay one implementation against the gold."""

from __future__ import annotations

from pathlib import Path

from click.exceptions import Exit

from goldsmith.cli.command import argument, command, flag, option
from goldsmith.cli.options import (
    PATH,
    at_a_terminal,
    choose_one,
    course_options,
    one_assignment,
    open_course,
    replay_progress,
    report_errors,
)
from goldsmith.errors.usage import BadOption


@command
@one_assignment
@argument("submission", "PATH", "A folder, a file or a git revision; without, the tree as it stands.", required=False)
@option("--case", "cases", metavar="NAME", multiple=True, help="Only this case; may be given several times.")
@flag("--markdown", help="As a comment to a student, in Markdown, on standard output.")
@flag("--reveal", help="Show gold's values in the Markdown, too.")
@flag("--verbose", help="With --markdown: every case and part, not only what to look at first.")
@option("--adapter", metavar="FILE", type=PATH, help="Rules for this submission, not the course's.")
@option("--timeout", metavar="SECONDS", type=float, help="Stop a case after this much processor time.")
@option("--device", metavar="D", default="cpu", help="Where models run.")
@flag("--allow-stale", help="Check against gold that is stale.")
@course_options
def check(
    assignment: str | None,
    submission: str | None,
    cases: tuple[str, ...],
    markdown: bool,
    reveal: bool,
    verbose: bool,
    adapter: Path | None,
    timeout: float | None,
    device: str,
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

        goldsmith check scratch-1                            the tree as it stands
        goldsmith check scratch-1 submissions/ada            what somebody submitted
        goldsmith check scratch-1 origin/ada --markdown      a branch, as a comment for its author

    Exit codes: 0 agrees, 1 differs or a provided part was changed, 2 bad usage, 3 could not run, or
    goldsmith itself failed.
    """
    with report_errors("check", as_json=json, debug=debug, subjects="submissions") as report:
        if timeout is not None and not 0 < timeout < float("inf"):
            raise BadOption("--timeout", timeout, "a number of seconds above 0")
        ask = at_a_terminal() and not json
        chosen = choose_one(open_course(course), assignment, "check", ask=ask, no_color=no_color)

        from goldsmith.check.check import check as judge
        from goldsmith.check.request import Request
        from goldsmith.check.submissions import open_submission
        from goldsmith.generate.options import options_from

        config = chosen.course.config
        with open_submission(chosen, submission) as opened, replay_progress(no_color, chosen.name) as watcher:
            request = Request(
                options=options_from(config, device=device),
                each=timeout or config.case_timeout,
                cases=cases,
                adapter=adapter,
                allow_stale=allow_stale,
                watcher=watcher,
            )
            verdict = judge(chosen, opened, request)
        if json:
            report.print([verdict], ok=verdict.exit_code == 0)
        elif markdown:
            from goldsmith.grade.verdict_markdown import verdict_markdown

            print(verdict_markdown(verdict, reveal=reveal, verbose=verbose))
        else:
            from goldsmith.render.console import open_console
            from goldsmith.render.verdict import show_verdict

            show_verdict(open_console(no_color=no_color), verdict)
    raise Exit(verdict.exit_code)
