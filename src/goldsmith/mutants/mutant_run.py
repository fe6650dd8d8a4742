"""The run of one mutant: replay case by case until one sees it; where none does, find out which condition would."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from goldsmith.check.check_context import CheckContext
from goldsmith.check.replay_workspace import ReplayWorkspace
from goldsmith.foundation.wording import count_of, line_place
from goldsmith.judge.case import Judge, is_settled
from goldsmith.judge.decision import OTHER_INPUTS, moved_by_rounding, shown_path
from goldsmith.judge.policy import CLEAR, SAME
from goldsmith.judge.reduced_precision import is_excused
from goldsmith.judge.verdicts import AGREES, COULD_NOT_RUN, CUT_OFF, DIFFERS, ERROR, INCONCLUSIVE, CaseVerdict
from goldsmith.mutants.baselines import InternalTests, customary_case, plainly_differs
from goldsmith.mutants.equivalence import ADVICE, WHY, deviation, deviation_under, only_wide
from goldsmith.mutants.mutants import Mutant
from goldsmith.mutants.normal_form import are_same_program
from goldsmith.mutants.results import COULD_NOT_RUN as UNTRIED
from goldsmith.mutants.results import (
    CRASHED,
    EQUIVALENT,
    KILLED,
    NOT_TOLD_APART,
    SURVIVED,
    UNREACHED,
    Baselines,
    Finding,
    finding,
)
from goldsmith.mutants.solution_baseline import SolutionBaseline, shown_under
from goldsmith.mutants.workspace_pool import PooledWorkspace, WorkspacePool
from goldsmith.process.launcher import Watcher
from goldsmith.runs.conditions import FLOAT64, PERTURBATIONS, PERTURBED, PLAIN, REPEAT, Perturbation
from goldsmith.runs.run import CaseRuns
from goldsmith.targets.target import Placement

_FORMULAS = frozenset(
    {"activations", "arithmetic", "arrays", "attention", "losses", "masks", "norms", "positions", "vision"}
)
"""Families whose mutants compute a value in another way: if it is the same for numbers drawn at random, so is the
formula. A step, a mode, a line or a state that is missing may show nothing where nobody looks."""
_NO_FORMULAS = frozenset({"dropout", "detached", "overflows", "frozen"})
"""Words in the names of operators in these families that are about a mode, gradients or a range of numbers."""
_DRAWN: frozenset[Perturbation] = frozenset({"draws", "moved"})
_RUNS = (PLAIN, FLOAT64)
_OVERWRITING = 'set overwriting = "differs" for this assignment, where that counts as wrong'


class Stopped(Exception):
    """The run was interrupted, so this mutant is not examined further."""


@dataclass(frozen=True)
class MutantRunner:
    """What the runs of all mutants share."""

    checking: CheckContext
    baseline: SolutionBaseline
    pool: WorkspacePool
    placed: Sequence[Placement]
    tests: InternalTests | None = None
    plain: bool = False
    stopped: threading.Event = field(default_factory=threading.Event)

    def of(self, mutant: Mutant) -> Finding:
        """Run one mutant against every case that reaches it."""
        started = time.monotonic()
        cases = self.baseline.cases_of(mutant)
        if are_same_program(self._original(mutant), mutant.content):
            found = finding(mutant, EQUIVALENT, reason="the same program: both compile to the same instructions")
        elif not cases:
            advice = f"a case that reaches {line_place(*mutant.place)}, in {mutant.part}"
            found = finding(mutant, SURVIVED, reason=UNREACHED, advice=advice)
        else:
            with self._borrow(mutant) as pooled:
                if not self.checking.setting.is_plain:
                    found = self._by_ruler(pooled.stage, mutant, cases)
                elif (screened := self._screen(pooled.stage, cases)).against is not None:
                    assert screened.against is not None
                    found = _caught(mutant, screened.against)
                elif screened.accepted:
                    found = finding(mutant, EQUIVALENT, reason=f"the recipe accepts it: {screened.accepted}")
                else:
                    found = self._probe(pooled.stage, mutant, cases, screened)
                pooled.dirty = found.outcome == CRASHED  # a process of it may still be running
        seconds = time.monotonic() - started
        return msgspec.structs.replace(found, beside=self.baselines(mutant), seconds=seconds)

    def accepted(self, variant: Mutant) -> Finding:
        """Run a right variant against every case: one that sees it is wrong about it."""
        started = time.monotonic()
        with self._borrow(variant) as pooled:
            screened = self._screen(pooled.stage, list(self.baseline.replays))
            said = screened.without_blind_records(self.checking.judge)
            if not self.checking.setting.is_plain:  # some cases cannot be judged in a setting, whoever runs there
                said = {name: verdict for name, verdict in said.items() if verdict.outcome != INCONCLUSIVE}
            unsaid = _against(said)
            if screened.against is not None:
                found = _caught(variant, screened.against)
            elif unsaid is not None:
                found = finding(variant, UNTRIED, case=unsaid.name, reason=f"{unsaid.outcome}: {unsaid.reason}")
            else:
                found = finding(variant, EQUIVALENT, reason="accepted by every case")
            pooled.dirty = found.outcome == CRASHED
        if found.cut_off:
            found = finding(variant, UNTRIED, reason=found.reason, cut_off=True)
        return msgspec.structs.replace(found, seconds=time.monotonic() - started)

    def baselines(self, mutant: Mutant) -> Baselines:
        """Find out whether the internal tests and a plain comparison catch a mutant."""
        return Baselines(
            tests=self._tests_catch(mutant) if self.tests else None,
            plain=self._plainly_differs(mutant) if self.plain else None,
        )

    def _tests_catch(self, mutant: Mutant) -> bool:
        assert self.tests is not None
        watcher = Watcher(on_tick=self._check_stopped)
        return self.tests.fail_with(self._placed(mutant), watcher, self.baseline.limits)

    def _plainly_differs(self, mutant: Mutant) -> bool:
        case = customary_case(self.checking.golds)
        if case not in self.baseline.cases_of(mutant):
            return False
        with self._borrow(mutant) as pooled:
            replay = pooled.stage.replay([case], (PLAIN,))[case]
            pooled.dirty = replay.first.failure is not None
            return plainly_differs(self.checking.golds[case], replay)

    @contextlib.contextmanager
    def _borrow(self, mutant: Mutant) -> Iterator[PooledWorkspace]:
        """Borrow a workspace with the mutant in it, under its time limit and resource limits."""
        with self.pool.borrow(self.baseline.placed(mutant)) as pooled:
            pooled.stage.case_timeout = self.baseline.time_limit
            pooled.stage.limits = self.baseline.limits
            pooled.stage.watcher = Watcher(on_tick=self._check_stopped)
            yield pooled

    def _placed(self, mutant: Mutant) -> list[Placement]:
        others = [item for item in self.placed if item.target != mutant.file]
        return [*others, self.baseline.placed(mutant)]

    def _original(self, mutant: Mutant) -> bytes:
        return next(item for item in self.placed if item.target == mutant.file).read()

    def _check_stopped(self) -> None:
        if self.stopped.is_set():
            raise Stopped

    # --- does any case see it? ----------------------------------------------------------------------------------------

    def _screen(self, stage: ReplayWorkspace, cases: Sequence[str]) -> _Screened:
        """Replay cases, the smallest first, until one sees the mutant."""
        seen: dict[str, CaseVerdict] = {}

        def sees(name: str, replay: CaseRuns) -> bool:
            seen[name] = self.checking.judge.verdict(name, replay, guessing=False)
            return seen[name].outcome != AGREES or is_excused(seen[name])

        replays = stage.replay(cases, _RUNS, until=sees)
        name = next((name for name, item in seen.items() if item.outcome != AGREES or is_excused(item)), None)
        if name is None:
            again = stage.replay(self.baseline.quick(cases), (PLAIN, REPEAT))
            met = {item.met for item in seen.values() if item.met and _is_exact(item)}
            variant = f"it does what the variant {', '.join(sorted(met))} does" if met else ""
            return _Screened(_against(self.checking.strategy(stage).judge_runs(again)), replays, seen, variant)
        verdict = self.checking.strategy(stage).judge_runs({name: replays[name]})[name]
        if verdict.outcome == AGREES or self._may_agree_in_another_layout(stage, name):
            heard = self.checking.strategy(stage)
            heard.run_cases(cases)
            layout = next(iter(heard.layouts.values()), "")
            right = f"right, its weights lying as layout {layout!r} says" if layout else ""
            return _Screened(_against(heard.verdicts), heard.replays, heard.verdicts, right)
        return _Screened(verdict, replays, {name: verdict})

    def _by_ruler(self, stage: ReplayWorkspace, mutant: Mutant, cases: Sequence[str]) -> Finding:
        """Replay cases until one is off by more than the setting's ruler allows; nothing else is looked at."""
        seen: dict[str, CaseVerdict] = {}

        def sees(name: str, replay: CaseRuns) -> bool:
            seen[name] = self.checking.judge.verdict(name, replay, guessing=False)
            return seen[name].outcome in (DIFFERS, COULD_NOT_RUN, ERROR)

        stage.replay(cases, (PLAIN,), until=sees)
        against = next((item for item in seen.values() if item.outcome in (DIFFERS, COULD_NOT_RUN, ERROR)), None)
        if against is not None:
            return _caught(mutant, against)
        reason = f"in no case is it farther off than the ruler for {self.checking.setting.name} allows"
        return finding(mutant, SURVIVED, reason=reason)

    def _may_agree_in_another_layout(self, stage: ReplayWorkspace, case: str) -> bool:
        """Say whether the mutant might be right with its weights in a layout that the adapter allows."""
        for layout in self.checking.judge.layouts_of(case):
            replay = stage.replay([case], (PLAIN,), layout)[case]
            verdict = self.checking.judge.verdict(case, replay, guessing=False)
            if verdict.outcome == AGREES or not is_settled(verdict):
                return True
        return False

    # --- would any case see it? ---------------------------------------------------------------------------------------

    def _probe(self, stage: ReplayWorkspace, mutant: Mutant, cases: Sequence[str], screened: _Screened) -> Finding:
        """Decide on a mutant that no case sees: it survived, unless no run tells it from the solution."""
        replays = screened.replays
        careless = [
            name
            for name in cases
            if replays[name].first.facts.overwrote != self.baseline.replays[name].first.facts.overwrote
        ]
        if careless:
            return finding(mutant, SURVIVED, reason=f"it overwrites an input in {careless[0]}", advice=_OVERWRITING)
        own = max(self._apart(name, replays[name]) for name in cases)
        unjudged = self._only_in_blind_records(screened, cases) if own > SAME else ""
        if unjudged:
            reason = f"off by {own:.0e}, and only where nothing is judged: {unjudged}"
            return finding(mutant, SURVIVED, reason=reason, advice=OTHER_INPUTS, deviation=own)
        shown, shown_by, tried, cut_off = self._try_conditions(stage, cases)
        if not shown:
            reason = "no case sees it, and there is no other condition to try it under"
            return finding(mutant, SURVIVED, reason=reason, deviation=own, cut_off=cut_off)
        furthest = max(own, *shown.values())
        largest = max(shown, key=lambda item: shown[item])
        best = next((item for item in PERTURBATIONS if shown.get(item, 0.0) > CLEAR), largest)
        if furthest <= SAME:
            runs = count_of(len(cases) + tried, "run")
            reason = f"not told apart in {runs}, {tried} of them under other conditions; read the line and decide"
            is_formula = mutant.family in _FORMULAS and not _NO_FORMULAS.intersection(mutant.operator.split("-"))
            same = is_formula and shown.keys() >= _DRAWN
            return finding(
                mutant, NOT_TOLD_APART, reason=reason, deviation=furthest, cut_off=cut_off, same_formula=same
            )
        if self._keeps_state(stage, shown_by[best], best):
            reason, advice = WHY["repeated"], ADVICE["repeated"]
            return finding(mutant, SURVIVED, reason=reason, advice=advice, deviation=own, cut_off=cut_off)
        reason = f"off by {own:.0e} in float64, which tolerances allow" if own > SAME else WHY[best]
        advice = ADVICE[best] if shown[best] > max(own, CLEAR) else ""  # which no tolerance would allow
        return finding(mutant, SURVIVED, reason=reason, advice=advice, deviation=own, cut_off=cut_off)

    def _try_conditions(
        self, stage: ReplayWorkspace, cases: Sequence[str]
    ) -> tuple[dict[Perturbation, float], dict[Perturbation, str], int, bool]:
        """Return deviations by condition and the case that shows each best, in how many runs they were found, and
        whether any run was cut off.

        A run that was cut off shows nothing: another mutant on the same machine may have caused it.
        """
        found: dict[Perturbation, float] = {}
        shown_by: dict[Perturbation, str] = {}
        tried, cut_off = 0, False
        stage.case_timeout *= len(PERTURBATIONS)  # a case runs once under each condition
        quick = self.baseline.quick(cases)
        solution = self.baseline.under_conditions(quick)
        for name, replay in stage.replay(quick, tuple(PERTURBED.values())).items():
            for condition in PERTURBATIONS:
                expected = shown_under(solution[name], condition)
                run = replay.runs.get(condition)
                if expected is None:
                    continue
                if run is None or (run.failure and run.failure.kind in CUT_OFF):
                    cut_off = True
                    continue
                tried += 1
                apart = _apart_under(condition, expected, replay)
                if apart > found.get(condition, -1.0):
                    found[condition], shown_by[condition] = apart, name
        return found, shown_by, tried, cut_off

    def _keeps_state(self, stage: ReplayWorkspace, case: str, condition: Perturbation) -> bool:
        """Say whether a condition shows a mutant only because of what it keeps from one call to the next: by itself, in
        a process that has run nothing before, it shows nothing, while a call on other inputs does."""
        return not self._shows(stage, case, condition) and self._shows(stage, case, "repeated")

    def _shows(self, stage: ReplayWorkspace, case: str, condition: Perturbation) -> bool:
        expected = shown_under(self.baseline.under_conditions([case])[case], condition)
        replay = stage.replay([case], (PERTURBED[condition],))[case]
        return expected is not None and _apart_under(condition, expected, replay) > CLEAR

    def _only_in_blind_records(self, screened: _Screened, cases: Sequence[str]) -> str:
        """Say what is not judged of the case that is farthest off, if all cases are off in such records alone."""
        blind = {name: self.checking.judge.blind_records(screened.verdicts[name]) for name in cases}
        if any(self._apart(name, screened.replays[name], blind[name]) > SAME for name in cases):
            return ""
        worst = max(cases, key=lambda name: self._apart(name, screened.replays[name]))
        return moved_by_rounding(f"{shown_path(blind[worst][0])} of case {worst}")

    def _apart(self, case: str, replay: CaseRuns, ignored: Collection[str] = ()) -> float:
        """Return the deviation in float64; in the natural dtype where that is float64 or the solution needs it."""
        solution = self.baseline.replays[case]

        def values(runs: CaseRuns, run: str) -> dict[str, Any]:
            return {path: leaf for path, leaf in runs.values(run).items() if path not in ignored}

        natural = values(solution, "plain"), values(replay, "plain")
        if solution.runs["float64"].failure:
            return deviation(*natural)
        wide = deviation(values(solution, "float64"), values(replay, "float64"))
        return max(wide, deviation(*map(only_wide, natural)))


