"""Judge modules where they stand, and alone on the reference's own inputs: who is the source, who is a victim."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from goldsmith.judge.localisation import IsolatedResult, IsolatedRuns, judge_calls
from goldsmith.judge.policy import GRADIENTS_FAR_IN_PARITY
from goldsmith.judge.trace_pairs import TracePair, output_error
from goldsmith.judge.traces import Call, as_numbers, calls_in, distance, in_order_of_return
from goldsmith.judge.verdicts import AGREES, DIFFERS, ModuleVerdict, sources
from goldsmith.model_parity.aligned_calls import align_calls, align_outputs, share_outputs, without_strangers
from goldsmith.model_parity.alone_requests import request_alone
from goldsmith.model_parity.begins_inside import begin_inside
from goldsmith.model_parity.first_wrong import describe_first_wrong, not_alone
from goldsmith.model_parity.given_inputs import GivenInputs
from goldsmith.model_parity.judge import comparable_weights
from goldsmith.model_parity.judged_modules import JudgedModules
from goldsmith.model_parity.module_pairs import adapter_lines, merged_modules, pair_modules
from goldsmith.model_parity.output_pairs import shape_of, shape_words
from goldsmith.model_parity.result import HOLDS, MERGED, SOURCE, UNKNOWN, UNPAIRED, VICTIM, ModuleParity, Role
from goldsmith.model_parity.row_orders import NOT_COMPARABLE, RowOrders
from goldsmith.runs.implementation import MODEL, Described, GivenCall, Implementation, Loaded
from goldsmith.runs.requests import RunRequest
from goldsmith.runs.run import Run

MOST_ALONE = 2000
"""Calls that are made alone: a model has some dozen for each layer."""


@dataclass
class ModuleJudge:
    """The two traces of one set of inputs, in the precision of `request`, and the sides to ask for more."""

    reference: Implementation
    candidate: Implementation
    described: tuple[Described, Described]
    loaded: Loaded
    request: RunRequest
    their_request: RunRequest
    close: float
    noise: Mapping[int, float] = field(default_factory=dict)
    as_made: dict[int, Call] = field(default_factory=dict)
    as_called: dict[int, Call] = field(default_factory=dict)
    """The reference's and the candidate's calls by position, before they were aligned."""
    orders: RowOrders = field(default_factory=RowOrders)
    alone: IsolatedRuns = field(default_factory=IsolatedRuns)
    given_own: dict[int, list[Any]] = field(default_factory=dict)
    """By position of the reference's calls that were made alone, the candidate's own tensors that they were given."""
    takes_others: bool = False
    """Whether the candidate takes other inputs than the reference."""
    inputs: GivenInputs = field(default_factory=GivenInputs)
    incomparable: dict[int, str] = field(default_factory=dict)
    """The reference's calls, by position, that cannot be compared, and why."""

    def __post_init__(self) -> None:
        self.orders = RowOrders.of(self.loaded.rows, self.described[0])

    @property
    def turned(self) -> bool:
        """Return whether images may have their channels last in one of the two."""
        mine, theirs = self.described
        return mine.library != theirs.library

    def pair(self, mine: Run, theirs: Run) -> TracePair:
        """Pair the calls of two traces."""
        one = calls_in(mine.trace) if mine.trace is not None else []
        two = calls_in(theirs.trace) if theirs.trace is not None else []
        there = self.described[1].modules
        names = pair_modules(self.loaded.placed, one, two, there, self.loaded.renamed, self.close, self.loaded.other)
        names = without_strangers(one, two, names)
        self.as_made = {call.position: call for call in one}
        self.as_called = {call.position: call for call in two}
        mine_of = {other: name for name, other in names.items()}
        two = [self.orders.to_reference(mine_of.get(call.module, ""), call) for call in two]
        one, two = align_calls(one, two, names, turned=self.turned)
        pair = TracePair("", one, two, {MODEL: names}, close=self.close, noise=self.noise)
        unused = set(theirs.facts.unused)
        pair.used = {MODEL: tuple(name for name in self.described[1].weights if name not in unused)}
        pair.only_weights_tell = True
        pair.weights = lambda: {MODEL: tuple(self.described[0].weights)}
        pair.pair()
        if self.takes_others:
            self.inputs = GivenInputs.of(self.as_made, self.as_called)
            self.inputs.accept(pair, self.as_made, self.as_called)
        self._set_aside(pair)
        _pass_what_is_made_up_for(pair)
        return pair

    def described_first(self, found: JudgedModules, pair: TracePair, theirs: Run) -> JudgedModules:
        """Add what leads to the line of the first source, if there is one."""
        source = next(iter(found.sources), None)
        if source is not None:
            how = found.how(source)
            found.first = describe_first_wrong(source, how, pair, self.described, theirs.facts.unused)
        return found

    def _set_aside(self, pair: TracePair) -> None:
        """Leave out calls that are not the same and cannot be compared: their numbers are in another order, or one
        model's module ends where the other's does not."""
        for call in pair.gold:
            partner = pair.partners.get(call.position)
            if partner is None or pair.output_errors.get(call.position, float("inf")) <= pair.limit(call):
                continue
            why = "" if self.orders.is_comparable(call.module) else NOT_COMPARABLE
            if call.module and call.outputs and partner.outputs and not share_outputs(call, partner):
                shapes = (shape_words(item.outputs[0]) for item in (call, partner))
                why = "not comparable: it returns {} in the reference, {} here".format(*shapes)
            if why:
                self.incomparable[call.position] = why
                for known in (pair.partners, pair.input_errors, pair.output_errors):
                    known.pop(call.position, None)

    def judge(self, pair: TracePair) -> JudgedModules:
        """Judge every call in place or, where its inputs were wrong already, alone."""
        self.alone = IsolatedRuns(self._run_alone(pair))
        verdicts, inside = begin_inside(pair, judge_calls(pair, self.alone), self.incomparable, self.described[1])
        found = self._result(pair, self._inferred(pair, verdicts), self.alone)
        found.inside = inside
        return found

    def _inferred(self, pair: TracePair, verdicts: Sequence[ModuleVerdict]) -> list[ModuleVerdict]:
        """Say of sources that were also given tensors of the candidate's own, for which the reference has none, that
        these may be what is wrong; unless another module is right that is given them, too."""
        right = {item.name for item in verdicts if item.outcome == AGREES}
        proven = {
            id(tensor)
            for call in pair.gold
            if call.module in right and call.position in pair.partners
            for tensor in self._partner(pair, call).inputs
        }
        doubtful = {
            call.module
            for call in pair.gold
            if any(id(tensor) not in proven for tensor in self.given_own.get(call.position, ()))
        }
        why = "it, or what gives it an input that the reference does not have"
        return [
            msgspec.structs.replace(item, inferred=True, shared=True, why=item.why or why)
            if item.source and item.alone and item.name in doubtful
            else item
            for item in verdicts
        ]

    def judge_gradients(self, pair: TracePair) -> JudgedModules:
        """Find the first module that passes back other gradients, where all outputs are right."""
        calls = [
            call
            for call in in_order_of_return(pair.gold)
            if call.form is not None
            and call.position in pair.partners
            and call.module not in self.orders.outputs
            and self._return_alike(pair, call)
        ]
        mine = self._gradients(self.reference, self.request, [(call, call) for call in calls])
        theirs = self._gradients(
            self.candidate, self.their_request, [(call, self._partner(pair, call)) for call in calls]
        )
        verdicts = judge_calls(pair, IsolatedRuns())
        known = comparable_weights(self.loaded)
        for call in calls:
            one, two = mine.get(call.position, {}), theirs.get(call.position)
            if two is None or not one:
                continue
            taken = bool(call.module) or not self.takes_others
            wrong = [
                name
                for name in one
                if (taken if name.startswith("input.") else name.partition(".")[2] in known)
                and _far(two.get(name), one[name])
            ]
            if wrong:
                source = ModuleVerdict(
                    case="",
                    model=MODEL,
                    name=call.module,
                    kind=call.kind,
                    outcome=DIFFERS,
                    alone=True,
                    source=True,
                    theirs=pair.names[MODEL][call.module],
                    their_kind=pair.partners[call.position].kind,
                    why="what it passes back is wrong, and its output is right",
                )
                others = [item for item in verdicts if item.name != call.module]
                return self._result(pair, [source, *others], IsolatedRuns())
        return self._result(pair, verdicts, IsolatedRuns())

    def blame_chance(self, pair: TracePair, found: JudgedModules) -> JudgedModules:
        """Blame the first of the candidate's modules that draws random numbers; those that hold it, or draw later, are
        not to blame for what they return then."""
        drew = {call.module: call for call in in_order_of_return(list(self.as_called.values())) if call.drew}
        first = next(iter(drew.values()), None)
        if first is None:
            return found
        mine_of = {other: name for name, other in pair.names[MODEL].items()}
        around = first.module
        while around not in mine_of:
            around = around.rpartition(".")[0]
        source = ModuleVerdict(
            case="",
            model=MODEL,
            name=mine_of[around],
            kind=next(call.kind for call in pair.gold if call.module == mine_of[around]),
            outcome=DIFFERS,
            source=True,
            theirs=first.module,
            their_kind=first.kind,
            why="it draws random numbers in eval mode",
        )
        others = [
            msgspec.structs.replace(item, source=False) if item.theirs in drew else item
            for item in found.verdicts
            if item.name != source.name
        ]
        order = [call.module for call in in_order_of_return(pair.gold)]
        verdicts = sorted([*others, source], key=lambda item: order.index(item.name))
        return self._result(pair, verdicts, self.alone)

    # --- calls made alone -------------------------------------------------------------------------------------------

    def _run_alone(self, pair: TracePair) -> dict[tuple[str, int], IsolatedResult]:
        needed = [
            call for call in in_order_of_return(pair.gold) if pair.needs_alone(call) and call.position in pair.partners
        ]
        calls = {call.position: call for call in needed[:MOST_ALONE]}
        given: list[GivenCall] = []
        for call in calls.values():
            ordered = dataclasses.replace(call, inputs=self.orders.to_candidate(call.module, call.inputs))
            partner = self._partner(pair, call)
            kept = self.inputs.kept_in(partner)
            made, tensors = request_alone(
                ordered, partner, pair.names[MODEL][call.module], kept=kept, turned=self.turned
            )
            self.given_own[call.position] = [
                own for own in partner.inputs if id(own) not in kept and any(item is own for item in tensors)
            ]
            given.append((made, tensors))
        found = self.candidate.call(self.their_request.conditions, given) if given else []
        return {
            ("", call.position): _answer(run, call, self.orders, turned=self.turned)
            for call, run in zip(calls.values(), found, strict=True)
        }

    def _partner(self, pair: TracePair, call: Call) -> Call:
        """Return the candidate's call that corresponds, with its own shapes."""
        return self.as_called[pair.partners[call.position].position]

    def _return_alike(self, pair: TracePair, call: Call) -> bool:
        """Say whether both return tensors of the same shapes; gradients of other results are others."""
        both = self.as_made[call.position], self._partner(pair, call)
        return len({tuple(shape_of(item) for item in found.outputs) for found in both}) == 1

    def _gradients(
        self, side: Implementation, request: RunRequest, calls: Sequence[tuple[Call, Call]]
    ) -> dict[int, dict[str, Any]]:
        given = []
        for call, form in calls:
            kept = self.inputs.kept_in(form) if side is self.candidate else set()
            given.append(request_alone(call, form, form.module, gradients=True, kept=kept, turned=self.turned))
        found = side.call(request.conditions, given) if given else []
        return {
            call.position: {
                name.partition(".")[2]: as_numbers(value)
                for name, value in run.values.items()
                if name.startswith("gradient.")
            }
            for (call, _), run in zip(calls, found, strict=True)
            if run.failure is None
        }

    # --- the result -------------------------------------------------------------------------------------------------

    def _result(self, pair: TracePair, verdicts: list[ModuleVerdict], alone: IsolatedRuns) -> JudgedModules:
        blamed = {item.name for item in sources(verdicts)}
        last = {call.module: call for call in pair.gold}
        holders = {call.module for call in pair.gold for name in blamed if name in last and call.encloses(last[name])}
        judged = {item.name: item for item in verdicts}
        names = pair.names[MODEL]
        merged = {name: other for name, other in merged_modules(self.loaded.placed).items() if name not in names}
        rows = {}
        for call in in_order_of_return(pair.gold):
            verdict = judged.get(call.module)
            answer = alone.runs.get(("", call.position))
            partner = pair.partners.get(call.position)
            apart = self.incomparable.get(call.position, "")
            rows[call.module] = ModuleParity(
                name=call.module,
                kind=call.kind,
                theirs=names.get(call.module) or merged.get(call.module, ""),
                their_kind=partner.kind if partner else self.described[1].modules.get(names.get(call.module, "?"), ""),
                role=MERGED
                if call.module in merged
                else _role(call, verdict, blamed, holders, paired=partner is not None or bool(apart)),
                relative=pair.output_errors.get(call.position),
                relative_alone=output_error(answer.calls[0], call) if answer and answer.calls else None,
                why=apart if verdict is None else verdict.why or not_alone(verdict),
            )
        unpaired = [name for name, row in rows.items() if row.role == UNPAIRED]
        free = {call.module: call.kind for call in pair.theirs if call.module not in names.values()}
        lines = adapter_lines(unpaired, free, {name: row.kind for name, row in rows.items()})
        return JudgedModules(tuple(rows.values()), tuple(verdicts), tuple(lines))


