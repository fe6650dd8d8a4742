"""Show on a terminal whose points moved since an earlier run, and why."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from goldsmith.courses.grade.grades import Grade
from goldsmith.courses.grade.moves import Ledger, because_words, items_words, ledger_lines, moved_line
from goldsmith.courses.grade.scoring import number
from goldsmith.render.columns import shortened
from goldsmith.render.console import print_line, print_table

_HEADINGS = ("submission", "was", "is", "by", "because")
_MAX_ITEMS_CELLS = 60


def show_ledger(console: Console, grades: Sequence[Grade], ledger: Ledger) -> None:
    """Show everybody whose points moved, then what changed and for how many."""
    rows = [
        (grade.name, number(grade.moved.was), _present(grade), _items(grade), because_words(grade.moved.because))
        for grade in grades
        if grade.moved is not None
    ]
    print_line(console)
    if rows:
        print_table(console, _HEADINGS, rows, numbers=(1,), texts=0)
        print_line(console)
    for line in ledger_lines(ledger):
        print_line(console, line, keep=True)
    print_line(console, Text(moved_line(ledger), "bold"), keep=True)


def _present(grade: Grade) -> str:
    assert grade.moved is not None
    return f"{number(grade.score)} kept, not {number(grade.moved.now)}" if grade.moved.kept else number(grade.score)


def _items(grade: Grade) -> str:
    assert grade.moved is not None
    return shortened(items_words(grade.moved), _MAX_ITEMS_CELLS)
