"""Gold's calls beside a submission's, one case at a time: which modules, methods and functions go wrong by themselves.

A call whose input agrees and whose output does not is a source, unless one inside it is. One whose input was wrong
already is judged on gold's own input, alone. Where names cannot be paired, values are: a module of gold's is there if
what it returned is. Library modules are never judged: whoever uses them is.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from goldsmith.checking.company import Company
from goldsmith.checking.judging import weights_by_model
from goldsmith.checking.leavings import Replayed
from goldsmith.checking.traces import (
    CLOSE,
    Call,
    Held,
    by_execution,
    calls_in,
    distance,
    farthest,
    given_apart,
    module_names,
    same_plain,
)
from goldsmith.checking.verdicts import AGREES, COULD_NOT_RUN, DIFFERS, ModuleVerdict, Outcome
from goldsmith.gold import GoldCase, mapped, unpacked
from goldsmith.recording import TENSOR, Isolated, projections

MOST_CASES = 4
"""So many cases get modules run alone, one of each kind: a kind's code is the same wherever it stands."""
MOST_CALLS, MOST_TENSORS = 10_000, 256
"""A submission's trace with more calls, or a call with more tensors, is not looked at."""
AMPLIFIED = 20.0
"""So much farther off than its input a call's output may be because of its input."""
FAR = 1e-3
"""How far apart gradients are that are not the same."""
NEVER_CALLED = "is never called"


@dataclass
class TracePair:
    """One case's two traces, side by side: gold's calls with theirs, as far as they could be paired. `given` says how
    far apart a pair's inputs are, `off` its outputs; `untraced_calls` that there were more calls than a trace shows,
    and that it shows nothing wrong: every module is then tried alone, twice."""

    case: GoldCase
    gold: list[Call]
    theirs: list[Call]
    names: Mapping[str, Mapping[str, str]]
    partners: dict[int, Call] = field(default_factory=dict)
    given: dict[int, float] = field(default_factory=dict)
    off: dict[int, float] = field(default_factory=dict)
    untraced_calls: bool = False

    def pair(self) -> None:
        """Each of gold's calls with one of theirs: of several in one module, the one that was given the same."""
        by_key: dict[tuple[str, ...], list[Call]] = {}
        for item in self.theirs:
            by_key.setdefault((item.model, item.module, item.function), []).append(item)
        for call in self.gold:
            same = by_key.get(self.key(call), [])
            if not same:
                continue
            apart = [_given(item, call) for item in same]
            best = min(range(len(same)), key=lambda number: (apart[number] > CLOSE, number))
            partner = same.pop(best)
            self.partners[call.position] = partner
            self.given[call.position] = apart[best]
            if not partner.raised:
                self.off[call.position] = _off(partner, call)

    def key(self, call: Call) -> tuple[str, ...]:
        """What a call of theirs would have for this one to be its partner; nothing where there is no such module."""
        if call.is_function or not call.model:
            return call.model, call.module, call.function
        name = self.names.get(call.model, {}).get(call.module)
        return (call.model, name, call.function) if name is not None else ()

    def outcome(self, call: Call) -> Outcome | None:
        """What the replay itself shows of a call: nothing where its input was wrong, or nearly as wrong as its output:
        a victim perhaps, a culprit perhaps."""
        partner, off = self.partners.get(call.position), self.off.get(call.position)
        given = self.given.get(call.position, float("inf"))
        if off is not None and off <= CLOSE:
            return AGREES
        if partner is None or given > CLOSE or call.drew:
            return None
        if off is None or (call.outputs and partner.returned == [None]):
            return COULD_NOT_RUN
        return DIFFERS if off > AMPLIFIED * given else None

    @property
    def settled(self) -> set[str]:
        """What the replay itself has judged already, in one call at least."""
        return set() if self.untraced_calls else {call.name for call in self.gold if self.outcome(call)}

    def unpaired_in(self, source: ModuleVerdict | None) -> list[Call]:
        """The course's own modules in gold's `source`, or anywhere, that no module of theirs could be paired with."""
        outer = [call for call in self.gold if source and _is(call, source)]
        return [
            call
            for call in self.gold
            if call.own
            and not call.function
            and call.module not in self.names.get(call.model, {})
            and (not outer or any(item.holds(call) for item in outer))
        ]

    def never_called(self, outer: Call) -> list[Call]:
        """Modules of theirs that gold calls inside `outer`, and that are there and never called at all."""
        called = {(item.model, item.module) for item in self.theirs}
        weights = weights_by_model(self.case.entry.models, self.case.state_dict)
        return [
            call
            for call in self.gold
            if outer.holds(call)
            and not call.function
            and (call.own or any(name.startswith(f"{call.module}.") for name in weights.get(call.model, ())))
            and self.names.get(call.model, {}).get(call.module)
            and (call.model, self.names[call.model][call.module]) not in called
        ]

    def needs_alone(self, call: Call) -> bool:
        """Whether the replay itself could not say if this call is right, and whether it can be made again."""
        is_there = call.is_function or (call.model and call.module in self.names.get(call.model, {}))
        if not call.own or call.form is None or not is_there or call.drew:
            return False
        return self.untraced_calls or self.outcome(call) is None


