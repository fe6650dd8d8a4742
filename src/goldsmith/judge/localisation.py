"""Compare gold's calls with a submission's, one case at a time, to find which of them go wrong by themselves.

A call whose input agrees and whose output does not is a source, unless one inside it is. A call whose input was wrong
already is judged alone, on gold's own input. Where names cannot be paired, values are: a module of gold's is there if
its output is. Library modules are never judged, only their callers.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec

from goldsmith.gold.sizes import projections
from goldsmith.gold.sketches.sketch import Sketch
from goldsmith.gold.trace_tensors import is_whole
from goldsmith.judge.policy import GRADIENTS_FAR, MAX_CASES_ALONE, MAX_HUNG_CALLS
from goldsmith.judge.trace_pairs import TracePair, arguments, is_cut_off, output_error, plain_error
from goldsmith.judge.traces import Call, ValueIndex, as_numbers, in_order_of_return
from goldsmith.judge.verdicts import AGREES, COULD_NOT_RUN, DIFFERS, ModuleVerdict, Outcome
from goldsmith.runs.run import Failure

NEVER_CALLED = "is never called"


# --- calls made alone -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class IsolatedResult:
    """What came of one call that was made alone: the call with its own answers, each time that it was made, the
    `classes` of the module that was called, and the gradients that it passed back where those were requested; or why
    there is nothing."""

    calls: tuple[Call, ...] = ()
    gradients: Mapping[str, Any] = field(default_factory=dict)
    failure: Failure | None = None
    classes: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return self.failure is not None or not (
            self.gradients or any(call.outputs or call.after or call.returned for call in self.calls)
        )


class Isolate(Protocol):
    """Make one of gold's calls with the submission's code, alone: the only way in which judging has anything run."""

    def __call__(self, pair: TracePair, call: Call, *, gradients: bool = False) -> IsolatedResult | None:
        """Return what came of it; None where an implementation need not have what is called."""


@dataclass
class IsolatedRuns:
    """Calls that were made on gold's own inputs, by case and position, and the cases in which every call was made that
    needed it."""

    runs: dict[tuple[str, int], IsolatedResult] = field(default_factory=dict)
    cases: set[str] = field(default_factory=set)


def run_alone(
    isolate: Isolate, pairs: Mapping[str, TracePair], most: int = MAX_CASES_ALONE, cut_off: Collection[str] = ()
) -> IsolatedRuns:
    """Call alone what gold's record chooses, in at most `most` of the cases in which the replay leaves any of it open.

    A submission is given gold's values here, so what it leaves out must not decide which: in such a case it is called
    for everything that was chosen, and what it lacks is made up for by nothing. Only what was open is judged by the
    answers. In a case that was `cut_off`, what is not open may never return, and is not called again.
    """
    found = IsolatedRuns()
    hung: list[str] = []
    for name, pair in pairs.items():
        chosen, settled = chosen_by_gold(pair.gold), pair.settled
        unsettled = [call for call in chosen if call.name not in settled and pair.needs_alone(call)]
        if unsettled and len({case for case, _ in found.runs}) >= most:
            continue
        found.cases.add(name)
        judged = {call.position for call in unsettled}
        for call in filter(pair.has, unsettled if name in cut_off or not unsettled else chosen):
            if call.name in hung or len(hung) >= MAX_HUNG_CALLS:
                continue
            answer = isolate(pair, call)
            if answer is not None and answer.failure is not None and answer.failure.kind == "timeout":
                hung.append(call.name)
            if answer is not None and call.position in judged:
                found.runs[name, call.position] = answer
    return found


def chosen_by_gold(calls: Iterable[Call]) -> list[Call]:
    """Choose a call of each function to make alone: its first that tells anything, in the order of calls, because the
    worker must get inputs in that order (see worker/isolated_calls.py)."""
    kinds: dict[str, Call] = {}
    for call in sorted(in_order_of_return(calls), key=lambda call: not call.tells):
        if call.can_be_made_alone:
            kinds.setdefault(call.name, call)
    return sorted(kinds.values(), key=lambda call: call.position)


def judge_gradients(isolate: Isolate, pair: TracePair) -> list[ModuleVerdict]:
    """Find the first call whose gradients differ from gold's, where all outputs are right. Return it together with the
    calls before it that gave no gradients."""
    found = []
    for call in in_order_of_return(pair.gold):
        if not call.gradients or not pair.has(call) or not call.can_be_repeated:
            continue
        answer = isolate(pair, call, gradients=True)
        if answer is None:
            continue
        if answer.is_empty:
            found.append(judge_alone(pair, call, answer))
            continue
        if output_error(answer.calls[0], call) > pair.limit(call):
            continue
        if any(call.encloses(other) and other.gradients and not other.can_be_repeated for other in pair.gold):
            continue  # whether it is one of those cannot be told
        if _gradients_apart(answer.gradients, call.gradients) > GRADIENTS_FAR:
            source = _verdict(pair, call, DIFFERS, alone=True, source=True, why="what it passes back is wrong")
            return [*found, source]
    return found


def _gradients_apart(passed: Mapping[str, Any], gold: Mapping[str, Sequence[float]]) -> float:
    """Return the relative error of gradients; a gradient that is missing counts as zero."""
    worst = 0.0
    for name, (size, *along) in gold.items():
        other = projections(passed[name])[1:] if name in passed else [0.0] * len(along)
        gap = max(abs(one - two) for one, two in zip(along, other, strict=True))
        if not all(map(math.isfinite, other)):
            return math.inf
        worst = max(worst, gap / size if size else float(gap > GRADIENTS_FAR))
    thawed = [value for name, value in passed.items() if name not in gold and name.startswith("thawed.")]
    extra = [projections(value)[0] for value in thawed]
    return max([worst, *(float(size > 0) for size in extra)])


# --- judging --------------------------------------------------------------------------------------------------------


def judge_calls(pair: TracePair, alone: IsolatedRuns) -> list[ModuleVerdict]:
    """Judge every call of gold's that there is evidence about, in the order in which they ended."""
    judged: dict[int, ModuleVerdict] = {}
    for call in filter(lambda call: call.own, in_order_of_return(pair.gold)):
        answer = alone.runs.get((pair.case, call.position))
        verdict = _in_place(pair, call) if answer is None else judge_alone(pair, call, answer)
        if verdict is not None:
            judged[call.position] = verdict
    wrong = {position for position, verdict in judged.items() if _is_wrong(verdict)}
    names = {pair.gold[position].name for position in wrong}
    unknown = {call.position for call in pair.gold if call.position not in judged and call.name in names}
    found = []
    for position, verdict in judged.items():
        call = pair.gold[position]
        if position in wrong and not any(call.encloses(pair.gold[inner]) for inner in wrong | unknown):
            why = verdict.why or (_idle(pair, call) if verdict.outcome == DIFFERS else "")
            verdict = msgspec.structs.replace(verdict, source=True, why=why)
            verdict = overwriting(pair, call) or verdict
        found.append(verdict)
    return found


