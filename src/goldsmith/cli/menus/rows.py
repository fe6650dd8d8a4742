"""Rows of a menu as lines of text: columns that fit the terminal, the part of a long list that is in sight."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.cells import cell_len, set_cell_size

_GAP_CELLS = 2
_MIN_CELLS = (6, 8, 12)
_STYLES = {"fresh": "class:good", "stale": "class:doubt", "missing": "class:bad", "injected": "class:bad"}


@dataclass(frozen=True)
class Row:
    """One answer: what it is called, how it stands, what it is about. `keys` are letters that choose it at once, and
    `detail` is what there is no room for in a column."""

    value: Any
    label: str
    status: str = ""
    about: str = ""
    detail: str = ""
    keys: str = ""

    @property
    def cells(self) -> tuple[str, str, str]:
        return self.label, self.status, self.about


def column_widths(rows: Sequence[Row], room: int) -> tuple[int, ...]:
    """Make columns as wide as they need to be. If they do not fit, cut the last first, and leave it out (0) when hardly
    anything would remain."""
    widths = [max(cell_len(row.cells[column]) for row in rows) for column in range(len(_MIN_CELLS))]
    for column in reversed(range(len(_MIN_CELLS))):
        excess = sum(widths) + _GAP_CELLS * (sum(map(bool, widths)) - 1) - room
        if excess <= 0:
            break
        cut = max(widths[column] - excess, min(widths[column], _MIN_CELLS[column]))
        last = column == len(_MIN_CELLS) - 1
        widths[column] = 0 if last and widths[column] - excess < _MIN_CELLS[column] else cut
    return tuple(widths)


def row_pieces(row: Row, widths: Sequence[int]) -> list[tuple[str, str]]:
    """Render a row as styled text, its columns aligned with those of its neighbours."""
    pieces: list[tuple[str, str]] = []
    for cell, width, style in zip(row.cells, widths, ("", _status_style(row), "class:dim"), strict=True):
        if not width:
            continue
        if pieces:
            pieces.append(("", " " * _GAP_CELLS))
        pieces.append((style, set_cell_size(shortened(cell, width), width)))
    return pieces


def out_of_sight(row: Row, widths: Sequence[int]) -> list[str]:
    """Return what the columns of a row do not show."""
    label, status, about = (cell_len(cell) > width for cell, width in zip(row.cells, widths, strict=True))
    said = [row.label] if label else []
    said += [row.detail] if row.detail else [row.status] if status else []
    return [*said, row.about] if about else said


def shortened(text: str, width: int) -> str:
    if cell_len(text) <= width:
        return text
    return f"{set_cell_size(text, width - 1).rstrip()}…" if width > 1 else "…"[:width]


def wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, max(10, width), break_on_hyphens=False) or [""]


def in_sight(count: int, pointed: int, first: int, room: int) -> tuple[int, int]:
    """Return the range of rows to show, so that the pointed one is among them; scroll no further than needed."""
    if count <= room:
        return 0, count
    first = min(max(first, pointed - room + 1), pointed, count - room)
    return first, first + room


def _status_style(row: Row) -> str:
    return _STYLES.get(row.status.partition(":")[0], "class:dim")