def _given(theirs: Call, gold: Call) -> float:
    """How far apart two calls are in all that their answer depends on."""
    modes = (theirs.no_grad, theirs.inference) == (gold.no_grad, gold.inference)
    if not modes or (theirs.training != gold.training and gold.model):
        return float("inf")
    if gold.function and not same_plain(theirs.form, gold.form):
        return float("inf")
    state = float("inf") if theirs.state is None or gold.state is None else _apart(theirs.state, gold.state)
    given_by_the_assignment = bool(gold.function) or not gold.module
    return max(state, given_apart(theirs.inputs, gold.inputs, in_order=given_by_the_assignment))


def _off(theirs: Call, gold: Call) -> float:
    """How far apart two calls' answers are: what they returned, and what they changed."""
    if theirs.returned is not None and gold.returned is not None and not same_plain(theirs.returned, gold.returned):
        return float("inf")
    if (gold.outputs and not theirs.outputs) or _is_cut_off(theirs, gold):
        return float("inf")
    return max(farthest(theirs.outputs, gold.outputs), _apart(theirs.after, gold.after))


def _is_cut_off(theirs: Call, gold: Call) -> bool:
    """Whether gradients cannot pass where gold's do: a `detach`, or a `no_grad`, too many."""
    return any(gold.learns) and bool(theirs.learns) and not any(theirs.learns)


def _apart(theirs: Mapping[str, Any], gold: Mapping[str, Any]) -> float:
    """Of weights by gold's names; one that gold has changed and they have not is infinitely far."""
    return max((distance(theirs[name], gold[name]) if name in theirs else float("inf") for name in gold), default=0.0)


def pair_traces(case: GoldCase, folder: Path, replayed: Replayed) -> TracePair | None:
    """The two traces of a case that left one, on gold's side at least."""
    if case.entry.trace is None:
        return None
    gold = calls_in(mapped(folder / case.entry.trace))
    theirs = _their_calls(replayed)
    names = {}
    for model in case.entry.models:
        mine = [call for call in gold if call.model == model]
        there = {call.module for call in theirs if call.model == model} | set(replayed.once.modules.get(model, ()))
        names[model] = module_names(replayed.once.placed.get(model, ()), mine, there)
    pair = TracePair(case, gold, theirs, names)
    pair.pair()
    fine = all(off <= CLOSE for off in pair.off.values()) and not any(call.raised for call in theirs)
    pair.untraced_calls = case.entry.calls > 1 and fine
    return pair


def _their_calls(replayed: Replayed) -> list[Call]:
    if replayed.trace is None:
        return []
    try:
        calls = calls_in(unpacked(replayed.trace, Path("its trace")))
    except (OSError, ValueError, RecursionError, MemoryError):
        return []  # what a submission's process wrote and nobody can read is no evidence
    absurd = len(calls) > MOST_CALLS or any(len(call.inputs) + len(call.outputs) > MOST_TENSORS for call in calls)
    return [] if absurd else calls


# --- alone ----------------------------------------------------------------------------------------------------------


def run_alone(
    company: Company, pairs: Mapping[str, TracePair], layouts: Mapping[str, str]
) -> dict[tuple[str, int], Replayed]:
    """Every call that needs it, made on gold's own inputs, by case and position."""
    wanted: list[tuple[str, Call]] = []
    for name, pair in pairs.items():
        kinds: dict[str, Call] = {}
        for call in by_execution(pair.gold):
            if call.name not in pair.settled and pair.needs_alone(call):
                kinds.setdefault(call.name, call)
        if len({case for case, _ in wanted}) < MOST_CASES:
            # in this order for a reason: see recording/isolation.py
            wanted += [(name, call) for call in sorted(kinds.values(), key=lambda call: call.position)]
    return {(name, call.position): _alone(company, pairs[name], call, layouts) for name, call in wanted}