def _pass_what_is_made_up_for(pair: TracePair) -> None:
    """Take a call's output for right where everything that is given it is given the right values all the same: what one
    model does inside a module, such as to scale its output, the other does around it."""
    for call in pair.gold:
        if (
            call.position not in pair.output_errors
            or pair.output_errors[call.position] <= pair.limit(call)
            or call.function
        ):
            continue
        takers = [
            (pair.partners[item.position], given)
            for item in pair.gold
            for given in item.inputs
            if item.position >= call.end
            and item.position in pair.partners
            and any(given is own for own in call.outputs)
        ]
        if takers and all(min(_apart(partner, given), default=1.0) <= pair.close for partner, given in takers):
            pair.output_errors[call.position] = 0.0


def _apart(call: Call, tensor: Any) -> list[float]:
    """Return how far each of a call's inputs is from a tensor."""
    return [distance(item, tensor) for item in call.inputs]


def _role(call: Call, verdict: ModuleVerdict | None, blamed: set[str], holders: set[str], *, paired: bool) -> Role:
    if call.module in blamed:
        return SOURCE
    if not paired:
        return UNPAIRED
    if call.module in holders and (verdict is None or verdict.outcome != AGREES):
        return HOLDS
    if verdict is None or verdict.outcome not in (AGREES, DIFFERS):
        return UNKNOWN
    if verdict.outcome == AGREES:
        return VICTIM if verdict.alone else ""
    return HOLDS


def _answer(run: Run, call: Call, orders: RowOrders, *, turned: bool) -> IsolatedResult:
    if run.failure is not None:
        return IsolatedResult(failure=run.failure)
    outputs = tuple(_numbers(value) for name, value in run.values.items() if name.isdecimal())
    outputs = align_outputs(orders.outputs_to_reference(call.module, outputs), call.outputs, turned=turned)
    return IsolatedResult((dataclasses.replace(call, outputs=outputs, after=call.after, returned=None),))


def _numbers(value: Any) -> Any:
    from goldsmith.gold.arrays import as_numpy

    return as_numpy(value)


def _far(theirs: Any, mine: Any) -> bool:
    import numpy as np

    one = np.asarray(_numbers(mine), dtype="float64")
    if theirs is None:
        return bool(np.abs(one).max(initial=0.0) > 0)
    two = np.asarray(_numbers(theirs), dtype="float64")
    return (
        one.shape == two.shape
        and distance(two, one) > GRADIENTS_FAR_IN_PARITY
        and bool(np.linalg.norm(two - one) > 1e-12)
    )
