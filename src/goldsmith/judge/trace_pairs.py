"""Pair gold's trace of a case with a submission's: which calls correspond, and how far apart their inputs and outputs
are."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldsmith.foundation.nested import leaves_in
from goldsmith.gold.arrays import array_hash
from goldsmith.gold.call_forms import is_reference, plain_values
from goldsmith.gold.safetensors_reader import Mapped, open_mapped, parse_bytes
from goldsmith.gold.trace_tensors import Hashed, bytes_behind, is_left_out, is_whole
from goldsmith.judge.bounds import (
    MAX_CANDIDATES,
    MAX_COMPARED_NUMBERS,
    MAX_COMPARED_PER_NUMBER,
    MAX_HEADER_BYTES,
    MAX_TRACE_BYTES,
    STEPS_PER_COMPARISON,
    TooMuchToJudge,
    Work,
    bounded_by,
)
from goldsmith.judge.call_limits import noise_limits
from goldsmith.judge.module_names import module_names
from goldsmith.judge.policy import AMPLIFIED, CLOSE
from goldsmith.judge.traces import INDEX, Call, calls_in, distance, farthest, input_error, same_plain
from goldsmith.judge.verdicts import AGREES, COULD_NOT_RUN, DIFFERS, ModuleVerdict, Outcome
from goldsmith.runs.run import CaseRuns

if TYPE_CHECKING:
    from goldsmith.gold.load import GoldCase

IMAGE_AXES = 4
"""Arrays with so many axes may be images, whose channels come last in some libraries."""


@dataclass
class TracePair:
    """The two traces of one case, with gold's calls paired with the submission's where possible. `input_errors` say how
    far apart a pair's inputs are, `output_errors` its outputs; calls in `handed_on_otherwise` hand on other values than
    gold's. `untraced_calls` says that there were more calls than the trace shows, and that it shows nothing wrong:
    every module is then run alone, twice.

    `names` maps gold's modules to theirs and `weights` returns gold's weights, both by model. Two tensors are the same
    up to `close`, or up to the `noise` of a call where that was measured. With `only_weights_tell`, a module without
    weights is never said to be skipped: a function may stand for it. `across` says that a model of theirs is written in
    another library."""

    case: str
    gold: list[Call]
    theirs: list[Call]
    names: Mapping[str, Mapping[str, str]]
    used: Mapping[str, Sequence[str]] = field(default_factory=dict)
    partners: dict[int, Call] = field(default_factory=dict)
    input_errors: dict[int, float] = field(default_factory=dict)
    output_errors: dict[int, float] = field(default_factory=dict)
    handed_on_otherwise: set[int] = field(default_factory=set)
    untraced_calls: bool = False
    weights: Callable[[], Mapping[str, Collection[str]]] = dict
    close: float = CLOSE
    noise: Mapping[int, float] = field(default_factory=dict)
    only_weights_tell: bool = False
    across: bool = False

    def pair(self) -> None:
        """Pair each of gold's calls with one of theirs: of several in one module, the first with the same inputs."""
        by_key: dict[tuple[str, ...], list[Call]] = {}
        for item in self.theirs:
            by_key.setdefault((item.model, item.module, item.function), []).append(item)
        for call in self.gold:
            same = by_key.get(self.key(call), [])
            if not same:
                continue
            best, given = self._first_close(same, call)
            self.add(call, same.pop(best), given)

    def add(self, call: Call, partner: Call, given: float | None = None) -> None:
        """Compare a pair of calls; of their tensors nothing else is needed afterwards, except to run one alone."""
        self.partners[call.position] = partner
        self.input_errors[call.position] = _input_error(partner, call, self.close) if given is None else given
        if not partner.raised:
            self.output_errors[call.position] = output_error(partner, call)
        if call.handed_on and (partner.raised or farthest(partner.outputs, call.outputs) > self.limit(call)):
            self.handed_on_otherwise.add(call.position)

    def limit(self, call: Call) -> float:
        """Return how far apart the outputs of a pair may be and still count as the same."""
        return max(self.close, self.noise.get(call.position, 0.0))

    def _first_close(self, calls: Sequence[Call], gold: Call) -> tuple[int, float]:
        """Return the first call with the same inputs as gold's, else the first of all, and how far apart the inputs
        are."""
        first = float("inf")
        for number, call in enumerate(calls[:MAX_CANDIDATES]):
            given = _input_error(call, gold, self.close)
            if given <= self.close:
                return number, given
            first = first if number else given
        return 0, first

    def key(self, call: Call) -> tuple[str, ...]:
        """Return the model, module and function that a call's partner must have; empty where there is no such
        module."""
        if call.is_function or not call.model:
            return call.model, call.module, call.function
        name = self.names.get(call.model, {}).get(call.module)
        return (call.model, name, call.function) if name is not None else ()

    def outcome(self, call: Call) -> Outcome | None:
        """Return what the replay itself shows of a call; None where its input was wrong, or nearly as wrong as its
        output, because the error may come from either."""
        partner, off = self.partners.get(call.position), self.output_errors.get(call.position)
        given = self.input_errors.get(call.position, float("inf"))
        if call.outputs and all(map(is_left_out, call.outputs)):
            return None
        if off is not None and off <= self.limit(call):
            return AGREES
        if partner is None or given > self.close or call.drew:
            return None
        if off is None or (call.outputs and partner.returned == [None]):
            return COULD_NOT_RUN
        return DIFFERS if off > AMPLIFIED * given else None

    @property
    def settled(self) -> set[str]:
        """Return the names that the replay itself has judged in at least one call; right answers that take no work do
        not count."""
        judged = [(call, self.outcome(call)) for call in self.gold] if not self.untraced_calls else []
        return {call.name for call, outcome in judged if outcome and (outcome != AGREES or call.tells)}

    def unpaired_in(self, source: ModuleVerdict | None) -> list[Call]:
        """List the course's own modules in gold's `source`, or anywhere, that could not be paired with a module of
        theirs."""
        outer = [call for call in self.gold if source and _is(call, source)]
        return [
            call
            for call in self.gold
            if call.own
            and not call.function
            and call.module not in self.names.get(call.model, {})
            and (not outer or any(item.encloses(call) for item in outer))
        ]

    def never_called(self, outer: Call) -> list[Call]:
        """List modules of theirs that gold calls inside `outer` and that are never called at all. Modules whose weights
        are used all the same, as by `F.linear`, are not among them."""
        called = {(item.model, item.module) for item in self.theirs}
        called |= {(model, module) for model, names in self.used.items() for name in names for module in _around(name)}
        weights = self.weights()
        return [
            call
            for call in self.gold
            if outer.encloses(call)
            and not call.function
            and (
                (call.own and not self.only_weights_tell)
                or any(name.startswith(f"{call.module}.") for name in weights.get(call.model, ()))
            )
            and self.names.get(call.model, {}).get(call.module)
            and (call.model, self.names[call.model][call.module]) not in called
        ]

    def has(self, call: Call) -> bool:
        """Return whether the submission has what gold calls, and would take gold's inputs as they are."""
        if call.is_function:
            return True
        there = bool(call.model and call.module in self.names.get(call.model, {}))
        return there and not (self.across and call.module and self._may_be_turned(call))

    def _may_be_turned(self, call: Call) -> bool:
        """Return whether a module takes axes in another order, as images are in another library, or may, where that was
        not seen."""
        partner, wanted = self.partners.get(call.position), list(map(_shape, call.inputs))
        if partner is None:
            return any(len(shape or ()) >= IMAGE_AXES for shape in wanted)
        found = list(map(_shape, partner.inputs))
        return found != wanted and [sorted(it or ()) for it in found] == [sorted(it or ()) for it in wanted]

    def needs_alone(self, call: Call) -> bool:
        """Return whether the replay itself could not judge this call, and whether it can be repeated alone."""
        if not call.can_be_made_alone or not self.has(call):
            return False
        if any(_is_given_by(call, self.gold[position]) for position in self.handed_on_otherwise):
            return False  # what gold hands it is not what theirs takes
        return self.untraced_calls or self.outcome(call) is None


