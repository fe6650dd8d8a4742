"""Pages of `goldsmith grade`: the class, for staff, and one for each submission, for its author.

An author's page has no value of gold's, and says how far an answer is off only in a few steps of tolerance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TypeVar

from markupsafe import Markup, escape

from goldsmith.courses.grade.feedback import OUTCOMES
from goldsmith.courses.grade.grades import CaseResult, Grade, PartResult
from goldsmith.courses.grade.moves import (
    Ledger,
    because_words,
    items_words,
    ledger_lines,
    moved_line,
    moved_sentence,
    signed,
)
from goldsmith.courses.grade.next_step import Piece, next_step
from goldsmith.courses.grade.overview import Overview, by_mistake
from goldsmith.courses.grade.result_files import FEEDBACK
from goldsmith.courses.grade.scoring import NOT_JUDGED, ItemResult, number
from goldsmith.html_report.author_view import author_cases
from goldsmith.html_report.page import render
from goldsmith.judge.leaf_words import STEP_WORDS
from goldsmith.judge.verdicts import AGREES, COULD_NOT_RUN, DIFFERS, ERROR, INCONCLUSIVE, PROVIDED_CHANGED, Verdict
from goldsmith.judge.words import missing_files

Result = TypeVar("Result", CaseResult, PartResult)
SYMBOLS: dict[str, str] = {
    AGREES: "✓",
    DIFFERS: "✗",
    COULD_NOT_RUN: "!",
    INCONCLUSIVE: "~",
    PROVIDED_CHANGED: "±",
    ERROR: "?",
    NOT_JUDGED: "·",
}
_BINS = 10
_MOST_MISTAKES = 12


@dataclass(frozen=True)
class Cell:
    """What came of one part, or case, of one submission."""

    outcome: str
    symbol: str
    label: str
    place: str = ""
    """Where it stands in the submission's page."""


@dataclass(frozen=True)
class Mistake:
    """A mistake, and the name and page of everybody who made it."""

    description: str
    outcome: str
    who: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Row:
    """One submission in the table of the class."""

    name: str
    page: str
    score: str
    share: float
    outcome: str
    outcome_words: str
    first_wrong: str
    review: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class MovedRow:
    """One submission whose points moved."""

    name: str
    page: str
    was: str
    score: str
    now: str
    kept: bool
    change: str
    items: str
    because: str


@dataclass(frozen=True)
class ClassPages:
    """Renders the pages of a class, whose own page finds the others in `folder`, next to it where that is empty."""

    folder: str = ""

    def of_submission(self, grade: Grade, verdict: Verdict) -> str:
        """Return the page for a submission's author. Both have their errors in steps of tolerance."""
        return render(
            "submission.html",
            grade=grade,
            score=f"{number(grade.score)} of {number(grade.points)}",
            next_step=_marked_up(next_step(grade)),
            items=[(item, f"{number(item.earned)} of {number(item.points)}", _cell(item)) for item in grade.items],
            steps=STEP_WORDS,
            wrong=author_cases(verdict),
            cases=_with_places(grade.cases, "case"),
            parts=_with_places(grade.parts, "part"),
            outcome_words=OUTCOMES[grade.outcome],
            moved=moved_sentence(grade.moved, grade.points) if grade.moved is not None else "",
        )

    def of_moves(self, grades: Sequence[Grade], stems: Sequence[str], ledger: Ledger) -> str:
        """Return the page of everybody's points before and after, which lies next to the grades."""
        moved = [(grade.name, stem, grade.moved) for grade, stem in zip(grades, stems, strict=True) if grade.moved]
        rows = [
            MovedRow(
                name=name,
                page=f"{FEEDBACK}/{stem}.html",
                was=number(item.was),
                score=number(item.score),
                now=number(item.now),
                kept=item.kept,
                change=signed(item.score - item.was),
                items=items_words(item),
                because=because_words(item.because),
            )
            for name, stem, item in moved
        ]
        return render("moved.html", headline=moved_line(ledger), lines=ledger_lines(ledger), rows=rows)

    def of_class(self, grades: Sequence[Grade], stems: Sequence[str], overview: Overview) -> str:
        """Return the page of the class."""
        pages = {id(grade): self._page(stem) for grade, stem in zip(grades, stems, strict=True)}  # names may look alike
        mistakes = [
            Mistake(item.description, item.outcome, tuple((grade.name, pages[id(grade)]) for grade in made_by))
            for item, made_by in zip(overview.clusters, by_mistake(grades), strict=True)
        ]
        columns = [tally.name for tally in overview.parts or overview.cases]
        return render(
            "class.html",
            overview=overview,
            outcomes=[(outcome, OUTCOMES[outcome], count) for outcome, count in overview.outcomes.items()],
            columns=columns,
            mistakes=mistakes[:_MOST_MISTAKES],
            rarer=mistakes[_MOST_MISTAKES:],
            kind="part" if overview.parts else "case",
            rows=[_row(grade, self._page(stem), columns) for grade, stem in zip(grades, stems, strict=True)],
            points=number(overview.points),
            bins=_bins(grades),
            number=number,
        )

    def _page(self, stem: str) -> str:
        return PurePath(self.folder, FEEDBACK, f"{stem}.html").as_posix()


def _marked_up(pieces: Sequence[Piece]) -> Markup:
    """Render a sentence with its names, and what our words have in backticks, as code."""
    found = Markup("")
    for piece in pieces:
        texts = piece.text.split("`") if piece.kind == "words" else [piece.text]
        for place, text in enumerate(texts):
            is_code = place % 2 or piece.kind == "name"
            found += Markup("<code>{}</code>").format(text) if is_code else escape(text)
    return found


def _row(grade: Grade, page: str, columns: Sequence[str]) -> Row:
    results = _with_places(grade.parts, "part") if grade.parts else _with_places(grade.cases, "case")
    known = {item.name: cell for item, cell in results}
    return Row(
        name=grade.name,
        page=page,
        score=number(grade.score),
        share=grade.score / grade.points if grade.points else 0.0,
        outcome=grade.outcome,
        outcome_words=OUTCOMES[grade.outcome],
        first_wrong=_first_wrong(grade),
        review=", ".join(grade.review),
        cells=tuple(known.get(name) or Cell(NOT_JUDGED, "·", "not judged") for name in columns),
    )


def _first_wrong(grade: Grade) -> str:
    """Return what is wrong first: a file that is missing, then the module or function."""
    name = grade.first_name or grade.first_divergence
    if not grade.missing:
        return name
    return missing_files(grade.missing) + (f"; {name}" if grade.first_elsewhere else "")


def _with_places(results: Sequence[Result], kind: str) -> list[tuple[Result, Cell]]:
    """Return cases or parts, each with its cell, which leads to its row in the submission's page."""
    return [(item, _cell(item, f"{kind}-{number}")) for number, item in enumerate(results, start=1)]


def _cell(item: ItemResult | CaseResult | PartResult, place: str = "") -> Cell:
    words = OUTCOMES[item.outcome]
    return Cell(item.outcome, SYMBOLS[item.outcome], f"{words}: {item.why}" if item.why else words, place)


def _bins(grades: Sequence[Grade]) -> list[tuple[str, int]]:
    """Count submissions by the share of the points that they earned, in tenths; full points have a bin of their own."""
    counts = [0] * (_BINS + 1)
    for grade in grades:
        counts[math.floor(_BINS * grade.score / grade.points + 1e-9) if grade.points else 0] += 1
    names = [f"{10 * place} %" for place in range(_BINS)] + ["all"]
    return list(zip(names, counts, strict=True))
