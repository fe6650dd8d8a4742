"""Score verdicts and write what people use, a submission at a time, and at the end the whole class. It runs nothing:
what a run has found is written as it comes, and what records say is written again."""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass
from pathlib import Path

import msgspec

from goldsmith.courses.grade.canvas import CanvasMerge, CanvasPlan
from goldsmith.courses.grade.collection import LeftOut, notes_of
from goldsmith.courses.grade.error_steps import in_steps
from goldsmith.courses.grade.feedback import feedback_markdown
from goldsmith.courses.grade.grader import Judged
from goldsmith.courses.grade.grades import Grade, failed, grade, with_similarity
from goldsmith.courses.grade.hints import hint_json, hint_of
from goldsmith.courses.grade.moves import Ledger, because_words, items_words, moved_sentence
from goldsmith.courses.grade.output_folder import Folder
from goldsmith.courses.grade.overview import Overview, overview_of
from goldsmith.courses.grade.redaction import one_line, redact
from goldsmith.courses.grade.regrade import Regrade, Since
from goldsmith.courses.grade.result_files import Pages, file_names, write_class, write_share, write_submission
from goldsmith.courses.grade.run_record import Entry, RunRecord, encode
from goldsmith.courses.guard.similarity import Matches, similarities
from goldsmith.errors.base import GoldsmithError
from goldsmith.foundation.shares import Share
from goldsmith.foundation.signals import uninterrupted
from goldsmith.judge.verdicts import Verdict


@dataclass(frozen=True)
class Class:
    """Everybody's grades, in the order of submission. `earlier` is the folder to which this run moved files that were
    in its way; `left` names files that a person has changed and for which this run had nothing new; `left_out` are
    entries of class folders that are in no submission. `ledger` says whose points moved since an earlier run; of a run
    that `is_dry` nothing is written. If it is only a `share`, the grades are those of its submissions, without what
    takes the whole class."""

    grades: tuple[Grade, ...]
    overview: Overview
    kept: int
    files: tuple[Path, ...]
    earlier: Path | None = None
    left: tuple[str, ...] = ()
    canvas: CanvasMerge | None = None
    left_out: tuple[LeftOut, ...] = ()
    page: str = ""
    ledger: Ledger | None = None
    is_dry: bool = False
    share: Share | None = None


@dataclass(frozen=True)
class ResultOptions:
    """What is written, and where: with `verbose`, feedback holds every detail, with `pages` there are pages to look at,
    and with `canvas` a gradebook that Canvas imports. `page_apart` says that the class's page is for the caller to
    write. `since` is an earlier run, and then it is told whose points have moved."""

    folder: Path
    verbose: bool = False
    pages: Pages | None = None
    page_apart: bool = False
    canvas: CanvasPlan | None = None
    since: Since | None = None


