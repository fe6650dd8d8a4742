"""Show what changed between two golds, and what caused it, as tables and a sentence for people."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from goldsmith.errors.base import making_command
from goldsmith.foundation.wording import count_of
from goldsmith.generate.change_cause import TensorCause
from goldsmith.generate.gold_difference import GoldDifference
from goldsmith.generate.verify import Proof
from goldsmith.gold.diff import TensorChange
from goldsmith.render.columns import shortened, wrapped
from goldsmith.render.console import print_line, print_table
from goldsmith.render.summary import Summary

_MAX_ROWS = 40
_MIN_ROWS = 5
_NUMBER_CELLS = 41
_MIN_NAME_CELLS = 12
"""What the three columns of numbers and all gaps take, and the least for a tensor's name."""


def show_difference(console: Console, found: GoldDifference) -> None:
    """Show each tensor that differs, notes, and how many differ last."""
    if found.changes:
        show_changes(console, found.changes)
        print_line(console)
    for note in found.notes:
        print_line(console, Text(f"Note: {note}.", "yellow"))
    what = f"since {found.revision}" if found.revision else "by regenerating"
    count = count_of(len(found.changes), "tensor") if found.changes else "no tensor"
    points = f", and {found.points_words}" if found.points else ""
    print_line(console, Text(f"{found.name}: {count} changed {what}{points}.", "bold"))


def show_proof(console: Console, proof: Proof) -> None:
    """Show what `goldsmith verify` checked, what moved and why, and the conclusion last."""
    if proof.checks:
        Summary(console).show_checks(proof.checks, title=proof.name)
    if proof.advice:
        Summary(console).show_advice(proof.advice)
    if proof.attribution is not None and proof.attribution.tensors:
        print_line(console)
        show_causes(console, proof.attribution.tensors)
    elif proof.changes:
        print_line(console)
        show_changes(console, proof.changes)
    print_line(console)
    print_line(console, Text(verify_line(proof), "bold"))


def show_changes(console: Console, changes: Sequence[TensorChange], *, below: int = 0) -> None:
    """Show one row for each tensor: what changed, and how large the change is relative to the tensor and to its
    tolerance. If `below` lines follow, show only as many rows as stay visible with them, each in one line."""
    short = below > 0 and console.is_terminal
    most = min(_MAX_ROWS, max(_MIN_ROWS, console.height - below - 2)) if short else _MAX_ROWS
    rows = [_row(item) for item in changes[:most]]
    taken = sum(max((len(row[column]) for row in rows), default=0) for column in range(3))
    last = "of its tolerance"
    if console.is_terminal and taken + _NUMBER_CELLS + len("of its ") > console.width:
        last = "of its\ntolerance"
        room = console.width - _NUMBER_CELLS - max((len(row[0]) for row in rows), default=0)
        change = min(max((len(row[2]) for row in rows), default=0), max(_MIN_NAME_CELLS, room // 2))
        rows = [_fitted(row, max(_MIN_NAME_CELLS, room - change), change, short=short) for row in rows]
    headings = ("case", "tensor", "change", "largest", "of its rms", last)
    print_table(console, headings, rows, numbers=(3, 4, 5), texts=0)
    if len(changes) > most:
        print_line(console, f"and {len(changes) - most} more")


def show_causes(console: Console, tensors: Sequence[TensorCause]) -> None:
    """Show one row for each tensor: what moved it, and by how much of its tolerance each cause did."""
    rows = [
        (item.case, item.path, item.cause, _share(item.environment, item), _share(item.code, item))
        for item in sorted(tensors, key=lambda item: item.cause == "environment")[:_MAX_ROWS]
    ]
    print_table(console, ("case", "tensor", "moved by", "environment", "code"), rows, numbers=(3, 4), texts=0)
    if len(tensors) > _MAX_ROWS:
        print_line(console, f"and {len(tensors) - _MAX_ROWS} more")
    print_line(console, "environment and code: in units of the tensor's tolerance")


def _share(value: float | None, item: TensorCause) -> str:
    return _times(value) if value is not None else "" if item.cause == "unknown" else "exact"


def verify_line(proof: Proof) -> str:
    """Return the sentence that sums up what `goldsmith verify` found."""
    name = proof.name
    if proof.outcome == "missing":
        return f"{name}: no gold yet; make it with `{making_command(name)}`."
    if proof.outcome == "refused" and proof.error is not None:
        return f"{name}: {proof.error.message}"
    if proof.outcome == "refused":
        return f"{name}: not sound; regenerate it with `{making_command(name)}`, or take it from git."
    if proof.error is not None:
        return f"{name}: could not be reproduced: {proof.error.message}"
    sound = f"{name}: sound, all {len(proof.checks)} checks passed"
    if proof.reproduced is None:
        return f"{sound}."
    if proof.reproduced:
        return f"{sound}, and reproduced bit for bit."
    if proof.files and not proof.changes:
        return f"{name}: no tensor would change, but other content of {', '.join(proof.files)} would."
    if proof.changes:
        count = count_of(len(proof.changes), "tensor")
        return f"{name}: {count} would change; {_cause(proof)}."
    assert proof.noise is not None
    return f"{sound}, and reproduced within noise: {proof.noise.sentence()}; {_cause(proof)}."


def _cause(proof: Proof) -> str:
    """Say whether the code or the environment caused the change, in one clause."""
    found, where = proof.attribution, "; ".join(proof.environment) or "no known difference here"
    if found is None:
        return f"the cause cannot be told: the recipe does not run on recorded inputs and weights ({where})"
    if found.cause == "unknown":
        return f"the cause cannot be told: {found.unknown}"
    if not proof.sources:
        unmoved = {True: ", float64 has moved, too", False: ", float64 has not moved", None: ""}[found.float64_moved]
        return f"the same sources{unmoved}: the environment ({where})"
    moved = [
        f"the {what} moved {count_of(len(shares), 'tensor')}{_at_most(shares)}"
        for what in ("code", "environment")
        if (shares := [share for item in found.tensors if (share := getattr(item, what)) != 0.0])
    ]
    return f"{', '.join(moved) or 'the code moved none on recorded inputs and weights'} ({proof.sources[0]}; {where})"


def _at_most(shares: Sequence[float | None]) -> str:
    """Say by how much at most, in units of tolerance; tensors that must be exact have none."""
    if any(share is None for share in shares):
        return ", some that must be exact"
    return f", by at most {max(share or 0.0 for share in shares):.2g} of their tolerance"


def _row(item: TensorChange) -> tuple[str, ...]:
    if item.change == "values":
        what = "values" if item.largest is not None else f"{item.before} → {item.after}"
    else:
        what = f"{item.change}: {' → '.join(filter(None, (item.before, item.after)))}"
    return item.case, item.path, what, _number(item.largest), _number(item.relative), _times(item.excess)


def _fitted(row: tuple[str, ...], tensor: int, change: int, *, short: bool) -> tuple[str, ...]:
    """Fit a row's names and words into their columns: cut to one line if `short`, else wrapped."""
    case, path, what, *numbers = row
    if short:
        return case, _end_of(path, tensor), shortened(what, change), *numbers
    return case, "\n".join(wrapped(path, tensor)), "\n".join(wrapped(what, change)), *numbers


def _end_of(path: str, width: int) -> str:
    """Keep the end of a tensor's name, which tells tensors apart, from a dot on if there is one."""
    if len(path) <= width:
        return path
    end = path[1 - width :]
    return f"…{end[end.index('.') :] if '.' in end[:-1] else end}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2g}"


def _times(value: float | None) -> str:
    return "" if value is None else f"{value:.2g} x"
