"""Show grades on a terminal: a live table while a class is graded, then all of it, the summary last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from rich.console import Console
from rich.text import Text

from goldsmith.courses.grade.canvas import CanvasMerge
from goldsmith.courses.grade.collection import LeftOut
from goldsmith.courses.grade.feedback import OUTCOMES
from goldsmith.courses.grade.grades import UNSANDBOXED, Grade
from goldsmith.courses.grade.moves import Ledger
from goldsmith.courses.grade.overview import Overview, named, summary_line, tally_rows
from goldsmith.courses.grade.scoring import number
from goldsmith.foundation.wording import count_of
from goldsmith.judge.verdicts import ERROR, PROVIDED_CHANGED, SILENT
from goldsmith.judge.words import missing_files
from goldsmith.render.columns import shortened
from goldsmith.render.console import print_line, print_table, table_lines
from goldsmith.render.progress import ShownProgress
from goldsmith.render.regrade import show_ledger
from goldsmith.render.verdict import COLOURS
from goldsmith.sandbox.promises import SandboxLevel, sandbox_level

if TYPE_CHECKING:
    from goldsmith.courses.grade.class_results import Class

_HEADINGS = ("submission", "outcome", "score", "first problem", "")
_MAX_NAME_CELLS, _LONGEST = 36, 120
_MAX_CLUSTERS = 8
_MAX_NAMED_ITEMS = 2


def show_grades(console: Console, grades: Sequence[Grade], overview: Overview) -> None:
    """Show every submission, then the class."""
    print_table(console, _HEADINGS, _rows(grades, _LONGEST), texts=2)
    for title, tallies in (("case", overview.cases), ("part", overview.parts)):
        if tallies:
            headings, rows = tally_rows(tallies)
            print_line(console)
            print_table(console, (title, *headings), rows, numbers=range(1, len(headings) + 1), texts=0)
    shared = [item for item in overview.clusters if len(item.names) > 1]
    if shared:
        print_line(console)
        print_line(console, Text("Shared mistakes", "bold"), keep=True)
    for item in shared[:_MAX_CLUSTERS]:
        print_line(console, Text(f"  {len(item.names):>3}  {item.description}"))
        print_line(console, Text(f"       {named(item.names)}", "dim"))
    if overview.review:
        print_line(console)
        print_line(console, Text("Needs review: ", "bold"), named(overview.review))
    for note in overview.notes:
        print_line(console)
        print_line(console, Text(f"Note: {note}.", "yellow"))
    print_line(console)
    print_line(console, Text(summary_line(overview), "bold"))


def show_class(console: Console, result: Class, where: Path) -> None:
    """Show everybody's grades, the class, and what was written where."""
    show_grades(console, result.grades, result.overview)
    if result.ledger is not None and (result.is_dry or result.ledger.is_news):
        show_ledger(console, result.grades, result.ledger)
    for line in closing_lines(result, where).splitlines():
        print_line(console, line, keep=True)


def closing_lines(result: Class, where: Path) -> str:
    """Say how submissions were sandboxed and what that means, what was written where, and what happened to earlier
    files; of a share, also what becomes of it."""
    layers = list(dict.fromkeys(item.sandbox for item in result.grades if item.sandbox))
    kept_in = f"Sandboxed by {'; '.join(layers)}" if layers else "Nothing was run"
    if UNSANDBOXED in layers:
        kept_in = "Submissions were not sandboxed (--allow-unsandboxed)"
    files = ", ".join(file.name for file in result.files)
    level = _level(result)
    lines = [f"{kept_in}.", *([level.sentence] if level else []), f"In {where}/: {files}, feedback/, gradescope/"]
    if result.share is not None:
        lines[-1] = f"In {where}/: share {result.share} of the class; `goldsmith grade --merge` makes the class of all."
    if result.is_dry:
        compared = "" if result.ledger else f"; there is no earlier run in {where}/ to compare with"
        lines[-1] = f"Nothing was written (--dry-run){compared}."
    if result.left:
        lines.append(f"Kept as you edited it, since nothing in it has changed: {', '.join(result.left)}.")
    if result.earlier is not None:
        aside = where / result.earlier.parent.name / result.earlier.name
        lines.append(f"Moved to {aside}/: files that only earlier runs wrote, and files that you edited.")
    if result.canvas is not None:
        lines += _canvas_lines(result.canvas, where)
    return "\n".join(lines)


def _canvas_lines(merged: CanvasMerge, where: Path) -> list[str]:
    """Say whose points a gradebook for Canvas has, and whose it does not have."""
    lines = [f"Points of {count_of(merged.filled, 'student')} are in the column {merged.column}."]
    if merged.note:
        lines.append(f"Note: {merged.note}.")
    if merged.left:
        lines.append(f"Left as they were: {'; '.join(merged.left)}.")
    if merged.without_submission:
        lines.append(f"Submitted nothing here, and left as they were: {'; '.join(merged.without_submission)}.")
    return [*lines, f"Import {where / merged.file} in Canvas: Grades, Import."]