def _apart_under(condition: Perturbation, solution: Mapping[str, Any], replay: CaseRuns) -> float:
    run = replay.runs[condition]
    return math.inf if run.failure else deviation_under(condition, solution, replay.values(condition))


@dataclass(frozen=True)
class _Screened:
    """The verdict of the first case that sees a mutant, or None; the replays and their verdicts; why the recipe or
    adapter accepts it."""

    against: CaseVerdict | None
    replays: Mapping[str, CaseRuns]
    verdicts: Mapping[str, CaseVerdict]
    accepted: str = ""

    def without_blind_records(self, judge: Judge) -> dict[str, CaseVerdict]:
        return {name: judge.without_blind_records(verdict) for name, verdict in self.verdicts.items()}


def _is_exact(verdict: CaseVerdict) -> bool:
    """Say whether it is exactly the variant's answer, not only within its tolerance."""
    return verdict.judged_in in ("float64", "exact") and all(leaf.relative <= SAME for leaf in verdict.leaves)


def _against(verdicts: Mapping[str, CaseVerdict]) -> CaseVerdict | None:
    return next((item for item in verdicts.values() if item.outcome != AGREES), None)


def _caught(mutant: Mutant, verdict: CaseVerdict) -> Finding:
    if verdict.outcome == ERROR:
        raise RuntimeError(verdict.reason)  # our own error, not a verdict on the mutant
    if verdict.outcome == COULD_NOT_RUN:
        cut_off = verdict.kind in CUT_OFF
        return finding(mutant, CRASHED, case=verdict.name, reason=verdict.reason, cut_off=cut_off)
    worst = verdict.worst
    return finding(
        mutant,
        KILLED,
        case=verdict.name,
        tensor=shown_path(worst.path) if worst else "",
        reason=verdict.reason,
    )
