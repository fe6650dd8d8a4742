"""`grade_all`: judge, score and write every submission as it finishes; then write the results of the whole class."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from goldsmith.courses.grade.canvas import CanvasMerge, CanvasPlan
from goldsmith.courses.grade.collection import LeftOut, notes_of
from goldsmith.courses.grade.engines import Engine, Local, Sessions
from goldsmith.courses.grade.error_steps import in_steps
from goldsmith.courses.grade.feedback import feedback_markdown
from goldsmith.courses.grade.grader import Grader, Judged
from goldsmith.courses.grade.grades import Grade, failed, grade, with_similarity
from goldsmith.courses.grade.output_folder import Folder
from goldsmith.courses.grade.overview import Overview, overview_of
from goldsmith.courses.grade.redaction import Redaction, private_lines, redact
from goldsmith.courses.grade.result_files import Pages, file_names, write_class, write_submission
from goldsmith.courses.grade.submissions import SubmissionRef
from goldsmith.courses.guard.similarity import Matches, similarities
from goldsmith.courses.layout.layout import Assignment
from goldsmith.courses.layout.resolve import resolve
from goldsmith.errors.base import GoldsmithError
from goldsmith.foundation.signals import uninterrupted
from goldsmith.gold.manifest import read_manifest
from goldsmith.judge.verdicts import Verdict
from goldsmith.workspace.selection import needed_files


@dataclass(frozen=True)
class Class:
    """Everybody's grades, in the order of submission. `earlier` is the folder to which this run moved files that were
    in its way; `left` names files that a person has changed and for which this run had nothing new; `left_out` are
    entries of class folders that are in no submission."""

    grades: tuple[Grade, ...]
    overview: Overview
    kept: int
    files: tuple[Path, ...]
    earlier: Path | None = None
    left: tuple[str, ...] = ()
    canvas: CanvasMerge | None = None
    left_out: tuple[LeftOut, ...] = ()
    page: str = ""


@dataclass(frozen=True)
class GradingOptions:
    """Which submissions to grade, how, by which engine, and where to write; with `verbose`, feedback holds every
    detail, with `pages` there are pages to look at, and with `canvas` a gradebook that Canvas imports. What was
    `left_out`, and which folders were read `as_one` submission, is told with the results. `page_apart` says that the
    class's page is for the caller to write."""

    grader: Grader
    items: Sequence[SubmissionRef]
    output: Path
    engine: Engine = field(default_factory=Local)
    on_grade: Callable[[Grade, bool], None] = lambda grade, kept: None
    verbose: bool = False
    pages: Pages | None = None
    page_apart: bool = False
    canvas: CanvasPlan | None = None
    left_out: Sequence[LeftOut] = ()
    as_one: Sequence[str] = ()


def grade_all(wanted: GradingOptions) -> Class:
    """Grade everybody. Finished grades are on disk at once; an interrupted run loses only what it was judging."""
    grader = wanted.grader
    stems = dict(zip(wanted.items, file_names([item.name for item in wanted.items]), strict=True))
    found: dict[SubmissionRef, Grade] = {}
    alike: dict[SubmissionRef, Mapping[str, Matches]] = {}
    kept = 0
    folder = Folder(wanted.output)
    hidden = _private(grader.assignment)
    with contextlib.closing(_judged(wanted)) as judged:
        for item, result in judged:
            with uninterrupted():
                found[item] = _write_grade(wanted, item, result, folder, stems[item], hidden)
            alike[item] = result.matches
            kept += result.kept
            wanted.on_grade(found[item], result.kept)
    similar = similarities([alike[item] for item in wanted.items])
    grades = tuple(with_similarity(found[item], alone) for item, alone in zip(wanted.items, similar, strict=True))
    overview = overview_of(grader.assignment.name, grades, notes_of(wanted.left_out, wanted.as_one))
    with uninterrupted():
        names = [stems[item] for item in wanted.items]
        page = wanted.pages.of_class(grades, names, overview) if wanted.pages else ""
        book, merged = wanted.canvas.merge(grades) if wanted.canvas else (b"", None)
        beside = "" if wanted.page_apart else page
        files = write_class(folder, grades, grader.rubric, overview, beside, book)
    left_out = tuple(wanted.left_out)
    return Class(grades, overview, kept, tuple(files), folder.earlier, tuple(folder.left), merged, left_out, page)