def _is_given_by(call: Call, maker: Call) -> bool:
    """Return whether a call is given what another one hands on."""
    made = {_identity(maker.outputs[number]) for number in maker.handed_on}
    return not made.isdisjoint(map(_identity, call.inputs))


def _identity(tensor: Any) -> Any:
    """Return what tells one tensor of a trace from another: equal ones are stored once."""
    return tensor if isinstance(tensor, Hashed) else id(tensor)


def _around(weight: str) -> Iterator[str]:
    """Yield the names of all modules that contain a weight."""
    path = weight.split(".")[:-1]
    return (".".join(path[:count]) for count in range(len(path) + 1))


def _input_error(theirs: Call, gold: Call, close: float) -> float:
    """Return how far apart two calls are in everything that their answer depends on; infinite if gold does not tell all
    of that."""
    if any(map(is_left_out, (*gold.inputs, *(gold.state or {}).values()))):
        return float("inf")
    modes = (theirs.no_grad, theirs.inference) == (gold.no_grad, gold.inference)
    if not modes or (theirs.training != gold.training and gold.model):
        return float("inf")
    if gold.function and (not same_plain(theirs.form, gold.form) or arguments(theirs) != arguments(gold)):
        return float("inf")
    state = float("inf") if theirs.state is None or gold.state is None else _state_error(theirs.state, gold.state)
    given_by_the_assignment = bool(gold.function) or not gold.module
    return max(state, input_error(theirs.inputs, gold.inputs, in_order=given_by_the_assignment, close=close))


