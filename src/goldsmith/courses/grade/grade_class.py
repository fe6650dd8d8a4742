"""`grade_all`: judge every submission, and write what is found of each as it comes."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from goldsmith.courses.grade.canvas import CanvasPlan
from goldsmith.courses.grade.class_results import Class, ClassResults, ResultOptions
from goldsmith.courses.grade.collection import LeftOut
from goldsmith.courses.grade.grader import Grader, Judged
from goldsmith.courses.grade.grades import Grade
from goldsmith.courses.grade.hints import StudentsNames
from goldsmith.courses.grade.open_contexts import judging_contexts
from goldsmith.courses.grade.redaction import Redaction, private_lines
from goldsmith.courses.grade.regrade import Since
from goldsmith.courses.grade.result_files import Pages
from goldsmith.courses.grade.rounds import Round
from goldsmith.courses.grade.run_record import Entry, RunRecord, as_bytes
from goldsmith.courses.grade.submissions import SubmissionRef, digest_if_opened
from goldsmith.courses.layout.layout import Assignment
from goldsmith.courses.layout.resolve import resolve
from goldsmith.engines.engine import Engine, Local, Sessions
from goldsmith.foundation.shares import Share, expected_seconds, share_out
from goldsmith.gold.manifest import Manifest, read_manifest
from goldsmith.workspace.selection import needed_files


@dataclass(frozen=True)
class GradingOptions:
    """Which submissions to grade, how, by which engine, and where to write; with `verbose`, feedback holds every
    detail, with `pages` there are pages to look at, and with `canvas` a gradebook that Canvas imports. What was
    `left_out`, and which folders were read `as_one` submission, is told with the results, and so is whose points have
    moved `since` an earlier run. `page_apart` says that the class's page is for the caller to write. Of a class in
    shares, only one `share` is graded, and nothing but its record is written; shares are even by how many `seconds`
    submissions took before, where that is known."""

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
    since: Since | None = None
    share: Share | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def results(self) -> ResultOptions:
        return ResultOptions(self.output, self.verbose, self.pages, self.page_apart, self.canvas, self.since)

    @functools.cached_property
    def shares(self) -> tuple[int, ...]:
        """Return which share each submission is in; 0 for all of a class that is not shared out."""
        if self.share is None:
            return (0,) * len(self.items)
        return share_out(expected_seconds([item.name for item in self.items], self.seconds), self.share.of)

    @property
    def own(self) -> list[SubmissionRef]:
        """Return the submissions that this run judges."""
        number = 0 if self.share is None else self.share.number
        return [item for item, share in zip(self.items, self.shares, strict=True) if share == number]


def grade_all(wanted: GradingOptions) -> Class:
    """Grade everybody. Finished grades are on disk at once; an interrupted run loses only what it was judging."""
    places = {item: place for place, item in enumerate(wanted.items)}
    results = ClassResults(_record(wanted), wanted.results)
    with contextlib.closing(_judged(wanted)) as judged:
        for item, result in judged:
            wanted.on_grade(results.write(places[item], result), result.kept)
    return results.finish()


def _record(wanted: GradingOptions) -> RunRecord:
    """Return the record of a run that has found nothing yet."""
    grader = wanted.grader
    assignment, root = grader.assignment, str(grader.assignment.course.root)
    manifest = read_manifest(assignment.gold)
    hidden = _private(assignment, manifest)
    entries = [Entry.waiting(item, root) for item in wanted.items]
    if wanted.share is not None or wanted.since is not None:
        looked_at = set(wanted.items) if wanted.share is not None else _perhaps_renamed(wanted)
        seen = [digest_if_opened(assignment, item) if item in looked_at else "" for item in wanted.items]
        entries = [entry.in_share(share, saw) for entry, share, saw in zip(entries, wanted.shares, seen, strict=True)]
    return RunRecord(
        assignment=assignment.name,
        ingredients=dataclasses.replace(grader).ingredients,  # of a copy: what it opens is not sent to other processes
        rubric=grader.rubric,
        forbidden_costs=assignment.config.forbid_costs,
        private_files=tuple(map(as_bytes, hidden.files)),
        private_lines=tuple(hidden.lines),
        students_names=StudentsNames.of(grader.target, manifest),
        entries=tuple(entries),
        left_out=tuple(wanted.left_out),
        as_one=tuple(wanted.as_one),
        share=wanted.share,
    )


def _perhaps_renamed(wanted: GradingOptions) -> set[SubmissionRef]:
    """Return who is not in the earlier run, if somebody of that is not in this one: by their files, known before the
    first is judged, it is told who only has another name."""
    assert wanted.since is not None
    then, now = set(wanted.since.record.names), {item.name for item in wanted.items}
    return {item for item in wanted.items if item.name not in then} if then - now else set()


def _judged(wanted: GradingOptions) -> Generator[tuple[SubmissionRef, Judged]]:
    """Yield everybody's result, in two rounds.

    A part that is in doubt is called on gold's own intermediate values. What a submission could do with those, or leave
    behind for another, comes too late once everybody's cases have been replayed.
    """
    grader, engine, items = wanted.grader, wanted.engine, wanted.own
    if len(items) == 1:
        yield from engine.run(Round(grader, "judge"), items)
        return
    pending: dict[SubmissionRef, str] = {}
    is_done = False
    try:
        with judging_contexts(), engine.session() if isinstance(engine, Sessions) else contextlib.nullcontext():
            with contextlib.closing(engine.run(Round(grader, "replay"), items)) as first:
                for item, result in first:
                    if result.pending:
                        pending[item] = result.pending
                    else:
                        yield item, result
            if pending:
                with contextlib.closing(engine.run(Round(grader, "conclude"), list(pending))) as last:
                    yield from last
        is_done = True
    finally:
        if is_done or not grader.keep:
            grader.forget(pending.values())


def _private(assignment: Assignment, manifest: Manifest) -> Redaction:
    """Return what feedback must not show of the course: a recipe and adapter kept outside the starter, and code that
    submissions are given but that is not part of the starter."""
    starter = assignment.starter
    given = needed_files(resolve(assignment), manifest.provenance.reads, ())
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