def _judged(wanted: GradingOptions) -> Generator[tuple[SubmissionRef, Judged]]:
    """Yield everybody's result, in two rounds.

    A part that is in doubt is called on gold's own intermediate values. What a submission could do with those, or leave
    behind for another, comes too late once everybody's cases have been replayed.
    """
    grader, engine = wanted.grader, wanted.engine
    if len(wanted.items) == 1:
        yield from engine.run(grader, wanted.items)
        return
    pending: dict[SubmissionRef, str] = {}
    is_done = False
    try:
        with engine.session() if isinstance(engine, Sessions) else contextlib.nullcontext():
            with contextlib.closing(engine.run(grader.replay, wanted.items)) as first:
                for item, result in first:
                    if result.pending:
                        pending[item] = result.pending
                    else:
                        yield item, result
            if pending:
                with contextlib.closing(engine.run(grader.conclude, list(pending))) as last:
                    yield from last
        is_done = True
    finally:
        if is_done or not grader.keep:
            grader.forget(pending.values())


def _private(assignment: Assignment) -> Redaction:
    """Return what feedback must not show of the course: a recipe and adapter kept outside the starter, and code that
    submissions are given but that is not part of the starter."""
    starter = assignment.starter
    given = needed_files(resolve(assignment), read_manifest(assignment.gold).provenance.reads, ())
    own = [path for path in (assignment.recipe, assignment.adapter) if not path.is_relative_to(starter)]
    others = {inside.as_posix(): path for inside, path in given.items() if not path.is_relative_to(starter)}
    private = [*own, *others.values()]
    public = [path for path in given.values() if path.is_relative_to(starter)]
    lines = private_lines(map(_text_of, private), map(_text_of, public))
    return Redaction(files=(*(path.name for path in own), *others), lines=lines)


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace") if path.suffix == ".py" else ""
    except OSError:
        return ""


def _write_grade(
    wanted: GradingOptions, item: SubmissionRef, judged: Judged, folder: Folder, stem: str, hidden: Redaction
) -> Grade:
    grader = wanted.grader
    try:
        made, text, page = _grade_and_feedback(wanted, item, judged, judged.verdict, hidden)
    except GoldsmithError:
        raise
    except Exception as error:  # a bug of ours says nothing about the submission, and must not end the run
        verdict = failed(item.name, grader.assignment.name, grader.rubric, error)
        made, text, page = _grade_and_feedback(wanted, item, judged, verdict, hidden)
    write_submission(folder, stem, made, text, page=page)
    return made


def _grade_and_feedback(
    wanted: GradingOptions, item: SubmissionRef, judged: Judged, verdict: Verdict, hidden: Redaction
) -> tuple[Grade, str, str]:
    """Make the grade from a verdict, the feedback on it, and its page if there are pages."""
    grader = wanted.grader
    what = () if item.revision or "/" not in item.what else (item.what,)  # a bare name may be part of any word
    veil = dataclasses.replace(hidden, paths=(str(grader.assignment.course.root), *what))
    graded = functools.partial(
        grade,
        rubric=grader.rubric,
        veil=veil,
        stand_ins=verdict.stand_ins,
        sandbox=judged.sandbox,
        digest=judged.digest,
        name=item.name,
        forbidden_costs=grader.assignment.config.forbid_costs,
    )
    made = graded(verdict)
    page = ""
    if wanted.pages is not None:
        shown = in_steps(redact(verdict, veil))
        page = wanted.pages.of_submission(graded(shown), shown)
    return made, feedback_markdown(made, verdict, veil, verbose=wanted.verbose), page
