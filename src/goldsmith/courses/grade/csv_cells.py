"""Cells of a CSV file with their places in its text, so that some can be replaced while every other byte stays."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

BYTE_ORDER_MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"
_MAX_FILE_BYTES = 64 * 2**20


class NotCsv(ValueError):
    """The text is not CSV; the message says where and why."""


@dataclass(frozen=True)
class Cell:
    """A cell: its value without quotes, and where it begins and ends in the text, quotes included."""

    value: str
    begin: int
    end: int


def read_text(path: Path) -> str:
    """Read a file as UTF-8, with line ends and a byte order mark as they are."""
    if path.stat().st_size > _MAX_FILE_BYTES:
        raise NotCsv(f"it has more than {_MAX_FILE_BYTES // 2**20} MiB")
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        raise NotCsv("it is not UTF-8 text, which a spreadsheet may have changed") from None
    if "\0" in text:
        raise NotCsv("it is not text")
    return text


def cells_of(text: str, separator: str) -> list[list[Cell]]:
    """Return the cells of every row; a quote where none may be raises `NotCsv`."""
    pattern = re.compile(rf'("[^"]*(?:""[^"]*)*"|[^{separator}"\r\n]*)({separator}|\r\n|\n|\r|\Z)')
    rows: list[list[Cell]] = [[]]
    at = len(BYTE_ORDER_MARK) if text.startswith(BYTE_ORDER_MARK) else 0
    while True:
        found = pattern.match(text, at)
        if found is None:
            raise NotCsv(f"a cell in line {text.count(chr(10), 0, at) + 1} has quotes that do not fit")
        written = found[1]
        value = written[1:-1].replace('""', '"') if written.startswith('"') else written
        rows[-1].append(Cell(value, *found.span(1)))
        at = found.end()
        if not found[2] or (found[2] != separator and at == len(text)):
            return rows
        if found[2] != separator:
            rows.append([])


def with_cells(text: str, new: Mapping[Cell, str]) -> str:
    """Return the text with other values in some cells. The values must need no quotes."""
    parts, at = [], 0
    for cell, value in sorted(new.items(), key=lambda item: item[0].begin):
        parts += [text[at : cell.begin], value]
        at = cell.end
    return "".join([*parts, text[at:]])
