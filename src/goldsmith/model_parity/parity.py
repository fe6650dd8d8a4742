"""Have a candidate judged against its reference: weights, forward passes, gradients, optimiser steps, modules.

Here both sides are asked, in order; `judge.py` judges their values, `modules.py` their modules.
"""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from goldsmith.judge.decision import is_off_in_float64, natural_dtype
from goldsmith.judge.evidence import Evidence
from goldsmith.judge.policy import CLOSE, FINEST_OF_PARITY, ORGANISED_DIFFERENTLY
from goldsmith.judge.verdicts import AGREES, COULD_NOT_RUN, DIFFERS, INCONCLUSIVE, CaseVerdict, gravest
from goldsmith.model_parity.both_sides import BothSides, Inconclusive, ParityRequest, Runs, farthest_output, renamed
from goldsmith.model_parity.built_with import differences
from goldsmith.model_parity.carry_weights import CannotCarry, CannotConvertWeights, carry_weights
from goldsmith.model_parity.judge import ValueJudge, comparable_weights, is_all_nan, is_near, judge_rounding, rounded_to
from goldsmith.model_parity.judged_modules import SMALL, JudgedModules
from goldsmith.model_parity.modules import ModuleJudge
from goldsmith.model_parity.noise import Measured, calls_of, is_gradient
from goldsmith.model_parity.output_pairs import CannotPairOutputs
from goldsmith.model_parity.result import CarriedWeights, ParityReport
from goldsmith.model_parity.routing import with_routing
from goldsmith.model_parity.trials import try_again, try_compiled, try_structure
from goldsmith.model_parity.weight_words import agrees_without, guess_notes
from goldsmith.model_parity.words import arrangement, random_words, unseen_words
from goldsmith.runs.conditions import WIDE
from goldsmith.runs.implementation import OUTPUT, Implementation, Loaded
from goldsmith.runs.requests import RunRequest

SIDES = ("reference", "candidate")


class _Compared(NamedTuple):
    """Verdicts, the runs and the noise that they rest on, and whether more trials were made since it was near."""

    cases: list[CaseVerdict]
    runs: Runs
    measured: Measured
    near: bool


def judge_parity(
    reference: Implementation,
    candidate: Implementation,
    request: ParityRequest,
    on_step: Callable[[str], None] = lambda text: None,
    evidence: Evidence | None = None,
) -> ParityReport:
    """Judge `candidate` against `reference`; `on_step` is told what is being done. What the result rests on is put into
    `evidence`, if there is one. Whoever has made the two closes them."""
    started = time.monotonic()
    judging = _Judging(BothSides(reference, candidate, request), on_step, evidence)
    try:
        report = judging.report()
    except Inconclusive as problem:
        report = ParityReport(
            name=request.candidate,
            reference=request.reference,
            outcome=COULD_NOT_RUN,
            kind=problem.kind,
            reason=str(problem),
            failure=problem.failure,
            built_with=differences(*judging.both.described),
            weights=judging.carried,
            adapter_lines=problem.lines,
            notes=tuple(dict.fromkeys(judging.both.notes)),
        )
    return msgspec.structs.replace(report, seconds=round(time.monotonic() - started, 3))


