"""What changed between two golds, as a table for people."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from goldsmith.gold import TensorChange

_MOST = 40


def show_changes(console: Console, changes: Sequence[TensorChange]) -> None:
    """One row a tensor: what happened, how large it is beside the tensor and beside its tolerance."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("case", "tensor", "change", "largest", "of its rms", "of its tolerance"):
        table.add_column(heading, justify="right" if heading[0] in "lo" else "left", overflow="fold")
    for item in changes[:_MOST]:
        if item.change == "values":
            what = "values" if item.largest is not None else f"{item.before} → {item.after}"
        else:
            what = f"{item.change}: {' → '.join(filter(None, (item.before, item.after)))}"
        table.add_row(item.case, item.path, what, _number(item.largest), _number(item.relative), _times(item.excess))
    console.print(table)
    if len(changes) > _MOST:
        console.print(f"and {len(changes) - _MOST} more")


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2g}"


def _times(value: float | None) -> str:
    return "" if value is None else f"{value:.2g} x"
