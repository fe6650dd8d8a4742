"""`goldsmith init`: an example course, or what your own course still lacks."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goldsmith.cli.options import (
    DebugOption,
    JsonOption,
    JsonReport,
    NoColorOption,
    at_a_terminal,
    open_course,
    report_errors,
)

if TYPE_CHECKING:
    from goldsmith.render.scaffold import ScaffoldFile
    from goldsmith.scaffold.changes import Change, Plan
    from goldsmith.scaffold.layout_detection import Layout


class Part(StrEnum):
    settings = "settings"
    marker = "marker"
    gitignore = "gitignore"
    ci = "ci"
    hook = "hook"
    scripts = "scripts"
    skills = "skills"


class Extra(StrEnum):
    scripts = "scripts"
    skills = "skills"


EXAMPLES = """
Detects where assignments, solutions and tests are, says how it found them, and writes goldsmith.toml, the pytest
marker, lines of .gitignore, a CI workflow and a pre-commit hook; with --with also scripts/dev_utils.py and the skills
for coding agents. It shows every change first and asks once. Your files are never overwritten or moved, and a second
run changes nothing. Where the layout is unclear, it asks; without a terminal it stops and names the option that
decides.

With --example it copies a course with three assignments (a transformer, a vision encoder, a policy), each with
starter, solution, recipe, tests and gold.

Examples:

    goldsmith init                          in your course, or in an empty folder
    goldsmith init --dry-run                only show what it would do
    goldsmith init --yes --without ci       for a script
    goldsmith init --assignments .          assignments are at the root
    goldsmith init --one-assignment hw2     the whole repository is one assignment
    goldsmith init --with skills            also the skills for coding agents
    goldsmith init --example my-course      a course to try things on

Exit codes: 0 everything is there, 1 changes wait for your approval, 2 bad usage or configuration, 3 could not be
written.
"""


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The course, or the folder to make.")] = Path("."),
    example: Annotated[bool, typer.Option("--example", help="Copy the bundled course into DIR.")] = False,
    without: Annotated[
        list[Part] | None, typer.Option("--without", help="Leave this part out; may be given several times.")
    ] = None,
    with_parts: Annotated[
        list[Extra] | None, typer.Option("--with", help="Also add this part; may be given several times.")
    ] = None,
    assignments: Annotated[
        str, typer.Option(metavar="DIR", help="The folder of assignments; `.` is the root.", show_default="found")
    ] = "",
    solutions: Annotated[str, typer.Option(metavar="DIR", help="The folder of solutions.", show_default="found")] = "",
    internal_tests: Annotated[
        str, typer.Option(metavar="DIR", help="The folder of tests for staff.", show_default="found")
    ] = "",
    one_assignment: Annotated[
        str,
        typer.Option(metavar="A", help="The whole repository is one assignment, of this name.", show_default="found"),
    ] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show everything, write nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask any questions.")] = False,
    json: JsonOption = False,
    no_color: NoColorOption = False,
    debug: DebugOption = False,
) -> None:
    files: list[ScaffoldFile] = []
    with report_errors("init", as_json=json, debug=debug, finished=files, subjects="files") as report:
        from goldsmith.errors.scaffold import ExampleIsWhole

        if example and (dry_run or without):
            raise ExampleIsWhole("--dry-run" if dry_run else "--without")
        if example:
            _copy(folder, json)
            return
        folders = {"assignments": assignments, "solutions": solutions, "internal-tests": internal_tests}
        said = {key: value.rstrip("/") or value for key, value in folders.items() if value}
        layout = _layout(folder, said, one_assignment, ask=at_a_terminal() and not (yes or json), no_color=no_color)
        parts = [part.value for part in without or []], [part.value for part in with_parts or []]
        ask = at_a_terminal() and not (yes or json or dry_run)
        _add(folder, layout, parts, files, report, ask, yes, dry_run, json, no_color)


init.__doc__ = f"Set goldsmith up in a course, or copy the bundled example course.\n{EXAMPLES}"


def _copy(folder: Path, json: bool) -> None:
    from goldsmith.course.example import copy_example

    course = copy_example(folder)
    if json:
        from goldsmith.render.scaffold import ExampleAssignment

        JsonReport("init", "assignments").print([ExampleAssignment(name=item.name) for item in course.assignments()])
    else:
        from goldsmith.render.scaffold import show_example

        show_example(course, folder)


def _layout(folder: Path, said: dict[str, str], whole: str, *, ask: bool, no_color: bool) -> Layout | None:
    """Detect where things are, and ask where that is unclear; return None where the settings say so."""
    from goldsmith.errors.scaffold import LayoutUnclear
    from goldsmith.render.scaffold import doubt_problem
    from goldsmith.scaffold.init_plan import course_at, detected
    from goldsmith.scaffold.new_plan import check_name

    if whole:
        check_name(whole)
    layout = detected(course_at(folder), said, whole)
    if layout is None:
        return None
    if ask:
        return _settle(layout, no_color)
    for doubt in layout.doubts:
        if not doubt.may_wait:
            raise LayoutUnclear(*doubt_problem(doubt))
    return layout


def _add(
    folder: Path,
    layout: Layout | None,
    parts: tuple[list[str], list[str]],
    files: list[ScaffoldFile],
    report: JsonReport,
    ask: bool,
    yes: bool,
    dry_run: bool,
    json: bool,
    no_color: bool,
) -> None:
    from goldsmith.errors.scaffold import NotAgreed
    from goldsmith.render.console import open_console
    from goldsmith.render.scaffold import describe_layout, scaffold_files, show_init_end, show_layout, show_plan
    from goldsmith.scaffold.changes import apply
    from goldsmith.scaffold.init_plan import course_at, course_of, plan_course

    root = course_at(folder)
    if layout is None:
        open_course(root)
    plan = plan_course(root, layout, *parts)
    described = describe_layout(plan, course_of(root, layout), layout)
    console = open_console(no_color=no_color)
    if not json:
        show_layout(console, described)
        show_plan(console, plan, differences=not yes or dry_run, full=dry_run)
    files += scaffold_files(plan)
    chosen = plan.pending if yes and not dry_run else _chosen(plan, no_color) if ask and plan.pending else []
    apply(chosen)
    if plan.pending and not chosen and not dry_run:
        raise NotAgreed(len(plan.pending))
    if json:
        report.print(scaffold_files(plan, chosen), more=described)
    else:
        show_init_end(console, plan, chosen, dry_run=dry_run)


def _settle(layout: Layout, no_color: bool) -> Layout:
    """Ask about each doubt."""
    from goldsmith.cli.prompts import ask_about_layout

    for doubt in layout.doubts:
        layout = layout.settled(doubt, ask_about_layout(doubt, no_color=no_color))
    return layout


def _chosen(plan: Plan, no_color: bool) -> list[Change]:
    from goldsmith.cli.prompts import ask_what_to_write

    return ask_what_to_write(plan, no_color=no_color)
