"""Judge how far a case that was recorded again is from the previous gold: the same bits, within noise, or moved.

Another processor, torch or number of threads changes bits without changing what is computed. Such a difference is at
most as large as the noise that was seen when tolerances were measured, and does not show in float64.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from goldsmith.foundation.nested import map_tree
from goldsmith.gold.arrays import leaf_facts, leaves_of, numbers_of
from goldsmith.gold.diff import ADDED, REMOVED, VALUES, TensorChange, case_changes
from goldsmith.gold.facts import JUDGED_SECTIONS, CaseFacts
from goldsmith.gold.files import read_payload, read_reference, same_bytes
from goldsmith.gold.manifest import TENSOR_SECTIONS, CaseEntry
from goldsmith.gold.safetensors_reader import open_mapped
from goldsmith.gold.sizes import root_mean_square
from goldsmith.gold.tolerances import sizes_of
from goldsmith.gold.trace_tensors import keeps_sketches

FLOAT64_LIMIT = 1e-9
"""Float64 results farther apart than this, over the tensor's size, were computed differently: rounding makes them
differ by 1e-11 at most, the weakest real mistake by 3e-6."""
FLOAT64_NOISE = 1e-8
"""The same limit where rounding is amplified, as a share of the noise in float32; float64 has 2e-9 of it."""
COMPUTED_LIMIT, TRACE_LIMIT = 1e-3, 1e-2
"""Limits for buffers that a model computes, and for tensors of a trace, whose noise was not measured."""


class Movement(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome for one case: the `same` bits, other bits within `noise`, or `moved` beyond that, and why."""

    case: str
    outcome: Literal["same", "noise", "moved"]
    why: str = ""
    changes: tuple[TensorChange, ...] = ()
    float64_moved: bool = False

    @property
    def needs_float64(self) -> bool:
        """Say whether a change exceeds the noise that was seen, so that only float64 can tell that it is noise."""
        return self.outcome == "noise" and any(item.noise is not None and item.noise > 1 for item in self.changes)


def find_movement(old: CaseEntry, before: Path, new: CaseFacts, after: Path, *, same_sources: bool) -> Movement:
    """Compare a case that was recorded again, in the folder `after`, with the gold in `before`.

    If sources have changed, tensors without measured noise must be equal.
    """
    tensors = [leaf for leaf in new.file.leaves if leaf.section in TENSOR_SECTIONS]
    changes = tuple(case_changes(new.name, old, before, tensors, after / new.file.name))
    buffers = _computed(old)
    problems = [problem for item in changes if (problem := _problem(item, buffers, same_sources))]
    problems += _other_problems(old, before, new, after, same_sources)
    if not problems and not same_sources and old.trace:
        problems += _trace_problems(before / old.trace, after / old.trace)
    if problems:
        return Movement(case=new.name, outcome="moved", why=problems[0], changes=changes)
    same = not changes and all(same_bytes(before / name, after / name) for name in (old.file, old.trace) if name)
    return Movement(case=new.name, outcome="same" if same else "noise", changes=changes)


def _other_problems(old: CaseEntry, before: Path, new: CaseFacts, after: Path, same_sources: bool) -> Iterable[str]:
    """Yield what differs besides tensors: names, settings, and whatever else the file holds."""
    if (old.file, old.trace, old.kind) != (new.file.name, new.trace, new.kind):
        yield "it is kept in another form"
        return
    if (old.inputs, old.outputs, old.models) != (new.inputs, new.outputs, new.models):
        yield "its inputs, outputs or models have other names"
        return
    if same_bytes(before / old.file, after / new.file.name):
        return
    one, two = (_rest(read_payload(folder / old.file)) for folder in (before, after))
    if one.keys() != two.keys():
        yield f"its file has other contents ({sorted(one.keys() ^ two.keys())[0]})"
        return
    for path, leaf in one.items():
        if leaf_facts("", leaf).sha256 == leaf_facts("", two[path]).sha256:
            continue
        if not (same_sources and _is_rounding(leaf, two[path])):
            yield f"{path} changed"
            return


