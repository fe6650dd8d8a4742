"""`goldsmith grade`: a whole class, sandboxed, in parallel, resumable."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.exceptions import Exit

from goldsmith.cli.command import argument, command, flag, option
from goldsmith.cli.engine import EngineChoice, engine_options
from goldsmith.cli.options import (
    PATH,
    at_a_terminal,
    check_limits,
    choose_one,
    course_options,
    open_course,
    refuse_recipes,
    report_errors,
)
from goldsmith.cli.regrade import RegradeChoice, regrade_options
from goldsmith.cli.reports import Output, Wanted, asked_for, report_formats
from goldsmith.cli.shares import parts_named, refuse_others, require_share, seconds_before, share_named, share_options
from goldsmith.errors.base import COULD_NOT_RUN
from goldsmith.errors.usage import BadOption
from goldsmith.foundation.log_injection import say
from goldsmith.foundation.platforms import require, require_sandbox

if TYPE_CHECKING:
    from goldsmith.courses.grade.canvas import CanvasPlan
    from goldsmith.courses.grade.class_results import Class
    from goldsmith.courses.grade.collection import Reading
    from goldsmith.courses.grade.grades import Grade
    from goldsmith.courses.grade.result_files import Pages
    from goldsmith.courses.layout.layout import Assignment
    from goldsmith.render.grades import GradedSubmission


MIN_DEVICE_GIB = 2.5
"""A process that has computed nothing yet may take 2 GiB (`sandbox.limits.CONTEXT_BYTES`)."""


@command
@argument("assignment", "A", "The assignment.", required=False)
@argument(
    "submissions", "SUBMISSION…", "Folders, .zip, .tar or .py files, git revisions, or folders of these.", nargs=-1
)
@option("--refs", metavar="PATTERN", multiple=True, help="Every branch and tag that matches.")
@flag("--one", help="Each folder that you name is one submission.")
@flag("--class", "is_class", help="Each folder that you name is a class: every entry of it is a submission.")
@option("--output", "-o", metavar="DIR", type=PATH, help="Where to write; default private/grades/A.")
@flag("--fresh", help="Inputs and weights from a secret seed, so that leaked gold is worthless.")
@engine_options("submissions")
@option(
    "--jobs", "-j", metavar="N", type=click.IntRange(1), help="How many run at once; default one for each processor."
)
@option("--timeout", metavar="SECONDS", type=float, help="Stop a case after this much processor time.")
@option("--memory", metavar="GIB", type=float, default=6.0, help="Memory for all processes of a submission.")
@option("--device", metavar="D", default="cpu", help="Where models run, such as cuda.")
@option(
    "--device-memory",
    metavar="GIB",
    type=click.FloatRange(min=MIN_DEVICE_GIB),
    rare=True,
    help="Of its memory, for each that runs there. By default nearly all, one after another.",
)
@flag("--verbose", help="Write feedback on every case and every part.")
@option(
    "--html",
    "page",
    metavar="FILE",
    is_flag=False,
    flag_value="",
    help="Also write pages to look at, of the class and of each student. Without FILE, class.html next to the grades.",
)
@report_formats(
    "class",
    "canvas",
    "autolab",
    help="Print as markdown, csv, junit, html or another; =FILE writes it, too. "
    "canvas: also write canvas.csv, the gradebook of --gradebook with everybody's points. autolab: print one "
    "submission's feedback and, as the last line, its points.",
)
@option(
    "--gradebook",
    metavar="FILE",
    type=PATH,
    rare=True,
    help="The gradebook that Canvas exported, for --format canvas.",
)
@option(
    "--column",
    metavar="TITLE",
    default="",
    rare=True,
    help="The assignment's column in it; by default the one of its name.",
)
@option(
    "--names",
    metavar="FILE",
    type=PATH,
    rare=True,
    help="A CSV file with the columns submission and id, where names are not IDs.",
)
@regrade_options
@share_options(
    "An earlier --output, by whose times shares are made even; by default private/grades/A.", metavar="DIR|none"
)
@flag("--again", help="Run all again, even those with a cached verdict.")
@flag("--allow-stale", help="Grade against gold that is stale.")
@flag("--allow-unsandboxed", rare=True, help="Run submissions even if they cannot be sandboxed here.")
@course_options
def grade(
    assignment: str | None,
    submissions: tuple[str, ...],
    refs: tuple[str, ...],
    one: bool,
    is_class: bool,
    output: Path | None,
    fresh: bool,
    engine: EngineChoice,
    jobs: int | None,
    timeout: float | None,
    memory: float,
    device: str,
    device_memory: float | None,
    verbose: bool,
    page: str | None,
    formats: tuple[Wanted, ...],
    gradebook: Path | None,
    column: str,
    names: Path | None,
    regrade: RegradeChoice,
    shard: str,
    merge: bool,
    times: str,
    again: bool,
    allow_stale: bool,
    allow_unsandboxed: bool,
    course: Path,
    json: bool,
    no_color: bool,
    debug: bool,
) -> None:
    """Check a class, each submission sandboxed; write grades, feedback and an overview.

    Scores follow the assignment's rubric. Writes `grades.csv`, feedback for each student,
    Gradescope's `results.json`, JUnit XML, and an overview of the class. A submission sees its inputs and weights,
    never gold's outputs, solutions, other submissions, your environment or the network; the last lines say how well
    it was sandboxed. Finished work is kept: a second run, or one after Ctrl-C, only runs what is new.

    Examples:

        goldsmith grade scratch-1 submissions/               everything in a folder
        goldsmith grade scratch-1 submissions/ --html class.html   also pages to look at
        goldsmith grade scratch-1 --refs 'scratch-1-*'       every branch of that name
        goldsmith grade scratch-1 ada.zip --fresh --json     one, on inputs that nobody has seen
        goldsmith grade scratch-1 submissions/ --device cuda   each in its turn on the accelerator
        goldsmith grade scratch-1 submissions/ --dry-run     who would move, after a change of gold or rubric
        goldsmith grade scratch-1 submissions/ --format canvas --gradebook Grades.csv   points for Canvas, too
        goldsmith grade scratch-1 submissions/ --shard 3/16 --output part3/   one of sixteen shares, on any machine
        goldsmith grade --merge part*/ -o grades/            then the class of all sixteen

    Exit codes: 0 graded, 1 a submission could not be run or is inconclusive, 2 bad usage, 3 could not
    grade, or goldsmith itself failed on a submission, which then has no verdict. A share has 0 once it came to its end;
    its submissions count in --merge.
    """
    form = next((item.name for item in formats if item.name in ("canvas", "autolab")), None)
    wanted_formats = asked_for([item for item in formats if item.name != form], json=json)
    json = Wanted("json") in wanted_formats
    finished: list[GradedSubmission] = []
    with report_errors("grade", as_json=json, debug=debug, subjects="submissions", finished=finished) as report:
        regrade.require(formats, page)
        share = share_named(shard)
        require_share(share, output, formats)
        if not merge:
            require("grade --allow-unsandboxed") if allow_unsandboxed else require_sandbox()
        check_limits(timeout, memory)
        if page and not page.endswith((".html", ".htm")):
            page, submissions = "", (page, *submissions)  # `--html submissions/`: what follows is graded
        class_page = Path(page) if page else None
        if class_page is not None:
            wanted_formats.append(Wanted("html", class_page))
        reports = Output(report, "class", wanted_formats, no_color)
        if merge:
            from goldsmith.cli.merge_grades import OPTIONS, merge_class

            refuse_others("--merge", "runs nothing", allowed=OPTIONS)
            if form == "autolab":
                raise click.UsageError("--format autolab is for one submission: leave it out of --merge")
            result, settings = merge_class(
                parts_named("grade", (assignment, *submissions)),
                output,
                course,
                lambda chosen, all, folder: _canvas_plan(chosen, all, folder, form, gradebook, column, names),
                lambda folder: _pages(folder, class_page) if page is not None or reports.wants("html") else None,
                regrade.open,
                verbose=verbose,
                page_apart=class_page is not None,
                no_color=no_color,
            )
            raise Exit(_shown(reports, result, settings))
        ask = at_a_terminal() and not json and bool(refs)
        refuse_recipes("grade", assignment)
        chosen = choose_one(open_course(course), assignment, "grade", ask=ask, no_color=no_color, after=" submissions/")

        from goldsmith.courses.grade.collection import collect
        from goldsmith.courses.grade.grade_class import GradingOptions, grade_all
        from goldsmith.courses.grade.grader import Grader, rubric_for
        from goldsmith.courses.grade.secret_gold import fresh_assignment
        from goldsmith.courses.grade.submissions import hidden_paths
        from goldsmith.courses.layout.config import bad_setting
        from goldsmith.courses.layout.resolve import resolve
        from goldsmith.doctor import processors
        from goldsmith.generate.options import options_of
        from goldsmith.render import grades as render
        from goldsmith.render.console import open_console
        from goldsmith.render.progress import ShownProgress
        from goldsmith.render.self_check import self_check
        from goldsmith.sandbox.capabilities import probe
        from goldsmith.sandbox.packages import places_of

        config = chosen.course.config
        for name in config.packages:
            if not places_of(name):
                raise bad_setting(chosen.course.root, ["packages"], f"{name} is not installed here")
        stderr = open_console(no_color=no_color, stderr=True)
        stderr.quiet = form == "autolab"  # which shows students all that is printed
        where = engine.open(jobs or processors(), stderr.print)
        collected = collect(chosen, submissions, refs, reading=_reading(one, is_class))
        items = collected.items
        folder = output or chosen.course.grades_folder / chosen.name
        if form == "autolab" and (json or len(items) != 1):
            raise click.UsageError(
                "--format autolab is for one submission, and its last line is JSON: leave out --json"
            )
        since = None if share else regrade.open(chosen.name, folder, stderr.print, chosen)
        canvas = _canvas_plan(lambda: chosen, [item.name for item in items], folder, form, gradebook, column, names)
        if not allow_unsandboxed:
            probe().require()
        with contextlib.ExitStack() as stack:
            against = chosen
            if fresh:
                against = stack.enter_context(fresh_assignment(chosen, stderr.print, self_check))
            grader = Grader(
                assignment=against,
                rubric=rubric_for(against, allow_stale=allow_stale),
                options=options_of(resolve(against), device=device),
                case_timeout=timeout or config.case_timeout,
                memory=memory,
                device_memory=device_memory or 0.0,
                keep=not again and not fresh,
                sandboxed=not allow_unsandboxed,
                allow_stale=allow_stale,
                hidden=(str(chosen.course.root),),
                other_submissions=hidden_paths(chosen, items),
            )
            shown = stack.enter_context(ShownProgress(stderr).of(chosen.name))
            progress = render.GradingProgress(shown, len(items))

            def on_grade(made: Grade, kept: bool) -> None:
                finished.extend(render.graded_submissions([made]))
                progress.finished(made)

            wanted = GradingOptions(
                grader,
                items,
                regrade.output(stack, folder),
                where,
                on_grade,
                verbose=verbose,
                pages=_pages(folder, class_page) if page is not None or reports.wants("html") else None,
                page_apart=class_page is not None,
                canvas=canvas,
                left_out=collected.left_out,
                as_one=collected.as_one,
                since=since,
                share=share,
                seconds=seconds_before(times, chosen.course.grades_folder / chosen.name, chosen.name) if share else {},
            )
            progress.total = len(wanted.own)
            result = regrade.told(grade_all(wanted))
        settings = {"folder": chosen.course.relative(folder), "rubric": grader.rubric}
        text = _for_autolab(result.grades[0], items[0].name, chosen, folder) if form == "autolab" else ""
        raise Exit(_shown(reports, result, settings, text))


def _shown(reports: Output, result: Class, settings: Mapping[str, Any], text: str = "") -> int:
    """Show a class in every format asked for, as `text` if there is one; return the exit code."""
    from goldsmith.render import grades as render

    reports.settings |= settings
    say(text) if text else reports.show(result)
    reports.finish(render.graded_submissions(result.grades), [result], more=render.summarise_class(result))
    outcomes = {item.outcome for item in result.grades}
    if result.share is not None:  # it has come to its end; what there is of a class, --merge tells
        return 0
    return COULD_NOT_RUN if "error" in outcomes else 1 if outcomes & {"could-not-run", "inconclusive"} else 0


def _reading(one: bool, is_class: bool) -> Reading:
    if one and is_class:
        raise click.UsageError("--one and --class say the opposite of each other: give one of them")
    return "one" if one else "class" if is_class else ""


def _canvas_plan(
    assignment: Callable[[], Assignment],
    submissions: Sequence[str],
    folder: Path,
    form: str | None,
    gradebook: Path | None,
    column: str,
    names: Path | None,
) -> CanvasPlan | None:
    """Match submissions with a Canvas gradebook, before anything is graded."""
    from goldsmith.courses.grade.canvas import FILE, CanvasPlan

    if form != "canvas":
        if gradebook is not None or column or names is not None:
            raise click.UsageError("--gradebook, --column and --names belong to --format canvas: give that, too")
        return None
    if gradebook is None:
        raise click.UsageError("--format canvas needs --gradebook with the file that Canvas exported")
    if gradebook.resolve() == (folder / FILE).resolve():
        raise BadOption("--gradebook", gradebook, "the file that Canvas exported, not the one that is written from it")
    return CanvasPlan.of(gradebook, assignment(), submissions, column, names)


def _for_autolab(grade: Grade, name: str, assignment: Assignment, folder: Path) -> str:
    """Return the student's feedback and, unless goldsmith itself failed, the points in the last line."""
    from goldsmith.courses.grade.result_files import FEEDBACK, autolab_line, file_names
    from goldsmith.judge.verdicts import ERROR

    text = (folder / FEEDBACK / f"{file_names([name])[0]}.md").read_text(encoding="utf-8")
    if grade.outcome == ERROR:
        return text
    return f"{text}\n{autolab_line(grade, assignment.config.forbid_costs > 0)}"


def _pages(folder: Path, class_page: Path | None) -> Pages:
    from goldsmith.html_report.class_page import ClassPages

    return ClassPages("" if class_page is None else os.path.relpath(folder, class_page.parent))
