"""Gold's trace of a case beside a submission's: which call is which, what each was given, and how far its answer is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from goldsmith.checking.judging import weights_by_model
from goldsmith.checking.leavings import Replayed
from goldsmith.checking.traces import CLOSE, Call, calls_in, distance, farthest, given_apart, module_names, same_plain
from goldsmith.checking.verdicts import AGREES, COULD_NOT_RUN, DIFFERS, ModuleVerdict, Outcome
from goldsmith.gold import GoldCase, mapped, unpacked
from goldsmith.recording import TENSOR

MOST_CALLS, MOST_TENSORS = 10_000, 256
"""A submission's trace with more calls, or a call with more tensors, is not looked at."""
AMPLIFIED = 20.0
"""So much farther off than its input a call's output may be because of its input."""


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
                self.off[call.position] = off_by(partner, call)

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
        """What the replay itself has judged already, in one call at least; right answers that take no work judge
        nothing."""
        judged = [(call, self.outcome(call)) for call in self.gold] if not self.untraced_calls else []
        return {call.name for call, outcome in judged if outcome and (outcome != AGREES or call.tells)}

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
    if gold.function and (not same_plain(theirs.form, gold.form) or arguments(theirs) != arguments(gold)):
        return float("inf")
    state = float("inf") if theirs.state is None or gold.state is None else _apart(theirs.state, gold.state)
    given_by_the_assignment = bool(gold.function) or not gold.module
    return max(state, given_apart(theirs.inputs, gold.inputs, in_order=given_by_the_assignment))


def off_by(theirs: Call, gold: Call) -> float:
    """How far apart two calls' answers are: what they returned, and what they changed."""
    if theirs.returned is not None and gold.returned is not None and not same_plain(theirs.returned, gold.returned):
        return float("inf")
    if (gold.outputs and not theirs.outputs) or is_cut_off(theirs, gold):
        return float("inf")
    return max(farthest(theirs.outputs, gold.outputs), _apart(theirs.after, gold.after))


def is_cut_off(theirs: Call, gold: Call) -> bool:
    """Whether gradients cannot pass where gold's do: a `detach`, or a `no_grad`, too many."""
    return any(gold.learns) and bool(theirs.learns) and not any(theirs.learns)


def _apart(theirs: Mapping[str, Any], gold: Mapping[str, Any]) -> float:
    """Of weights by gold's names; one that gold has changed and they have not is infinitely far."""
    return max((distance(theirs[name], gold[name]) if name in theirs else float("inf") for name in gold), default=0.0)


def pair_traces(case: GoldCase, folder: Path, replayed: Replayed, *, of_another_run: bool = False) -> TracePair | None:
    """The two traces of a case that left one, on gold's side at least. Theirs may be `of_another_run`, which came out
    differently."""
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
    pair.untraced_calls = (case.entry.calls > 1 or of_another_run) and fine
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


def arguments(call: Call) -> tuple[Any, ...]:
    """What a call is given, as far as that is known: tensors and other values in their order, whatever their names."""
    return (len(call.inputs),) if call.form is None else tuple(_kinds(call.form))


def _kinds(form: Any) -> Iterator[str]:
    if isinstance(form, dict) and set(form) == {TENSOR}:
        yield "tensor"
    elif isinstance(form, dict | list):
        for item in form if isinstance(form, list) else form.values():
            yield from _kinds(item)
    else:
        yield "value"


def _is(call: Call, verdict: ModuleVerdict) -> bool:
    return (call.model, call.module, call.function) == (verdict.model, verdict.name, verdict.function)
