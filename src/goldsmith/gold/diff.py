"""Find what changed between two golds, tensor by tensor. Only tensors whose hashes differ are loaded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from goldsmith.errors.base import GoldsmithError
from goldsmith.gold.arrays import is_array, leaves_of, numbers_of
from goldsmith.gold.calibration import noise_limits
from goldsmith.gold.facts import LeafFacts
from goldsmith.gold.files import read_payload, read_reference
from goldsmith.gold.manifest import CaseEntry, TensorEntry, read_manifest
from goldsmith.gold.sizes import root_mean_square
from goldsmith.gold.tolerances import tolerance_ratio, with_floor

ADDED, REMOVED, SHAPE, DTYPE, VALUES = "added", "removed", "shape", "dtype", "values"


class TensorChange(msgspec.Struct, frozen=True, kw_only=True):
    """One tensor that is not what it was.

    `largest` is the largest change of an element, `relative` the same over the tensor's root mean square, and
    `excess` over what its tolerance allows: at most 1 means that a comparison would not notice. None stands for a
    tensor that must be exact, or in which an element became NaN or infinite.
    """

    case: str
    """The case."""
    path: str
    """Where the tensor sits in its file."""
    change: str
    """What happened to it: `added`, `removed`, `shape`, `dtype` or `values`."""
    before: str | None = None
    """What it was: dtype and shape."""
    after: str | None = None
    """What it is now."""
    largest: float | None = None
    """The largest change of an element."""
    relative: float | None = None
    """The same over the tensor's root mean square."""
    excess: float | None = None
    """The share of its tolerance that the change uses up; at most 1 means that a comparison would not notice."""
    noise: float | None = None
    """The same as a share of the noise that was seen when its tolerance was measured; null where none was measured."""


def gold_changes(before: Path | None, after: Path) -> list[TensorChange]:
    """List every tensor that was added, removed or changed; `before` is None if there was no gold."""
    old = {case.name: case for case in read_manifest(before).cases} if before else {}
    new = {case.name: case for case in read_manifest(after).cases}
    found: list[TensorChange] = []
    for name in dict.fromkeys([*old, *new]):
        found += _case_changes(name, old.get(name), new.get(name), before, after)
    return found


def _case_changes(
    name: str, old: CaseEntry | None, new: CaseEntry | None, before: Path | None, after: Path
) -> list[TensorChange]:
    return case_changes(name, old, before, new.tensors if new else (), after / new.file if new else None)


def case_changes(
    name: str,
    old: CaseEntry | None,
    before: Path | None,
    tensors: Sequence[TensorEntry | LeafFacts],
    file: Path | None,
) -> list[TensorChange]:
    """List every tensor of a case that was added, removed or changed: `old` in folder `before`, the new ones in
    `file`."""
    mine = {item.path: item for item in old.tensors} if old else {}
    theirs = {item.path: item for item in tensors}
    found: list[TensorChange] = []
    changed: list[str] = []
    for path in dict.fromkeys([*mine, *theirs]):
        one, two = mine.get(path), theirs.get(path)
        if one is None or two is None:
            kind = ADDED if one is None else REMOVED
            found.append(TensorChange(case=name, path=path, change=kind, before=_type(one), after=_type(two)))
        elif one.sha256 != two.sha256:
            if (one.shape, one.dtype) == (two.shape, two.dtype):
                changed.append(path)
            else:
                kind = SHAPE if one.shape != two.shape else DTYPE
                found.append(TensorChange(case=name, path=path, change=kind, before=_type(one), after=_type(two)))
    if changed and old and before and file:
        first, second = _readable_leaves(before / old.file), leaves_of(read_payload(file))
        marks = _noisy(before, old)
        found += [
            _values(name, path, mine[path], first[path], second[path], marks.get(path))
            for path in changed
            if path in first
        ]
        unread = [path for path in changed if path not in first]
        found += [TensorChange(case=name, path=path, change=VALUES, before="unreadable") for path in unread]
    return found


def _readable_leaves(file: Path) -> dict[str, Any]:
    """Read the leaves of the old gold; return none if it is damaged, which must not keep it from being replaced."""
    try:
        return leaves_of(read_payload(file))
    except GoldsmithError:
        raise
    except Exception:
        return {}


def _noisy(folder: Path, case: CaseEntry) -> dict[str, Any]:
    """Return which elements of the case's tensors are noise, where any are."""
    if case.reference is None or not (folder / case.reference).is_file():
        return {}
    try:
        return read_reference(folder / case.reference)[1]
    except Exception:  # damaged gold must not keep itself from being replaced
        return {}


def _values(case: str, path: str, entry: TensorEntry, one: Any, two: Any, noisy: Any) -> TensorChange:
    kind = _type(entry)
    if not _is_number(one):
        return TensorChange(case=case, path=path, change=VALUES, before=repr(one), after=repr(two))
    sizes = change_sizes(one, two, entry, noisy)
    return TensorChange(case=case, path=path, change=VALUES, before=kind, after=kind, **sizes)


def change_sizes(before: Any, after: Any, entry: TensorEntry, noisy: Any = None) -> dict[str, float | None]:
    """Measure the change of one tensor in every unit that `TensorChange` has; return nothing if an element became or
    ceased to be NaN or infinite."""
    import numpy as np

    one, two = numbers_of(before), numbers_of(after)
    tolerance = with_floor(entry.tolerance, entry.dtype) if entry.tolerance else None
    both = np.isfinite(one) & np.isfinite(two)
    same = (one == two) | (np.isnan(one) & np.isnan(two))
    if not both.any() or (~both & ~same).any():
        return {}
    gap, gold = np.abs(two[both] - one[both]), one[both]
    largest, rms = float(gap.max()), root_mean_square(gold)
    sizes = {"largest": largest, "relative": largest / rms if rms else None}
    if tolerance is not None and tolerance.kind != "exact":
        marks = noisy[both] if noisy is not None and noisy.shape == both.shape else None
        seen = noise_limits(tolerance)
        sizes["excess"] = tolerance_ratio(tolerance, gap, gold, marks)
        sizes["noise"] = tolerance_ratio(seen, gap, gold, marks) if seen else None
    return sizes


def _is_number(value: Any) -> bool:
    return is_array(value) or isinstance(value, int | float)


def _type(entry: TensorEntry | LeafFacts | None) -> str | None:
    return f"{entry.dtype} {list(entry.shape)}" if entry else None
