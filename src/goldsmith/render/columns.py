"""Fit text into a width: wrapped between words, and long names after the characters that join their parts."""

from __future__ import annotations

import re
import textwrap

from rich.cells import cell_len, set_cell_size

_MIN_TEXT_CELLS = 28
"""Cells that must be left next to columns for text to be put there; otherwise it goes below them."""
_INDENT_CELLS = 4


def wrapped(text: str, width: int) -> list[str]:
    """Wrap text to lines of at most `width`; longer words are split after a dot, slash, dash or underscore."""
    lines: list[str] = []
    for line in textwrap.wrap(text, width, break_on_hyphens=False, break_long_words=False) or [""]:
        lines += [line] if cell_len(line) <= width else _divided(line, width)
    return lines


def _divided(line: str, width: int) -> list[str]:
    lines = [""]
    for piece in re.findall(r"[^./_\-]*[./_\-]?", line):
        if lines[-1] and cell_len(lines[-1] + piece) > width:
            lines.append("")
        lines[-1] += piece
    return [part for whole in lines for part in _cut(whole.strip(), width)]


def _cut(text: str, width: int) -> list[str]:
    """Cut text that has no place to split."""
    parts = []
    while cell_len(text) > width:
        parts.append(set_cell_size(text, width))
        text = text[len(parts[-1]) :]
    return [*parts, text] if text else parts


def shortened(text: str, width: int) -> str:
    """Cut a text that does not fit at the end of a word."""
    if cell_len(text) <= width:
        return text
    start = set_cell_size(text, width - 2)
    whole = text[len(start) : len(start) + 1] in (" ", "")
    kept = start if whole or " " not in start else start.rpartition(" ")[0]
    return f"{kept.rstrip(' ,;:')} …"


def beside(indent: int, width: int) -> tuple[int, int, bool]:
    """Return the indent and width of text next to columns that end at `indent`, and whether it goes below them
    instead."""
    if width - indent >= _MIN_TEXT_CELLS:
        return indent, width - indent, False
    return _INDENT_CELLS, max(_MIN_TEXT_CELLS, width - _INDENT_CELLS), True
