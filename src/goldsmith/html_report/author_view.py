"""What a submission's author sees of a case: calls in their order and recorded values, each in a step of tolerance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from goldsmith.html_report.view import Role
from goldsmith.judge import leaf_words, words
from goldsmith.judge.causes import telling_case
from goldsmith.judge.verdicts import AGREES, DIFFERS, CaseVerdict, ModuleVerdict, Verdict

_MAX_ROWS = 60


@dataclass(frozen=True)
class StepRow:
    """A call or a recorded value: its step, None where that is not told, and how often it occurs so."""

    label: str
    kind: str
    role: Role
    step: int | None
    count: int = 1


@dataclass(frozen=True)
class StepTable:
    """Rows in order; `left_out` says how many that are right are not among them."""

    title: str
    rows: tuple[StepRow, ...]
    left_out: int = 0

    @property
    def has_untold(self) -> bool:
        return any(row.step is None for row in self.rows)


@dataclass(frozen=True)
class AuthorCase:
    """A case that differs."""

    name: str
    title: str
    tables: tuple[StepTable, ...]
    said: str = ""
    """What is known about the rest of it."""


def author_cases(verdict: Verdict) -> tuple[AuthorCase, ...]:
    """Return the cases that differ, the most telling first. The verdict has its errors in steps."""
    telling = telling_case(verdict)
    first = telling.name if telling else ""
    wrong = [case for case in verdict.cases if case.outcome == DIFFERS]
    return tuple(_case(case) for case in sorted(wrong, key=lambda case: case.name != first))


def _case(case: CaseVerdict) -> AuthorCase:
    right = {item.callable for item in case.modules if item.outcome == AGREES}
    calls = [
        StepRow(
            label := item.their_label if item.theirs else item.label,
            "" if item.kind in label else item.kind,
            role := _role(item, right),
            None if item.relative is None or role == "hidden" else leaf_words.step_of(item.relative),
        )
        for item in case.modules
    ]
    values = [
        StepRow(
            leaf_words.leaf_name(case, leaf), "", "right" if leaf.agrees else "wrong", leaf_words.step_of(leaf.excess)
        )
        for leaf in case.leaves
    ]
    tables = [_table("What was called, in order", calls), _table("What was recorded", values)]
    said = words.corrected_line(case)
    return AuthorCase(
        case.name, case.title, tuple(table for table in tables if table.rows), f"{said[:1].upper()}{said[1:]}"
    )


def _role(module: ModuleVerdict, right: Collection[str]) -> Role:
    """Return what a call is to the difference. One that is to blame although what it returns is right, or some of its
    calls are, does not show the difference."""
    if module.source:
        within = module.relative is not None and leaf_words.step_of(module.relative) == 0
        unseen = module.relative is None and module.inferred and module.callable in right
        return "hidden" if within or unseen else "source"
    if module.outcome == AGREES:
        return "victim" if module.alone else "right"
    return "holds"


def _table(title: str, rows: Iterable[StepRow]) -> StepTable:
    """Count equal rows once, and leave out what is right if there is too much of it."""
    counts = Counter(rows)
    found = [StepRow(row.label, row.kind, row.role, row.step, count) for row, count in counts.items()]
    return StepTable(title, *_shortened(found))


def _shortened(rows: Sequence[StepRow]) -> tuple[tuple[StepRow, ...], int]:
    over = len(rows) - _MAX_ROWS
    if over <= 0:
        return tuple(rows), 0
    right = [number for number, row in enumerate(rows) if row.role == "right"]
    dropped = set(right[-over:])
    kept = tuple(row for number, row in enumerate(rows) if number not in dropped)
    return kept[:_MAX_ROWS], len(rows) - len(kept[:_MAX_ROWS])