def output_error(theirs: Call, gold: Call) -> float:
    """Return how far apart two calls' answers are: what they returned, but for what is only handed on, and what they
    changed."""
    known = not gold.handed_on and theirs.returned is not None and gold.returned is not None
    if known and not same_plain(theirs.returned, gold.returned):
        return float("inf")
    outputs = theirs.outputs or _as_arrays(theirs.returned)
    if (gold.outputs and not outputs) or is_cut_off(theirs, gold):
        return float("inf")
    if gold.function and list(map(_shape, outputs)) == list(map(_shape, gold.outputs)):
        # the assignment says which comes first
        wanted = [(at, item) for at, item in enumerate(gold.outputs) if at not in gold.handed_on]
        off = max((distance(outputs[at], item) for at, item in wanted), default=0.0)
    else:
        off = farthest(outputs, gold.answers)
    return max(off, _state_error(theirs.after, gold.after))


def _shape(tensor: Any) -> Any:
    return getattr(tensor, "shape", None)


def _as_arrays(returned: Any) -> tuple[Any, ...]:
    """Return a result of plain numbers, such as a list of them, as the array that it would be; empty if it has
    others."""
    import numpy as np

    values = returned[0] if isinstance(returned, list) and len(returned) == 1 else returned
    with contextlib.suppress(ValueError, TypeError, OverflowError):
        array = np.asarray(values)
        return (array,) if array.dtype.kind in "iufb" and array.size else ()
    return ()


def plain_error(theirs: Call, gold: Call) -> float:
    """Return 0 if an answer without tensors, such as a count or a text, is the same as gold's, else infinity. An array
    of one number is that number. Where gold returned tensors, those decide."""
    if gold.outputs:
        return 0.0
    wanted, found = plain_values(gold.returned), plain_values(theirs.returned)
    if not found and all(getattr(item, "size", 0) == 1 for item in theirs.outputs):
        found = [item.item() for item in theirs.outputs]
    same = len(found) == len(wanted) and all(map(same_plain, found, wanted))
    return 0.0 if same or not wanted else float("inf")


def is_cut_off(theirs: Call, gold: Call) -> bool:
    """Return whether gradients are blocked where gold's pass: by a stray `detach` or `no_grad`."""
    return any(gold.learns) and bool(theirs.learns) and not any(theirs.learns)


def _state_error(theirs: Mapping[str, Any], gold: Mapping[str, Any]) -> float:
    """Return the distance of changed weights by gold's names; infinite if gold changed one and they did not."""
    return max((distance(theirs[name], gold[name]) if name in theirs else float("inf") for name in gold), default=0.0)


