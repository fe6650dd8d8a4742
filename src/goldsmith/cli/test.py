"""`goldsmith test`: do the internal tests pass on the solution, and fail on the starter?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from click.exceptions import Exit

from goldsmith.cli.command import command, option
from goldsmith.cli.options import (
    Seconds,
    at_a_terminal,
    choose,
    course_options,
    make_progress,
    open_course,
    refuse_recipes,
    report_errors,
    several_assignments,
)
from goldsmith.cli.reports import Output, Wanted, asked_for, report_formats

if TYPE_CHECKING:
    from goldsmith.courses.internal_tests.verdict import InternalVerdict
    from goldsmith.courses.layout.layout import Assignment


@command
@several_assignments
@option(
    "-k", "select", metavar="EXPR", default="", help="Only tests that match, as with pytest's -k; no report is kept."
)
@option(
    "--timeout",
    metavar="SECONDS",
    type=Seconds(),
    help="Stop an assignment's tests after this much processor time.",
    show_default="600",
)
@report_formats("tests")
@course_options
def try_tests(
    assignments: tuple[str, ...],
    select: str,
    timeout: float | None,
    formats: tuple[Wanted, ...],
    course: Path,
    json: bool,
    no_color: bool,
    debug: bool,
) -> None:
    """Run the internal tests on the solution, where they must pass, and on the starter, where they must fail.

    Only tests marked `rigor` are run; a skipped test does not count as passed. Both sides run in private copies, in
    parallel. Text and JUnit XML are kept under `tests/internal/reports/`.

    Examples:

        goldsmith test scratch-1                one assignment
        goldsmith test all                      every assignment
        goldsmith test scratch-1 -k gradient    some of its tests

    Tests belong to the assignment that their file or folder is named after (`test_scratch_1.py`), or that their marker
    names, `@pytest.mark.gold("scratch-1")`, unless `tests` of `[assignment.scratch-1]` in goldsmith.toml names others.

    Exit codes: 0 passed, 1 failed on the solution or not on the starter, 2 bad usage, 3 could not run.
    """
    wanted = asked_for(formats, json=json)
    json = Wanted("json") in wanted
    verdicts: list[InternalVerdict] = []
    with report_errors("test", as_json=json, debug=debug, finished=verdicts) as report:
        output = Output(report, "tests", wanted, no_color)
        refuse_recipes("test", *assignments)
        found = open_course(course)
        ask = at_a_terminal() and not json
        chosen = choose(found, assignments, "test", ask=ask, no_color=no_color)

        from goldsmith.render.console import print_line
        from goldsmith.render.internal_tests import show_internals

        for number, assignment in enumerate(chosen):
            verdict = _tried(assignment, select, timeout or found.config.timeout, no_color)
            verdicts.append(verdict)
            if number and output.is_shown:
                print_line(output.console)
            output.show(verdict)
        output.finish(verdicts, ok=all(item.exit_code == 0 for item in verdicts))
        if len(verdicts) > 1 and output.is_shown:
            print_line(output.console)
            show_internals(output.console, verdicts)
    raise Exit(max(item.exit_code for item in verdicts))


def _tried(assignment: Assignment, select: str, timeout: float, no_color: bool) -> InternalVerdict:
    from goldsmith.courses.internal_tests.report_files import keep_reports
    from goldsmith.courses.internal_tests.verdict import try_internal_tests
    from goldsmith.render.internal_tests import internal_text

    with make_progress(no_color).of(assignment.name) as progress:
        tried = try_internal_tests(assignment, timeout=timeout, select=select, progress=progress)
    return keep_reports(tried, internal_text(tried)).verdict