def _is_wrong(verdict: ModuleVerdict) -> bool:
    return verdict.outcome == DIFFERS or (verdict.outcome == COULD_NOT_RUN and not verdict.alone)


def overwriting(pair: TracePair, outer: Call | None = None) -> ModuleVerdict | None:
    """Find a call, inside `outer` or anywhere, that changes its inputs where gold's does not: whatever uses them next
    goes wrong because of it."""
    for call in in_order_of_return(pair.gold):
        partner = pair.partners.get(call.position)
        overwrites = call.own and partner is not None and partner.overwrote and not call.overwrote
        if overwrites and (outer is None or outer.encloses(call)):
            return source_at(pair, call, "it overwrites its input")
    return None


def with_extra_weights(pair: TracePair, extra: Mapping[str, Sequence[str]]) -> ModuleVerdict | None:
    """Find the students' module that holds weights which gold does not have."""
    for model, weights in extra.items():
        golds = {theirs: gold for gold, theirs in pair.names.get(model, {}).items()}
        for weight in weights:
            path = weight.split(".")[:-1]
            around = [".".join(path[:count]) for count in range(len(path), -1, -1)]
            modules = [golds[name] for name in around if name in golds]
            own = [
                call
                for name in modules
                for call in pair.gold
                if (call.model, call.module) == (model, name) and call.own
            ]
            if own:
                return source_at(pair, own[0], f"gold has no {weight}")
    return None


def _idle(pair: TracePair, call: Call) -> str:
    """Say that something it should call is never called; empty if all is called."""
    idle = pair.never_called(call)
    outer = [item for item in idle if not any(other.encloses(item) for other in idle)]
    return f"{pair.names[outer[0].model][outer[0].module]} {NEVER_CALLED}" if outer else ""