def first_by_gradients(company: Company, pair: TracePair, layouts: Mapping[str, str]) -> ModuleVerdict | None:
    """Where all is right on the way there: the first call that passes back something else than gold's."""
    for call in by_execution(pair.gold):
        if not call.gradients or not (call.is_function or call.module in pair.names.get(call.model, {})):
            continue
        run = _alone(company, pair, call, layouts, gradients=True)
        arrays = run.leaves("once") if run.once.failure is None else {}
        if not arrays or _off(_answer(arrays, "0", call), call) > CLOSE:
            continue
        passed = {name.partition(".")[2]: value for name, value in arrays.items() if name.startswith("gradient.")}
        if _gradients_apart(passed, call.gradients) > FAR:
            return _verdict(pair, call, DIFFERS, alone=True, source=True, why="what it passes back is wrong")
    return None


def _gradients_apart(passed: Mapping[str, Any], gold: Mapping[str, Sequence[float]]) -> float:
    """How far gradients are from gold's, over the size of gold's; what is passed back nowhere is nought."""
    worst = 0.0
    for name, (size, *along) in gold.items():
        other = projections(passed[name])[1:] if name in passed else [0.0] * len(along)
        gap = max(abs(one - two) for one, two in zip(along, other, strict=True))
        worst = max(worst, gap / size if size else float(gap > FAR))
    thawed = [value for name, value in passed.items() if name not in gold and name.startswith("thawed.")]
    extra = [projections(value)[0] for value in thawed]
    return max([worst, *(float(size > 0) for size in extra)])


def _alone(
    company: Company, pair: TracePair, call: Call, layouts: Mapping[str, str], *, gradients: bool = False
) -> Replayed:
    inputs = {str(index): tensor for index, tensor in enumerate(call.inputs)}
    state = call.state or {}
    item = Isolated(
        model=call.model,
        module=pair.names.get(call.model, {}).get(call.module, call.module),
        function=call.function,
        form=call.form,
        training=call.training,
        state=tuple(state),
        gradients=gradients,
    )
    given = inputs | {f"state.{name}": tensor for name, tensor in state.items()}
    return company.alone(pair.case.name, item, given, layouts.get(pair.case.name, ""))


# --- judged ---------------------------------------------------------------------------------------------------------


def judge_calls(pair: TracePair, alone: Mapping[tuple[str, int], Replayed]) -> list[ModuleVerdict]:
    """Every call of gold's that there is evidence about, in the order in which they ended."""
    judged: dict[int, ModuleVerdict] = {}
    for call in filter(lambda call: call.own, by_execution(pair.gold)):
        run = alone.get((pair.case.name, call.position))
        verdict = _in_place(pair, call) if run is None else _on_golds_inputs(pair, call, run)
        if verdict is not None:
            judged[call.position] = verdict
    wrong = {position for position, verdict in judged.items() if _is_wrong(verdict)}
    names = {pair.gold[position].name for position in wrong}
    unknown = {call.position for call in pair.gold if call.position not in judged and call.name in names}
    found = []
    for position, verdict in judged.items():
        call = pair.gold[position]
        if position in wrong and not any(call.holds(pair.gold[inner]) for inner in wrong | unknown):
            why = verdict.why or (_idle(pair, call) if verdict.outcome == DIFFERS else "")
            verdict = msgspec.structs.replace(verdict, source=True, why=why)
            verdict = overwriting(pair, call) or verdict
        found.append(verdict)
    return found


def _is_wrong(verdict: ModuleVerdict) -> bool:
    return verdict.outcome == DIFFERS or (verdict.outcome == COULD_NOT_RUN and not verdict.alone)


def overwriting(pair: TracePair, outer: Call | None = None) -> ModuleVerdict | None:
    """A call, inside `outer` or anywhere, that changes what it was given, and gold's does not: whoever uses that next
    is a victim."""
    for call in by_execution(pair.gold):
        partner = pair.partners.get(call.position)
        overwrites = call.own and partner is not None and partner.overwrote and not call.overwrote
        if overwrites and (outer is None or outer.holds(call)):
            return source_at(pair, call, "it overwrites its input")
    return None


def with_extra_weights(pair: TracePair, extra: Mapping[str, Sequence[str]]) -> ModuleVerdict | None:
    """The module of the students' that holds weights which gold does not have."""
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
    """That something it should call is never called."""
    idle = pair.never_called(call)
    outer = [item for item in idle if not any(other.holds(item) for other in idle)]
    return f"{pair.names[outer[0].model][outer[0].module]} {NEVER_CALLED}" if outer else ""