def _level(result: Class) -> SandboxLevel | None:
    """Return the weakest sandbox level that any submission ran at; None where nothing was run."""
    layers = {item.sandbox for item in result.grades if item.sandbox}
    return sandbox_level(layers, unsandboxed=UNSANDBOXED) if layers else None


def grade_row(grade: Grade, widest: int = _MAX_NAME_CELLS) -> tuple[str, ...]:
    """Return a submission's row: name, outcome, score, what is wrong first, and remarks."""
    changed = ", ".join(grade.provided)
    whole = {**dict.fromkeys((*SILENT, ERROR), grade.reason), PROVIDED_CHANGED: changed}.get(grade.outcome, "")
    where = whole if grade.outcome == ERROR else grade.first_part or whole
    if grade.missing:
        where = missing_files(grade.missing) + (f"; {grade.first_elsewhere}" if grade.first_elsewhere else "")
    count = len(grade.review)
    marks = [f"review {', '.join(grade.review) if count <= _MAX_NAMED_ITEMS else f'{count} items'}"] if count else []
    if grade.similarity:
        part, most = max(grade.similarity.items(), key=lambda item: (item[1].statements, item[0]))
        others = f", and of {count_of(len(grade.similarity) - 1, 'more part')}" if len(grade.similarity) > 1 else ""
        marks.append(f"{most.statements} of {most.of} statements of {part} as in the solution ({most.place}){others}")
    marks += [f"provided code was changed: {_short(changed)}"] if changed and where != changed else []
    marks += [f"stubs: {', '.join(grade.stand_ins)}"] if grade.stand_ins else []
    score = f"{number(grade.score)}/{number(grade.points)}"
    return (grade.name, OUTCOMES[grade.outcome], score, _short(where, widest), "; ".join(marks))


class GradedSubmission(Grade, frozen=True, kw_only=True):
    """One submission with its score and the reasons."""

    review: tuple[str, ...]
    """Items of the rubric that need review."""


class ClassSummary(msgspec.Struct, frozen=True, kw_only=True):
    """What `grade` says about a class as a whole."""

    sandbox: SandboxLevel | None
    """How well submissions were sandboxed, the weakest of all; null where nothing was run."""
    overview: Overview
    """The class in numbers."""
    earlier: str | None
    """Where files went that stood in the way; null where none did."""
    left: tuple[str, ...]
    """Files that you have changed, and that this run had nothing new to say in."""
    left_out: tuple[LeftOut, ...]
    """Entries of class folders that are in no submission."""
    ledger: Ledger | None
    """Whose points moved since an earlier run, and what changed; null where there is none."""
    dry_run: bool
    """Whether nothing was written, because of `--dry-run`."""
    canvas: CanvasMerge | None
    """What became of the gradebook; null without `--format canvas`."""
    share: str | None
    """The share of the class that these submissions are, such as `3/16`; null where they are all of it."""


def graded_submissions(grades: Sequence[Grade]) -> list[GradedSubmission]:
    """Add to each grade what needs review."""
    return [GradedSubmission(**msgspec.structs.asdict(grade), review=grade.review) for grade in grades]


def summarise_class(result: Class) -> ClassSummary:
    """Say how the class did as a whole, and what became of files that stood there before."""
    return ClassSummary(
        sandbox=_level(result),
        overview=result.overview,
        earlier=str(result.earlier) if result.earlier else None,
        left=tuple(result.left),
        left_out=result.left_out,
        ledger=result.ledger,
        dry_run=result.is_dry,
        canvas=result.canvas,
        share=str(result.share) if result.share else None,
    )


@dataclass
class GradingProgress:
    """What to report to while a class is graded: a live table on a terminal, elsewhere a line for each submission."""

    progress: ShownProgress
    total: int
    _done: list[Grade] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.progress.above = lambda room: table_lines(_HEADINGS, _rows(self._done[1 - room :]))

    def finished(self, grade: Grade) -> None:
        """Count a submission as done."""
        self._done.append(grade)
        self.progress.log(_plain(grade, len(self._done), self.total))
        self.progress.step(f"{len(self._done)} of {self.total} graded")


def _plain(grade: Grade, done: int, total: int) -> str:
    name, outcome, score, where, more = grade_row(grade, _LONGEST)
    return f"{done}/{total}  {name}: {outcome}, {score}" + "".join(f", {item}" for item in (where, more) if item)


def _short(text: str, widest: int = _MAX_NAME_CELLS) -> str:
    return shortened(text, widest)


def _rows(grades: Sequence[Grade], widest: int = _MAX_NAME_CELLS) -> list[tuple[str | Text, ...]]:
    """Return a row for each submission, its outcome in colour."""
    found = [grade_row(grade, widest) for grade in grades]
    colours = [COLOURS.get(grade.outcome, "") for grade in grades]
    return [(row[0], Text(row[1], colour), *row[2:]) for row, colour in zip(found, colours, strict=True)]