def _in_place(pair: TracePair, call: Call) -> ModuleVerdict | None:
    outcome, off, partner = pair.outcome(call), pair.output_errors.get(call.position), pair.partners.get(call.position)
    if outcome is None or partner is None:
        return None
    if outcome == AGREES and call.position in pair.handed_on_otherwise:
        return _verdict(pair, call, DIFFERS, relative=off, why="it hands on other values", inferred=True)
    shared = outcome != AGREES and arguments(partner) != arguments(call)
    if outcome == COULD_NOT_RUN:
        why = "" if off is None else "it returned None; is a `return` missing?"
        return _verdict(pair, call, outcome, why=why, inferred=shared, shared=shared)
    cut_off = outcome == DIFFERS and is_cut_off(partner, call)
    why = "its output is cut off from its gradients" if cut_off else ""
    # a function that trains a model may be wrong because of the model's gradients; one that was not traced completely,
    # because of the rest; one that is called with other arguments than gold's, because of its caller; and one that
    # calls another of which gold does not tell what it returned, because of that
    hidden = _hidden_in(pair, call) if outcome == DIFFERS else []
    inferred = outcome == DIFFERS and (call.partial or call.form is None or shared or bool(hidden))
    why = f"whether {', '.join(hidden)} in it is right cannot be told" if hidden and not why else why
    return _verdict(pair, call, outcome, relative=off, why=why, inferred=inferred, shared=shared)


def _hidden_in(pair: TracePair, outer: Call) -> list[str]:
    """List what a call makes use of and cannot be judged, because gold leaves out what it was given or returned, or
    keeps only sketches of that."""
    inside = (call for call in pair.gold if call.own and outer.encloses(call))
    return list(dict.fromkeys(call.kind for call in inside if call.is_sketched and pair.outcome(call) is None))


def judge_alone(pair: TracePair, call: Call, answer: IsolatedResult) -> ModuleVerdict:
    """Judge what came of a call that was made alone."""
    if answer.failure is not None:
        return _verdict(pair, call, COULD_NOT_RUN, alone=True, said=answer.failure.message)
    first, *again = answer.calls
    if call.outputs and not first.outputs:
        return _verdict(pair, call, COULD_NOT_RUN, alone=True, why="it returned no tensor")
    off, limit = max(output_error(first, call), plain_error(first, call)), pair.limit(call)
    if off > limit:
        inferred = call.partial or bool(_hidden_in(pair, call))
        return _verdict(pair, call, DIFFERS, alone=True, relative=off, inferred=inferred)
    for later in again:
        moved = max(output_error(later, first), plain_error(later, first))
        if moved > limit:
            why = "another answer when called again"
            return _verdict(pair, call, DIFFERS, alone=True, relative=moved, why=why)
    return _verdict(pair, call, AGREES, alone=True, relative=off)


def _verdict(pair: TracePair, call: Call, outcome: Outcome, **fields: Any) -> ModuleVerdict:
    return ModuleVerdict(
        case=pair.case,
        model=call.model,
        name=call.module,
        kind=call.kind,
        function=call.function,
        own=call.own,
        outcome=outcome,
        theirs=pair.names.get(call.model, {}).get(call.module, ""),
        their_kind=partner.kind if (partner := pair.partners.get(call.position)) else "",
        tells=outcome != AGREES or call.tells,
        **fields,
    )


def source_at(pair: TracePair, call: Call, why: str) -> ModuleVerdict:
    """Return a verdict that a case goes wrong at `call`, by inference."""
    return _verdict(pair, call, DIFFERS, source=True, why=why, inferred=True)


def first_miss_by_value(calls: Sequence[Call], produced: Sequence[Any]) -> Call | None:
    """Return the first of gold's calls whose output is not among what was produced, and neither is any after it."""
    missed: Call | None = None
    held = ValueIndex(map(as_numbers, produced))
    for call in in_order_of_return(calls):
        if not call.outputs or not _has_numbers(call.outputs[0]):
            continue
        if held.holds(call.outputs[0]):
            missed = None
        elif missed is None:
            missed = call
    return missed


def _has_numbers(tensor: Any) -> bool:
    return isinstance(tensor, Sketch) or (is_whole(tensor) and tensor.dtype.kind in "fc")