class ClassResults:
    """The results of a class while they are written. `record` is that of a run of which no verdict is known yet, or
    of one that is over; what there is of verdicts in it is not looked at."""

    def __init__(self, record: RunRecord, wanted: ResultOptions) -> None:
        self._record, self._wanted = record, wanted
        self._folder = Folder(wanted.folder)
        self._stems = file_names(record.names)
        self._entries, self._kept = list(record.entries), 0
        self._untold: list[str] = []
        self._grades: dict[int, Grade] = {}
        self._alike: dict[int, dict[str, Matches]] = {}
        self._regrade = Regrade(wanted.since, record) if wanted.since is not None else None

    def write(self, place: int, judged: Judged) -> Grade:
        """Write the files of the submission at a `place` in the class; they are on disk when the call returns."""
        entry = self._record.entries[place]
        with uninterrupted():
            made = self._write(entry, judged, self._stems[place])
            self._grades[place], self._alike[place] = made, judged.matches
        self._entries[place] = msgspec.structs.replace(entry.with_result(judged), moved=made.moved)
        self._kept += judged.kept
        return made

    def finish(self) -> Class:
        """Write the files about the whole class, everybody in it having been written; of a share, only its record."""
        if self._record.share is not None:
            return self._finish_share()
        places, wanted = range(len(self._entries)), self._wanted
        similar = similarities([self._alike[place] for place in places])
        grades = tuple(with_similarity(self._grades[place], similar[place]) for place in places)
        record = self._record.with_results(self._entries, list(self._alike.values()))
        notes = (*notes_of(record.left_out, record.as_one), *self._untold)
        overview = overview_of(record.assignment, grades, notes)
        ledger = self._regrade.ledger(grades) if self._regrade is not None else None
        with uninterrupted():
            page = wanted.pages.of_class(grades, self._stems, overview) if wanted.pages else ""
            book, merged = wanted.canvas.merge(grades) if wanted.canvas else (b"", None)
            beside = "" if wanted.page_apart else page
            moves = wanted.pages.of_moves(grades, self._stems, ledger) if wanted.pages and ledger else ""
            files = write_class(self._folder, grades, record.rubric, overview, encode(record), beside, book, moves)
        return Class(
            grades,
            overview,
            self._kept,
            tuple(files),
            self._folder.earlier,
            tuple(self._folder.left),
            merged,
            record.left_out,
            page,
            ledger,
        )

    def _finish_share(self) -> Class:
        record = self._record.with_results(self._entries, list(self._alike.values()))
        grades = tuple(self._grades[place] for place in sorted(self._grades))
        overview = overview_of(record.assignment, grades, notes_of(record.left_out, record.as_one))
        with uninterrupted():
            file = write_share(self._folder, encode(record))
        aside, left = self._folder.earlier, tuple(self._folder.left)
        return Class(grades, overview, self._kept, (file,), aside, left, left_out=record.left_out, share=record.share)

    def _write(self, entry: Entry, judged: Judged, stem: str) -> Grade:
        try:
            made, text, page, hint = self._grade_and_feedback(entry, judged, judged.verdict)
        except GoldsmithError:
            raise
        except Exception as error:  # a bug of ours says nothing about the submission, and must not end the run
            verdict = failed(entry.name, self._record.assignment, self._record.rubric, error)
            made, text, page, hint = self._grade_and_feedback(entry, judged, verdict)
        if self._record.share is None:
            write_submission(self._folder, stem, made, text, page=page, hint=hint)
        return made

    def _grade_and_feedback(self, entry: Entry, judged: Judged, verdict: Verdict) -> tuple[Grade, str, str, bytes]:
        """Make the grade from a verdict, the feedback on it, its page if there are pages, and its hint."""
        veil = dataclasses.replace(self._record.veil, paths=entry.paths)
        graded = functools.partial(
            grade,
            rubric=self._record.rubric,
            veil=veil,
            stand_ins=verdict.stand_ins,
            sandbox=judged.sandbox,
            digest=judged.digest,
            name=entry.name,
            forbidden_costs=self._record.forbidden_costs,
        )
        made = self._with_move(graded(verdict), entry, msgspec.structs.replace(judged, verdict=verdict))
        page = ""
        if self._wanted.pages is not None:
            shown = in_steps(redact(verdict, veil))
            told = msgspec.structs.replace(graded(shown), score=made.score, moved=made.moved)
            page = self._wanted.pages.of_submission(told, shown)
        hint = hint_json(hint_of(made, verdict, self._record.students_names, veil))
        return made, feedback_markdown(made, verdict, veil, verbose=self._wanted.verbose), page, hint

    def _with_move(self, made: Grade, entry: Entry, judged: Judged) -> Grade:
        """Return the grade with what became of its points since the earlier run, or else as the record says. A bug of
        ours in telling that is noted, and is no reason to lose the verdict."""
        try:
            told, moved = made, entry.moved
            if self._regrade is not None:
                told = self._regrade.with_move(made, entry, judged)
            elif moved is not None:
                told = msgspec.structs.replace(made, score=moved.score, moved=moved)
            if told.moved is not None:  # here it is seen whether it can be put into words
                _ = moved_sentence(told.moved, told.points), because_words(told.moved.because), items_words(told.moved)
            return told
        except Exception as error:
            problem = one_line(str(error) or repr(error))
            why = f"goldsmith could not tell how the points of {made.name} moved ({problem})"
            self._untold.append(f"{why}: they are those of this run, and none are kept")
            return made


def write_again(record: RunRecord, wanted: ResultOptions) -> Class:
    """Score and write a class from its record; nothing is run."""
    results = ClassResults(record, wanted)
    for place, entry in enumerate(record.entries):
        results.write(place, record.judged(entry))
    return results.finish()