def pair_traces(case: GoldCase, folder: Path, replayed: CaseRuns, *, of_another_run: bool = False) -> TracePair | None:
    """Read and pair the two traces of a case; return None where gold has no trace. With `of_another_run`, theirs is of
    a run that came out differently."""
    if case.entry.trace is None:
        return None
    recorded = open_mapped(folder / case.entry.trace)
    gold = with_handed_on([_without_caches(call, case) for call in calls_in(recorded)], case)
    theirs = _their_calls(replayed, recorded)
    names = {}
    for model in case.entry.models:
        mine = [call for call in gold if call.model == model]
        there = {call.module for call in theirs if call.model == model} | set(
            replayed.first.facts.modules.get(model, ())
        )
        names[model] = module_names(
            replayed.first.facts.weight_map.get(model, ()), [call.module for call in mine], there
        )
    traced = replayed.runs.get("traced", replayed.first)
    noise = noise_limits(gold, case.entry)
    across = replayed.first.facts.across
    pair = TracePair(case.name, gold, theirs, names, traced.facts.used, noise=noise, across=across)
    try:
        with bounded_by(Work(most_compared(gold))):
            pair.pair()
    except TooMuchToJudge:  # no honest trace takes so much: ignore it
        pair = TracePair(case.name, gold, [], names, noise=noise, across=across)
    pair.weights = lambda: case.initial_weights
    fine = all(off <= pair.limit(gold[position]) for position, off in pair.output_errors.items()) and not any(
        call.raised for call in pair.theirs
    )
    pair.untraced_calls = (case.entry.calls > 1 or of_another_run) and fine
    return pair


def _without_caches(call: Call, case: GoldCase) -> Call:
    """Leave out what a call that returns something stored in its object besides weights: a cache is nobody's answer,
    and others name and lay it out as they like."""
    if not call.after or not call.outputs:
        return call
    weights = case.initial_weights.get(call.model, {})
    return replace(call, after={name: value for name, value in call.after.items() if name in weights})


def with_handed_on(calls: Sequence[Call], case: GoldCase) -> list[Call]:
    """Mark outputs after the first that the case does not record, and that go to other functions alone: what two parts
    tell each other, such as a layer's cache, is their own affair. State that goes back to the same function is not."""
    recorded = {item.sha256 for item in case.entry.tensors if item.path.partition(".")[0] == "output"}
    takers: dict[Any, list[Call]] = {}
    for call in filter(lambda call: call.own, calls):
        for item in call.inputs:
            takers.setdefault(_identity(item), []).append(call)

    def is_handed_on(call: Call, output: Any) -> bool:
        later = {taker.name for taker in takers.get(_identity(output), ()) if taker.position >= call.end}
        return bool(later) and call.name not in later and not (is_whole(output) and array_hash(output) in recorded)

    return [
        replace(
            call, handed_on=frozenset(at for at, item in enumerate(call.outputs) if at and is_handed_on(call, item))
        )
        if call.own and len(call.outputs) > 1
        else call
        for call in calls
    ]


def most_compared(gold: Sequence[Call]) -> int:
    """Return how many numbers may be compared to find partners for gold's calls."""
    tensors = (tensor for call in gold for tensor in (*call.inputs, *call.outputs))
    numbers = sum(STEPS_PER_COMPARISON + getattr(tensor, "size", 0) for tensor in tensors)
    return max(MAX_COMPARED_NUMBERS, MAX_COMPARED_PER_NUMBER * numbers)


def _their_calls(replayed: CaseRuns, gold: Mapped) -> list[Call]:
    if replayed.trace is None or len(replayed.trace) > max(
        MAX_TRACE_BYTES, 4 * sum(starmap(bytes_behind, gold.items()))
    ):
        return []
    try:
        largest = max(MAX_HEADER_BYTES, 4 * len(gold.metadata.get(INDEX, "")))
        return calls_in(parse_bytes(replayed.trace, Path("its trace"), largest), suspicious=True)
    except (OSError, ValueError, RecursionError, MemoryError):
        return []  # a trace that cannot be read proves nothing


def arguments(call: Call) -> tuple[Any, ...]:
    """Return the kinds of a call's arguments, as far as they are known: tensors and other values in order, without
    names."""
    return (
        (len(call.inputs),)
        if call.form is None
        else tuple("tensor" if is_reference(leaf) else "value" for leaf in leaves_in(call.form, is_reference))
    )


def _is(call: Call, verdict: ModuleVerdict) -> bool:
    return (call.model, call.module, call.function) == (verdict.model, verdict.name, verdict.function)