@dataclass
class _Judging:
    both: BothSides
    on_step: Callable[[str], None]
    evidence: Evidence | None
    carried: CarriedWeights = field(default_factory=CarriedWeights)
    loaded: Loaded = field(default_factory=Loaded)
    lines: tuple[str, ...] = ()
    judged: JudgedModules | None = None

    def report(self) -> ParityReport:
        self.on_step("describing both")
        self.both.described = self.both.reference.describe(), self.both.candidate.describe()
        self.both.notes += self.both.request.notes
        for item, side in zip(self.both.described, SIDES, strict=True):
            self.both.notes += [f"the {side} {note}" for note in item.notes]
        draws = self.both.reference.draw_inputs()
        mine, theirs = self.both.described
        self.both.candidate.take_inputs(self.both.reference.inputs(foreign=mine.library != theirs.library))
        self.both.own_inputs = self.both.candidate.make_own_inputs()
        self.both.described = (
            mine if mine.is_complete else self.both.reference.describe(),
            theirs if theirs.is_complete else self.both.candidate.describe(),
        )
        self.both.fit_inputs()
        self._carry()
        count = draws.count("")
        sets = (
            self._judge_set(number, f"inputs {number + 1}: " if count > 1 else "", f" {number + 1} of {count}")
            for number in range(count)
        )
        cases = [case for cases in sets for case in cases]
        if gravest(case.outcome for case in cases) == AGREES:
            cases += self._judge_structured({number: name for number, name in enumerate(draws) if name})
        return self._report(cases)

    def _judge_structured(self, draws: Mapping[int, str]) -> Iterator[CaseVerdict]:
        """Judge a kernel on inputs with structure."""
        for number, name in draws.items():
            self.on_step(f"trying {name}")
            request = self.both.plain(number).under(outputs=tuple(self.both.pairs.paths))
            compare = functools.partial(self._compare, "", request, None, self.on_step, traced=False)
            found = try_structure(self.both, name, request, compare)
            if found is not None:
                yield found

    # --- weights ----------------------------------------------------------------------------------------------------

    def _carry(self) -> None:
        mine, theirs = self.both.described
        if not (mine.is_module and theirs.is_module):
            if self.both.request.weights and (mine.weights or theirs.weights):
                self.both.notes.append("weights were not carried over: only those of models can be")
            self._first_runs()
            return
        self.on_step("carrying weights over")
        try:
            found = carry_weights(self.both, keep=self.both.request.weights)
        except CannotConvertWeights as problem:
            raise Inconclusive("weights", str(problem)) from None
        except CannotCarry as problem:
            self.carried = CarriedWeights(unplaced=problem.loaded.unplaced, free=problem.loaded.free)
            raise Inconclusive("weights", str(problem)) from None
        self.loaded, self.lines = found.loaded, found.lines
        if self.loaded.rounded and not self.both.request.tolerance_given:  # so that nothing but its code is judged
            self.both.reference.round_weights(self.loaded.rounded)
            self.both.notes.append(
                f"both ran with weights rounded to {rounded_to(self.loaded)}, as the candidate's are"
            )
        free = {name: theirs.weights[name] for name in self.loaded.extra if name in theirs.weights}
        self.carried = CarriedWeights(
            placed=self.loaded.placed,
            unplaced={**self.loaded.unplaced, **found.missing},
            free=free,
            guess=found.guess,
        )
        if self.both.request.weights:
            self.both.notes += guess_notes(self.carried, self.loaded.reasons)
        self.both.notes += [*found.notes, *self.loaded.notes]
        self._first_runs()

    def _first_runs(self) -> None:
        """Run both once, so that what keeps them from running at all is told first, and pair their outputs."""
        mine = self.both.run(self.both.reference, "reference", self.both.plain())
        theirs = self.both.run(self.both.candidate, "candidate", self.both.their(self.both.plain()))
        for ran, side in ((mine, "reference"), (theirs, "candidate")):
            skipped = [f"{path.removeprefix('output.')} ({kind})" for path, kind in ran.facts.skipped.items()]
            if skipped:
                self.both.notes.append(f"not compared, being no numbers: {', '.join(skipped[:3])} of the {side}")
        try:
            self.both.pairs = self.both.pair_outputs(mine, theirs)
        except CannotPairOutputs as problem:
            raise Inconclusive("outputs", str(problem)) from None
        self.both.notes += self.both.pairs.notes
        for path in self.both.pairs.paths:
            if is_all_nan(mine.values[path]):
                name = path.removeprefix("output.") if path != OUTPUT else "its output"
                raise Inconclusive("nan", f"the reference itself returns nothing but NaN in {name}")

    @functools.cached_property
    def judge(self) -> ValueJudge:
        weights = comparable_weights(self.loaded)
        return ValueJudge(
            self.both.request, self.both.pairs.paths, weights, mixed=self.both.mixed, evidence=self.evidence
        )

    # --- one set of inputs ------------------------------------------------------------------------------------------

    def _judge_set(self, number: int, prefix: str, progress: str) -> list[CaseVerdict]:
        def told(text: str) -> None:
            self.on_step(text + (progress if prefix else ""))

        told("running both")
        base = self.both.plain(number).under(outputs=tuple(self.both.pairs.paths))
        self.both.run(self.both.reference, "reference", base)
        self.both.run(self.both.candidate, "candidate", self.both.their(base))
        gradients = self.both.request.gradients and self._has_gradients(base)
        request = base.under(gradients=gradients)
        shared = functools.partial(self.both.is_shared_input, number) if gradients else None
        cases, runs, measured, near = self._compare(prefix, request, shared, told, traced=True)
        for name in runs.mine.facts.overwrote:
            self.both.notes.append(f"the reference changes its input {name} in place")
        if not self.both.request.tolerance_given:
            cases = with_routing(cases, self.both.reference, request, runs, measured, self.judge)
        forward = cases[0]
        if self.both.request.steps:
            steps = f"{self.both.request.steps} step{'s' if self.both.request.steps > 1 else ''}"
            told(f"taking {steps}")
            cases.append(self._step_case(f"{prefix}{steps}", base, told))
        mine, theirs = (item.facts.drew for item in runs.wide or (runs.mine, runs.theirs))
        chance = bool(theirs) and not mine and not self.both.request.train and self._depends_on_chance(base, measured)
        if chance and forward.outcome != AGREES:
            reason = f"{theirs} draws random numbers in eval mode, and the reference draws none: is dropout left on?"
            cases[0] = msgspec.structs.replace(forward, outcome=DIFFERS, kind="random", reason=reason)
        told("looking at modules")
        before = self.judged
        looked = self._look_at_modules(request, runs, measured, list(cases), chance=chance)
        if looked[0].kind == SMALL and not near:  # nothing but a module's noise, by few trials, speaks against it
            self.judged = before
            measured = self.both.measure(request, runs, told, more=True)
            looked = self._look_at_modules(request, runs, measured, list(cases), chance=chance)
        if self.both.request.compiled and gravest(case.outcome for case in looked) == AGREES:
            told("compiling the candidate")
            looked += try_compiled(self.both, self.judge, prefix, request, runs, measured, shared)
        if self.both.request.kernel and not number and gravest(case.outcome for case in looked) == AGREES:
            told("running it again under other conditions")
            looked += try_again(self.both, self.judge, base, runs, measured)
        in_doubt = bool(mine or theirs) and (bool(mine) or self.both.request.train)
        if in_doubt and gravest(case.outcome for case in looked) != AGREES:
            side = "reference" if mine else "candidate"
            raise Inconclusive("random", random_words(mine or theirs, side, self.both.request.train))
        return looked

    def _compare(
        self,
        prefix: str,
        request: RunRequest,
        shared: Callable[[str], bool] | None,
        told: Callable[[str], None],
        *,
        traced: bool,
    ) -> _Compared:
        """Run both, and judge their values."""
        runs = self.both.both(request, traced=traced)
        told("measuring the reference's noise")
        measured = self.both.measure(request, runs, told)
        if measured.unfaithful:
            raise Inconclusive("repeats", "the reference gives another answer when it runs again on the same inputs")
        cases = self.judge.values(prefix, runs, measured, shared)
        near = any(map(is_near, cases))
        if near:
            measured = self.both.measure(request, runs, told, more=True)
            cases = self.judge.values(prefix, runs, measured, shared)
        inside = self._rounded_inside(request, runs, measured, cases)
        if inside:
            runs = self.both.in_own_dtype(request, inside, traced=traced)
            measured = self.both.measure(request, runs, told, more=True)
            cases = self.judge.values(prefix, runs, measured, shared)
        return _Compared(cases, runs, measured, near)

    def _depends_on_chance(self, base: RunRequest, measured: Measured) -> bool:
        """Say whether the candidate returns something else where it draws other random numbers."""
        request = self.both.their(base)
        ran = [self.both.candidate.run(item) for item in (request, request.under(reseeded=True))]
        one, two = (renamed(item.values, self.both.pairs.paths) for item in ran)
        return not self.judge.outputs_agree(one, two, measured)

    def _rounded_inside(self, request: RunRequest, runs: Runs, measured: Measured, cases: list[CaseVerdict]) -> str:
        """Say which dtype the candidate rounds to inside, if nothing but that speaks against it; else ""."""
        wrong = [case for case in cases if case.outcome == DIFFERS]
        if not wrong or not all(is_off_in_float64(case) for case in wrong):
            return ""
        inner = self.both.rounded_inside(request, runs, measured, natural_dtype(wrong[0]))
        return inner and f"the candidate rounds to {inner} inside, whatever it is given"

    def _has_gradients(self, base: RunRequest) -> bool:
        """Return whether the reference has gradients to compare; if not, say why."""
        if self.loaded.unplaced or self.loaded.opaque:
            return False
        ran = self.both.reference.run(base.under(gradients=True))
        if ran.facts.failure is not None:
            self.both.notes.append(
                f"gradients are not compared: the reference's backward fails ({ran.facts.failure.message})"
            )
        elif ran.facts.cut_off or not any(map(is_gradient, ran.values)):
            self.both.notes.append("gradients are not compared: the reference's output has none")
        return any(map(is_gradient, ran.values)) and not ran.facts.cut_off

    def _step_case(self, name: str, base: RunRequest, told: Callable[[str], None]) -> CaseVerdict:
        if not all(item.is_module for item in self.both.described) or self.loaded.unplaced or self.loaded.opaque:
            raise Inconclusive("steps", "optimiser steps need two models whose weights correspond; leave steps out")
        request = base.under(steps=self.both.request.steps)
        runs = self.both.both(request, traced=False)
        for ran, side in ((runs.mine, "reference"), (runs.theirs, "candidate")):
            problem = ran.facts.failure.message if ran.facts.failure else ran.facts.cut_off
            if problem:
                return CaseVerdict(
                    name=name,
                    title="",
                    outcome=COULD_NOT_RUN,
                    kind="steps",
                    reason=f"the {side} cannot be trained: {problem}",
                    failure=ran.facts.failure,
                )
        measured = self.both.measure(request, runs, told)
        verdict = self.judge.steps(name, runs, measured)
        inside = self._rounded_inside(request, runs, measured, [verdict])
        if inside:
            runs = self.both.in_own_dtype(request, inside, traced=False)
        if inside or is_near(verdict):
            verdict = self.judge.steps(name, runs, self.both.measure(request, runs, told, more=True))
        return verdict

    # --- modules ----------------------------------------------------------------------------------------------------

    def _look_at_modules(
        self, request: RunRequest, runs: Runs, measured: Measured, cases: list[CaseVerdict], *, chance: bool
    ) -> list[CaseVerdict]:
        mine, theirs = runs.wide or (runs.mine, runs.theirs)
        if mine.trace is None or theirs.trace is None or not all(item.is_module for item in self.both.described):
            return cases
        precise = request.under(precision=WIDE) if runs.wide else request
        judge = ModuleJudge(
            self.both.reference,
            self.both.candidate,
            self.both.described,
            self.loaded,
            precise,
            self.both.their(precise),
            FINEST_OF_PARITY if runs.wide else CLOSE,
            measured.calls,
            takes_others=self.both.own_inputs is not None,
        )
        pair = judge.pair(mine, theirs)
        if self.evidence is not None:
            self.evidence.add_calls(cases[0].name, pair)
        found = judge.judge(pair)
        differing = [number for number, case in enumerate(cases) if case.outcome == DIFFERS]
        only_gradients = bool(differing) and cases[0].outcome == AGREES and "gradients" in cases[differing[0]].name
        if only_gradients and not any(not item.inferred for item in found.sources):
            found = judge.judge_gradients(pair)
        if chance:
            found = judge.blame_chance(pair, found)
        if differing and not found.sources and runs.wide:
            judge = dataclasses.replace(judge, close=ORGANISED_DIFFERENTLY)
            pair = judge.pair(mine, theirs)
            found = judge.judge(pair)
        found = judge.described_first(found, pair, theirs)
        if differing:
            called = [{call.module for call in calls_of(ran)} for ran in (mine, theirs)]
            self.both.notes += filter(None, map(unseen_words, self.both.described, called, SIDES))
        if not differing:
            far = farthest_output(mine.values, theirs.values, self.both.pairs.paths)
            tied = any(item.ties or item.unjudged for item in cases[0].chosen)
            if cases[0].outcome == INCONCLUSIVE and (tied or self.judge.in_float64.get(cases[0].name) is False):
                found.clear_sources()  # modules return what follows from a tie
            elif runs.wide is not None:
                cases[0], notes = found.with_small_differences(cases[0], far, self.both.request.tolerance_given)
                self.both.notes += notes
        elif found.verdicts:
            cases[differing[0]] = found.added_to(cases[differing[0]])
        if self.judged is None or (differing and not self.judged.sources):
            self.judged = found
        return cases

    # --- the whole --------------------------------------------------------------------------------------------------

    def _report(self, cases: list[CaseVerdict]) -> ParityReport:
        judged = self.judged or JudgedModules()
        condition, cases = judge_rounding(self.both.request, self.both.described[1].dtype, self.loaded, cases)
        outcome = gravest(case.outcome for case in cases)
        if outcome == AGREES and self.both.request.weights and self.carried.unplaced:
            raise Inconclusive("weights", agrees_without(self.carried), lines=self.lines)
        first = next(iter(judged.sources), None) if outcome != AGREES else None
        worst = next((case for case in cases if case.outcome == outcome), None)
        return ParityReport(
            name=self.both.request.candidate,
            reference=self.both.request.reference,
            outcome=outcome,
            built_with=differences(*self.both.described),
            kind=worst.kind if worst and outcome != AGREES else "",
            reason=worst.reason if worst and outcome != AGREES else "",
            first_divergence=first.label if first else "",
            first_name=first.their_label if first else "",
            first_kind=(first.their_kind or first.kind) if first else "",
            first_how="" if first is None else judged.how(first),
            first=judged.first if first is not None else None,
            cases=tuple(cases),
            modules=judged.modules,
            weights=self.carried,
            condition=(condition or arrangement(self.loaded)) if outcome == AGREES else "",
            adapter_lines=tuple(dict.fromkeys((*self.lines, *judged.lines))),
            notes=tuple(dict.fromkeys([*self.both.notes, *(note for case in cases for note in case.notes)])),
        )