def _in_place(pair: TracePair, call: Call) -> ModuleVerdict | None:
    outcome, off, partner = pair.outcome(call), pair.off.get(call.position), pair.partners.get(call.position)
    if outcome is None or partner is None:
        return None
    if outcome == COULD_NOT_RUN:
        return _verdict(pair, call, outcome, why="" if off is None else "it returned None; is a `return` missing?")
    cut_off = outcome == DIFFERS and _is_cut_off(partner, call)
    why = "its output is cut off from its gradients" if cut_off else ""
    # what was given a model to train may be a victim of what that passes back; what was not all traced, of the rest;
    # and what is called with more or less than gold's, of whoever made that
    shared = outcome == DIFFERS and _arguments(partner) != _arguments(call)
    inferred = outcome == DIFFERS and (call.partial or call.form is None or shared)
    return _verdict(pair, call, outcome, relative=off, why=why, inferred=inferred, shared=shared)


def _arguments(call: Call) -> tuple[int, int]:
    """How many tensors a call is given, and how many values in all, as far as that is known."""
    return len(call.inputs), -1 if call.form is None else _leaves(call.form)


def _leaves(form: Any) -> int:
    if isinstance(form, list) or (isinstance(form, dict) and set(form) != {TENSOR}):
        return sum(_leaves(item) for item in (form if isinstance(form, list) else form.values()))
    return 1


def _on_golds_inputs(pair: TracePair, call: Call, run: Replayed) -> ModuleVerdict:
    if run.once.failure is not None:
        return _verdict(pair, call, COULD_NOT_RUN, alone=True, why=run.once.failure.message.splitlines()[0])
    arrays = run.leaves("once")
    calls = [_answer(arrays, number, call) for number in ("0", "2")]
    if call.outputs and not calls[0].outputs:
        return _verdict(pair, call, COULD_NOT_RUN, alone=True, why="it returned no tensor")
    off = _off(calls[0], call)
    if off > CLOSE:
        return _verdict(pair, call, DIFFERS, alone=True, relative=off, inferred=call.partial)
    again = _off(calls[1], calls[0])
    if again > CLOSE:
        return _verdict(pair, call, DIFFERS, alone=True, relative=again, why="another answer when called again")
    return _verdict(pair, call, AGREES, alone=True, relative=off)


def _answer(arrays: Mapping[str, Any], number: str, call: Call) -> Call:
    """What a call came to the first time, or the third, when it was made alone."""
    mine = {name.partition(".")[2]: value for name, value in arrays.items() if name.partition(".")[0] == number}
    outputs = tuple(value for name, value in mine.items() if not name.startswith("after."))
    after = {name.removeprefix("after."): value for name, value in mine.items() if name.startswith("after.")}
    return dataclasses.replace(call, outputs=outputs, after=after, returned=None)


def _verdict(pair: TracePair, call: Call, outcome: Outcome, **fields: Any) -> ModuleVerdict:
    return ModuleVerdict(
        case=pair.case.name,
        model=call.model,
        name=call.module,
        kind=call.kind,
        function=call.function,
        own=call.own,
        outcome=outcome,
        theirs=pair.names.get(call.model, {}).get(call.module, ""),
        their_kind=partner.kind if (partner := pair.partners.get(call.position)) else "",
        **fields,
    )


def source_at(pair: TracePair, call: Call, why: str) -> ModuleVerdict:
    """That a case goes wrong at `call`, as far as can be told."""
    return _verdict(pair, call, DIFFERS, source=True, why=why, inferred=True)


def _is(call: Call, verdict: ModuleVerdict) -> bool:
    return (call.model, call.module, call.function) == (verdict.model, verdict.name, verdict.function)


def sources(modules: Sequence[ModuleVerdict]) -> Iterator[ModuleVerdict]:
    return (item for item in modules if item.source)


def first_miss_by_value(calls: Sequence[Call], produced: Sequence[Any]) -> Call | None:
    """The first of gold's calls whose output is nowhere among what was produced, and none after it is there."""
    missed: Call | None = None
    held = Held(produced)
    for call in by_execution(calls):
        if not call.outputs or call.outputs[0].dtype.kind not in "fc":
            continue
        if held.holds(call.outputs[0]):
            missed = None
        elif missed is None:
            missed = call
    return missed
