"""What a verdict rests on, kept for a page that shows it: wrong tensors next to gold's, and every traced call."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from goldsmith.comparison.results import SKETCHED
from goldsmith.gold.arrays import numbers_of
from goldsmith.gold.tolerances import Tolerance
from goldsmith.gold.trace_tensors import is_left_out
from goldsmith.judge.call_limits import measured_noise
from goldsmith.judge.trace_pairs import TracePair, is_cut_off
from goldsmith.judge.traces import Call, in_order_of_return
from goldsmith.judge.verdicts import DIFFERS, CaseVerdict
from goldsmith.runs.run import CaseRuns

if TYPE_CHECKING:
    from goldsmith.gold.manifest import CaseEntry
    from goldsmith.judge.criteria import Criteria

MAX_TENSORS_PER_CASE = 3
MAX_ELEMENTS = 2**24
"""Larger tensors are not kept: a page could not show them."""


@dataclass(frozen=True)
class TensorEvidence:
    """A tensor that differs, next to gold's, and how far each element may be off: a number, or an array of them; None
    where nothing but the same will do."""

    path: str
    gold: Any
    theirs: Any
    limit: Any


@dataclass(frozen=True)
class CallEvidence:
    """A traced call of gold's: how far its output is off in place, and how far it may be off and count as the same.
    `noise` is how far rounding alone was seen to move that output, None where nobody has measured it.
    `theirs` is its partner's name, None where it has no partner; `exists` says whether the submission has such a module
    all the same. `error` is None where there is nothing to compare, and infinite where the two differ by no number;
    then `not_comparable` says why."""

    label: str
    kind: str
    model: str
    module: str
    function: str
    own: bool
    theirs: str | None
    their_kind: str
    exists: bool
    error: float | None
    limit: float
    noise: float | None = None
    not_comparable: str = ""


@dataclass
class Evidence:
    """Filled while a submission is judged, by case."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    """The text of the submitted files."""
    tensors: dict[str, tuple[TensorEvidence, ...]] = field(default_factory=dict)
    calls: dict[str, tuple[CallEvidence, ...]] = field(default_factory=dict)
    noise: dict[str, dict[str, float]] = field(default_factory=dict)
    """How far rounding alone was seen to move what was recorded, in the dtype that decided, by case and path."""
    trained: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The models that a case trains."""
    losses: dict[str, tuple[TensorEvidence, ...]] = field(default_factory=dict)
    """Recorded losses of a case that trains, one element for each step."""

    def add_case(self, verdict: CaseVerdict, criteria: Criteria, runs: CaseRuns) -> None:
        """Keep the tensors of a case that differ, in the dtype that decided."""
        chosen = criteria.variants.get(verdict.met, criteria)
        self.trained[verdict.name] = chosen.gold.entry.training
        if verdict.judged_in == "float64" and "float64" in runs.runs:
            # noise was measured in the case's own dtype, and says nothing about float64
            limits = {path: msgspec.structs.replace(item, noise=None) for path, item in chosen.sharp_tolerances.items()}
            self.add_tensors(verdict, chosen.gold.reference or {}, runs.values("float64"), limits)
        else:
            self.add_tensors(verdict, chosen.expected, runs.values("plain"), chosen.tolerances)

    def add_tensors(
        self,
        verdict: CaseVerdict,
        gold: Mapping[str, Any],
        theirs: Mapping[str, Any],
        tolerances: Mapping[str, Tolerance],
    ) -> None:
        """Keep the tensors that differ, the farthest off first."""
        found, losses = [], []
        for leaf in sorted(verdict.leaves, key=lambda item: -item.excess) if verdict.outcome == DIFFERS else ():
            one, two = gold.get(leaf.path), theirs.get(leaf.path)
            is_loss = bool(self.trained.get(verdict.name)) and "loss" in leaf.path.rpartition(".")[2]
            whole = leaf.tolerance != SKETCHED and all(hasattr(item, "shape") for item in (one, two))
            if (leaf.agrees and not is_loss) or not whole:
                continue
            one, two = numbers_of(one), numbers_of(two)
            if one.shape == two.shape and 1 < one.size <= MAX_ELEMENTS:
                item = TensorEvidence(leaf.path, one, two, _limit(tolerances.get(leaf.path), one))
                losses += [item] if is_loss and one.ndim == 1 else []
                found += [] if leaf.agrees else [item]
        self.tensors[verdict.name] = tuple(found[:MAX_TENSORS_PER_CASE])
        self.losses[verdict.name] = tuple(losses)
        self.noise[verdict.name] = {path: item.noise.l2 for path, item in tolerances.items() if item.noise}

    def add_calls(self, case: str, pair: TracePair, entry: CaseEntry | None = None) -> None:
        """Keep every call of gold's trace, in the order in which they ended, with its noise: gold's `entry` has that,
        else the pair."""
        noise = measured_noise(pair.gold, entry) if entry else pair.noise
        found = []
        for call in in_order_of_return(pair.gold):
            partner, error = pair.partners.get(call.position), pair.output_errors.get(call.position)
            why = _not_comparable(call, partner, error)
            if (
                not why
                and error is not None
                and error <= pair.limit(call)
                and call.position in pair.handed_on_otherwise
            ):
                why = "what it returns is right, and it hands on other values"
            item = CallEvidence(
                label=call.label,
                kind=call.kind,
                model=call.model,
                module=call.module,
                function=call.function,
                own=call.own,
                theirs=partner.module if partner else None,
                their_kind=partner.kind if partner else "",
                exists=call.is_function or call.module in pair.names.get(call.model, {}),
                error=None if why and error is not None and math.isfinite(error) else error,
                limit=pair.limit(call),
                noise=noise.get(call.position),
                not_comparable=why,
            )
            found.append(item)
        self.calls[case] = tuple(found)


def _not_comparable(call: Call, partner: Call | None, error: float | None) -> str:
    """Say why no number tells how far a call's output is from gold's; empty where one does."""
    if partner is None:
        return ""
    if partner.raised:
        return "it raised an error"
    if error is None or (not call.outputs and not call.after and not error):
        return "it returns nothing to compare"
    if call.outputs and all(map(is_left_out, call.outputs)):
        return "gold does not keep what it returns"
    if math.isfinite(error):
        return ""
    if is_cut_off(partner, call):
        return "no gradient passes through what it returns"
    shapes = [
        [[size for size in getattr(item, "shape", ()) if size != 1] for item in one.outputs] for one in (partner, call)
    ]
    return "it returns another shape" if shapes[0] != shapes[1] else "it returns other values"


def _limit(tolerance: Tolerance | None, gold: Any) -> Any:
    if tolerance is None or tolerance.kind == "exact":
        return None
    if tolerance.max is not None:
        return tolerance.max * tolerance.scale or None
    return (tolerance.atol or 0.0) + (tolerance.rtol or 0.0) * abs(gold)
