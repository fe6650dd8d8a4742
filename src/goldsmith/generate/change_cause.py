"""Attribution of changed tensors to the environment or to the code.

The solution is replayed here on gold's own inputs and weights, as it is and, if sources have changed, as it was when
the gold was made. What the old code computes here differs from the gold because of the environment alone; what the new
code computes differs from that because of the code alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from goldsmith.errors.base import GoldsmithError
from goldsmith.generate.old_sources import NotInHistory, as_it_was
from goldsmith.generate.options import Options
from goldsmith.generate.replay_once import replay, replay_in_float64
from goldsmith.gold.arrays import judged_leaves, leaf_facts, numbers_of
from goldsmith.gold.diff import change_sizes
from goldsmith.gold.drift import Movement, judge_float64
from goldsmith.gold.load import Gold
from goldsmith.gold.manifest import TensorEntry
from goldsmith.process.launcher import Watcher
from goldsmith.process.messages import KeptCase
from goldsmith.targets.target import Target

_BEYOND = math.inf
Payloads = Mapping[str, Mapping[str, Any]]
Cause = Literal["environment", "code", "both", "unknown"]


class TensorCause(msgspec.Struct, frozen=True, kw_only=True):
    """A tensor that came out differently, and the cause."""

    case: str
    """The case."""
    path: str
    """Where the tensor sits in its file."""
    cause: Cause
    """What moved it further than noise, or the most: the `environment`, the `code`, `both`, or `unknown`."""
    environment: float | None = None
    """The share of its tolerance by which the old code is off here; null where that code was not to be had."""
    code: float | None = None
    """The share of its tolerance by which the new code is off from the old code here."""


class Attribution(msgspec.Struct, frozen=True, kw_only=True):
    """Every tensor that came out differently, and the cause of them all."""

    cause: Cause
    """What moved them, taken together."""
    tensors: tuple[TensorCause, ...]
    """Each of them."""
    float64_moved: bool | None = None
    """With the same sources: whether float64 results moved as well; null where that was not to be known."""
    unknown: str = ""
    """Why the old code could not be run, so that environment and code cannot be told apart."""


def attribute(target: Target, options: Options, gold: Gold, changed: Sequence[str]) -> Attribution:
    """Run the solution on gold's inputs and weights, as it is and as it was, and say what moved each tensor.

    `changed` are the sources that are not what the gold was made from.
    """
    now = replay(target, target.placed, options, gold)
    if not changed:
        moved = _float64_moved(target, options, gold)
        return Attribution(cause="environment", tensors=_causes(gold, now, now), float64_moved=moved)
    try:
        with as_it_was(target, gold.manifest) as old:
            then = replay(old, old.placed, options, gold)
    except NotInHistory as missing:
        why = f"{missing} as it was is not in git's history"
        return Attribution(cause="unknown", tensors=_causes(gold, {}, now), unknown=why)
    except GoldsmithError as error:
        why = f"the sources as they were do not run here: {error}"
        return Attribution(cause="unknown", tensors=_causes(gold, {}, now), unknown=why)
    tensors = _causes(gold, then, now)
    found = {item.cause for item in tensors}
    return Attribution(cause=found.pop() if len(found) == 1 else "both", tensors=tensors)


def _causes(gold: Gold, then: Payloads, now: Payloads) -> tuple[TensorCause, ...]:
    """Find the cause for each tensor that the code computes differently `now`; what it did `then` may be unknown."""
    found = []
    for name in gold:
        case = gold[name]
        recorded, new, old = (judged_leaves(item) for item in (case.data, now.get(name, {}), then.get(name, {})))
        entries = {item.path: item for item in case.entry.tensors}
        for path in (
            []
            if name not in now
            else [path for path, leaf in recorded.items() if path not in new or _differ(leaf, new[path])]
        ):
            cause, sizes = _cause(recorded[path], old.get(path), new.get(path), entries[path], case.noisy.get(path))
            found.append(TensorCause(case=name, path=path, cause=cause, **sizes))
    return tuple(found)


def _cause(gold: Any, old: Any, new: Any, entry: TensorEntry, noisy: Any) -> tuple[Cause, dict[str, float | None]]:
    if old is None or new is None:
        return "unknown" if new is not None else "code", {}
    environment, code = _change(gold, old, entry, noisy), _change(old, new, entry, noisy)
    shares = {"environment": environment.get("excess"), "code": code.get("excess")}
    if environment.get("noise", _BEYOND) <= 1 or code.get("noise", _BEYOND) <= 1:
        larger = max(shares, key=lambda name: math.inf if (share := shares[name]) is None else share)
        return ("code" if larger == "code" else "environment"), shares
    return "both", shares


def _change(one: Any, two: Any, entry: TensorEntry, noisy: Any) -> dict[str, Any]:
    """Return how far two results are apart; without measurements, any difference is beyond noise."""
    if not _differ(one, two):
        return {"excess": 0.0, "noise": 0.0}
    if numbers_of(one).shape != numbers_of(two).shape:
        return {"excess": None, "noise": _BEYOND}
    sizes = change_sizes(one, two, entry, noisy)
    return sizes if sizes.get("noise") is not None else sizes | {"noise": _BEYOND}


def _differ(one: Any, two: Any) -> bool:
    return leaf_facts("", one).sha256 != leaf_facts("", two).sha256


def _float64_moved(target: Target, options: Options, gold: Gold) -> bool | None:
    """Return whether float64 results differ from the reference; None if there is no reference."""
    cases = [gold[name] for name in gold if gold[name].entry.reference]
    if not cases:
        return None
    kept = {case.name: KeptCase.of(case.entry, case.path) for case in cases}
    found = replay_in_float64(target, target.placed, options, kept, Watcher())
    unmoved = [
        judge_float64(Movement(case=case.name, outcome="noise"), case.entry, gold.folder, found.get(case.name, {}))
        for case in cases
    ]
    return any(item.outcome == "moved" for item in unmoved)
