"""What changed between two golds, as a table for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from rich.console import Console
from rich.table import Table

from goldsmith.gold import TensorChange

_MOST = 40
_FEWEST = 5
_NUMBERS = 46
_NARROWEST = 12
"""Cells that the three columns of numbers and all gaps take, and the least that a name of a tensor gets."""


def show_changes(console: Console, changes: Sequence[TensorChange], *, below: int = 0) -> None:
    """One row a tensor: what happened, how large it is beside the tensor and beside its tolerance. With so many lines
    to come `below`, only as many rows as stay in sight with them, each one line."""
    short = below > 0 and console.is_terminal
    most = min(_MOST, max(_FEWEST, console.height - below - 2)) if short else _MOST
    rows = [_row(item) for item in changes[:most]]
    if short:
        room = console.width - _NUMBERS - max(len(row[0]) + len(row[2]) for row in rows)
        rows = [(case, _end_of(path, max(_NARROWEST, room)), *rest) for case, path, *rest in rows]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("case", "tensor", "change", "largest", "of its rms", "of its tolerance"):
        justify: Literal["left", "right"] = "right" if heading[0] in "lo" else "left"
        table.add_column(heading, justify=justify, overflow="ellipsis" if short else "fold", no_wrap=short)
    for row in rows:
        table.add_row(*row)
    console.print(table)
    if len(changes) > most:
        console.print(f"and {len(changes) - most} more", highlight=False)


def _row(item: TensorChange) -> tuple[str, ...]:
    if item.change == "values":
        what = "values" if item.largest is not None else f"{item.before} → {item.after}"
    else:
        what = f"{item.change}: {' → '.join(filter(None, (item.before, item.after)))}"
    return item.case, item.path, what, _number(item.largest), _number(item.relative), _times(item.excess)


def _end_of(path: str, width: int) -> str:
    """What tells tensors apart stands at the end of their names."""
    return path if len(path) <= width else f"…{path[1 - width :]}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2g}"


def _times(value: float | None) -> str:
    return "" if value is None else f"{value:.2g} x"