def _rest(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return all that a file holds besides the tensors that are compared within a tolerance."""
    return {path: leaf for path, leaf in leaves_of(payload).items() if path.partition(".")[0] not in TENSOR_SECTIONS}


def _is_rounding(one: Any, two: Any) -> bool:
    """Say whether two floats, or arrays of them, such as the final loss, differ by no more than rounding might."""
    facts = leaf_facts("", one), leaf_facts("", two)
    if (facts[0].dtype, facts[0].shape) != (facts[1].dtype, facts[1].shape) or not facts[0].is_inexact:
        return False
    return _distance(numbers_of(one), numbers_of(two), None) <= COMPUTED_LIMIT


def judge_float64(movement: Movement, old: CaseEntry, before: Path, found: Mapping[str, Any]) -> Movement:
    """Judge a movement again once the case has also run in float64, with what it `found` there by path.

    If float64 has moved, the code computes something else; with the `same` bits, only the float64 reference is out of
    date. If it has not moved, other bits within the tolerance are noise.
    """
    reference, noisy, _ = read_reference(before / old.reference) if old.reference else ({}, {}, {})
    tolerances = {item.path: item.tolerance for item in old.tensors}
    for path, values in reference.items():
        if path not in found or numbers_of(found[path]).shape != values.shape:
            return _moved_in_float64(movement, f"{path} has no float64 counterpart now")
        tolerance = tolerances.get(path)
        amplified = tolerance.noise.max * FLOAT64_NOISE if tolerance and tolerance.noise else 0.0
        gap = _distance(values, numbers_of(found[path]), noisy.get(path))
        if gap > max(FLOAT64_LIMIT, amplified):
            return _moved_in_float64(movement, f"{path} moved by {gap:.1e} of its size in float64")
    beyond = [item for item in movement.changes if item.path not in reference and (item.noise or 0.0) > 1]
    if beyond:
        return msgspec.structs.replace(
            movement, outcome="moved", why=f"{beyond[0].path} moved further than noise was seen to go"
        )
    return movement


def _moved_in_float64(movement: Movement, why: str) -> Movement:
    outcome: Literal["same", "moved"] = "same" if movement.outcome == "same" else "moved"
    return msgspec.structs.replace(movement, outcome=outcome, why=why, float64_moved=True)


def _problem(change: TensorChange, buffers: set[str], same_sources: bool) -> str:
    """Return why a change of one tensor is more than noise, or "" if it is not."""
    section = change.path.partition(".")[0]
    if change.change != VALUES:
        happened = "was" if change.change in (ADDED, REMOVED) else "has another"
        return f"{change.path} {happened} {change.change}"
    if section not in JUDGED_SECTIONS:
        if change.path in buffers and change.relative is not None and change.relative <= COMPUTED_LIMIT:
            return ""
        return f"{change.path} is another {'input' if section == 'input' else 'initial weight'}"
    if change.excess is None:
        return f"{change.path} must be exact, or is no longer finite"
    if change.excess > 1:
        return f"{change.path} moved by {change.excess:.2g} of its tolerance"
    if change.noise is None and not same_sources:
        return f"{change.path} changed, and its noise was not measured"
    return ""


def _computed(case: CaseEntry) -> set[str]:
    """Return the paths of weights that models compute themselves."""
    return {
        case.path_of("state_dict", f"{model}.{buffer}")
        for model, facts in case.weights.items()
        for buffer in facts.buffers
    }


def _trace_problems(before: Path, after: Path) -> Iterable[str]:
    """Yield what differs in a trace beyond noise."""
    try:
        one, two = open_mapped(before), open_mapped(after)
    except (OSError, ValueError):
        yield "its trace cannot be read"
        return
    if keeps_sketches(before) != keeps_sketches(after):
        return  # the course's settings have changed, and the new one is kept
    if one.keys() != two.keys() or _index(one.metadata) != _index(two.metadata):
        yield "its modules are called differently"
        return
    for name, values in one.items():
        first, second = numbers_of(values), numbers_of(two[name])
        if first.shape != second.shape or _distance(first, second, None) > TRACE_LIMIT:
            yield f"{name} moved inside its model"
            return


def _index(metadata: Mapping[str, str]) -> Any:
    """Return what is called, in which order and how, without numbers, or hashes of them, that may differ by noise."""
    index = json.loads(metadata.get("goldsmith", "null"), object_hook=_without_gradients)
    return map_tree(_without_numbers, index)


def _without_gradients(entry: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key != "gradients"}


def _without_numbers(leaf: Any) -> Any:
    if isinstance(leaf, str) and leaf.startswith("#"):
        return "#"
    return "number" if isinstance(leaf, float) else leaf


def _distance(one: Any, two: Any, noisy: Any) -> float:
    """Return the farthest element over the tensor's size, leaving out noisy ones."""
    import numpy as np

    quiet = np.ones(one.shape, bool) if noisy is None or noisy.shape != one.shape else ~noisy
    first, second = one[quiet], two[quiet]
    same = (first == second) | (np.isnan(first) & np.isnan(second))
    first, second = first[~same], second[~same]
    if not first.size:
        return 0.0
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        return math.inf
    scale = root_mean_square(one[np.isfinite(one)]) or root_mean_square(first) or 1.0
    return float((np.abs(first - second) / sizes_of(first, scale)).max())
