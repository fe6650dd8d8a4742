"""`goldsmith init`: an example course, or what your own course still lacks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from goldsmith.cli.command import argument, command, flag, option
from goldsmith.cli.options import PATH, JsonReport, at_a_terminal, open_course, output_options, report_errors

if TYPE_CHECKING:
    from goldsmith.courses.scaffold.changes import Change, Plan
    from goldsmith.courses.scaffold.layout_detection import Layout
    from goldsmith.render.scaffold import ScaffoldFile


_EXTRAS = ("scripts", "skills")
_PARTS = ("settings", "marker", "gitignore", "ci", "hook", *_EXTRAS)


@command
@argument("folder", "DIR", "The course, or the folder to make.", type=PATH, default=".")
@flag("--example", help="Copy the bundled course into DIR.")
@option("--without", type=click.Choice(_PARTS), multiple=True, help="Leave this part out; may be given several times.")
@option(
    "--with",
    "with_parts",
    type=click.Choice(_EXTRAS),
    multiple=True,
    help="Also add this part; may be given several times.",
)
@option(
    "--assignments", metavar="DIR", default="", help="The folder of assignments; `.` is the root.", show_default="found"
)
@option("--solutions", metavar="DIR", default="", help="The folder of solutions.", show_default="found")
@option("--internal-tests", metavar="DIR", default="", help="The folder of tests for staff.", show_default="found")
@option(
    "--one-assignment",
    metavar="A",
    default="",
    help="The whole repository is one assignment, of this name.",
    show_default="found",
)
@flag("--dry-run", help="Show everything, write nothing.")
@flag("--yes", "-y", help="Do not ask any questions.")
@output_options
def init(
    folder: Path,
    example: bool,
    without: tuple[str, ...],
    with_parts: tuple[str, ...],
    assignments: str,
    solutions: str,
    internal_tests: str,
    one_assignment: str,
    dry_run: bool,
    yes: bool,
    json: bool,
    no_color: bool,
    debug: bool,
) -> None:
    """Set goldsmith up in a course, or copy the bundled example course.

    Detects where assignments, solutions and tests are, says how it found them, and writes goldsmith.toml, the pytest
    marker, lines of .gitignore, a CI workflow and a pre-commit hook; with --with also scripts/dev_utils.py and the
    skills for coding agents. It shows every change first and asks once. Your files are never overwritten or moved, and
    a second run changes nothing. Where the layout is unclear, it asks; without a terminal it stops and names the option
    that decides.

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
        parts = list(without), list(with_parts)
        ask = at_a_terminal() and not (yes or json or dry_run)
        _add(folder, layout, parts, files, report, ask, yes, dry_run, json, no_color)


def _copy(folder: Path, json: bool) -> None:
    from goldsmith.courses.layout.example import copy_example

    course = copy_example(folder)
    if json:
        from goldsmith.render.scaffold import ExampleAssignment

        JsonReport("init", "assignments").print([ExampleAssignment(name=item.name) for item in course.assignments()])
    else:
        from goldsmith.render.scaffold import show_example

        show_example(course, folder)


def _layout(folder: Path, said: dict[str, str], whole: str, *, ask: bool, no_color: bool) -> Layout | None:
    """Detect where things are, and ask where that is unclear; return None where the settings say so."""
    from goldsmith.courses.scaffold.init_plan import course_at, detected
    from goldsmith.courses.scaffold.new_plan import check_name
    from goldsmith.errors.scaffold import LayoutUnclear
    from goldsmith.render.scaffold import doubt_problem

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
    from goldsmith.courses.scaffold.changes import apply
    from goldsmith.courses.scaffold.init_plan import course_at, course_of, plan_course
    from goldsmith.errors.scaffold import NotAgreed
    from goldsmith.render.console import open_console
    from goldsmith.render.scaffold import describe_layout, scaffold_files, show_init_end, show_layout, show_plan

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
