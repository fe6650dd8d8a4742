"""One mutant tried: replayed case by case until one sees it, and asked what would have, where none does."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from goldsmith.checking import AGREES, COULD_NOT_RUN, CaseVerdict, Checking, Replayed, Stage, shown_path
from goldsmith.course import Placement
from goldsmith.recording import CONDITIONS, Condition, RunName, Watcher
from goldsmith.rigor.baselines import InternalTests, customary_case, plainly_differs
from goldsmith.rigor.findings import CRASHED, EQUIVALENT, KILLED, SURVIVED, Beside, Finding, finding
from goldsmith.rigor.mutants import Mutant
from goldsmith.rigor.probing import ADVICE, PLAIN, SAME, WHY, deviation
from goldsmith.rigor.rehearsal import Rehearsal

_RUNS: tuple[RunName, ...] = ("once", "float64")


class Stopped(Exception):
    """The run was interrupted: nothing is to be found out any more."""


@dataclass(frozen=True)
class Trial:
    """Everything that the trials of all mutants share."""

    checking: Checking
    rehearsal: Rehearsal
    placed: Sequence[Placement]
    tests: InternalTests | None = None
    plain: bool = False
    stopped: threading.Event = field(default_factory=threading.Event)

    def of(self, mutant: Mutant) -> Finding:
        """What became of one mutant."""
        started = time.monotonic()
        cases = self.rehearsal.cases_of(mutant)
        if not cases:
            found = finding(
                mutant, SURVIVED, reason="no case runs this line", advice=f"add a case that runs {mutant.part}"
            )
        else:
            with self._stage(mutant) as stage:
                screened = self._screened(stage, cases)
                if screened.against is not None:
                    found = _caught(mutant, screened.against)
                elif screened.accepted:
                    found = finding(mutant, EQUIVALENT, reason=f"the recipe accepts it: {screened.accepted}")
                else:
                    found = self._probed(stage, mutant, cases, screened.replays)
        seconds = time.monotonic() - started
        return msgspec.structs.replace(found, beside=self.beside(mutant), seconds=seconds)

    def beside(self, mutant: Mutant) -> Beside:
        """What others make of a mutant."""
        return Beside(
            tests=self._tests_catch(mutant) if self.tests else None,
            plain=self._plainly_differs(mutant) if self.plain else None,
        )

    def _tests_catch(self, mutant: Mutant) -> bool:
        assert self.tests is not None
        watcher = Watcher(on_tick=self._go_on)
        return self.tests.fail_with(self._placed(mutant), watcher, self.rehearsal.limits)

    def _plainly_differs(self, mutant: Mutant) -> bool:
        case = customary_case(self.checking.golds)
        if case not in self.rehearsal.cases_of(mutant):
            return False
        with self._stage(mutant) as stage:
            return plainly_differs(self.checking.golds[case], stage.replay([case], ("once",))[case])

    @contextlib.contextmanager
    def _stage(self, mutant: Mutant) -> Iterator[Stage]:
        """A workspace with the mutant in it, limited in what it can do."""
        with self.checking.stage(self._placed(mutant)) as stage:
            stage.each = self.rehearsal.time_limit
            stage.limits = self.rehearsal.limits
            stage.given = self.rehearsal.given
            stage.watcher = Watcher(on_tick=self._go_on)
            yield stage

    def _placed(self, mutant: Mutant) -> list[Placement]:
        others = [item for item in self.placed if item.target != mutant.file]
        return [*others, self.rehearsal.placed(mutant)]

    def _go_on(self) -> None:
        if self.stopped.is_set():
            raise Stopped

    # --- does any case see it? ----------------------------------------------------------------------------------------

    def _screened(self, stage: Stage, cases: Sequence[str]) -> _Screened:
        """Quick cases come first, and those after the first that sees it are not run."""
        seen: dict[str, CaseVerdict] = {}

        def sees(name: str, replay: Replayed) -> bool:
            seen[name] = self.checking.verdict(name, replay)
            return seen[name].outcome != AGREES

        replays = stage.replay(cases, _RUNS, until=sees)
        name = next((name for name, item in seen.items() if item.outcome != AGREES), None)
        if name is None:
            again = stage.replay(self.rehearsal.quick(cases), ("once", "again"))
            met = next((item.met for item in seen.values() if item.met), "")
            against = _against(self.checking.verdicts(stage, again))
            return _Screened(against, replays, f"it is what its variant {met} does" if met else "")
        verdict = self.checking.verdicts(stage, {name: replays[name]})[name]
        if verdict.outcome == AGREES or self._agrees_in_another_layout(stage, name):
            opened = dataclasses.replace(self.checking.opened, golds=self._golds(cases))
            every = dataclasses.replace(self.checking, opened=opened)
            verdicts, replays, layout = every.judge(stage)
            return _Screened(_against(verdicts), replays, f"right, its weights lying as layout {layout!r} says")
        return _Screened(verdict, replays)

    def _golds(self, cases: Sequence[str]) -> dict[str, Any]:
        return {name: self.checking.golds[name] for name in cases}

    def _agrees_in_another_layout(self, stage: Stage, case: str) -> bool:
        """Whether a submission like this would be right, its weights lying as the adapter says they may."""
        for layout in self.checking.layouts_of(case):
            replay = stage.replay([case], _RUNS, layout)[case]
            if self.checking.verdict(case, replay).outcome == AGREES:
                return True
        return False

    # --- would any case see it? ---------------------------------------------------------------------------------------

    def _probed(self, stage: Stage, mutant: Mutant, cases: Sequence[str], replays: Mapping[str, Replayed]) -> Finding:
        """No case sees it: it survived, unless nothing shows that it is anything but the solution."""
        own = max(self._apart(name, replays[name]) for name in cases)
        shown: dict[Condition, float] = {}
        tried = 0
        for name, replay in stage.replay(self.rehearsal.quick(cases), CONDITIONS).items():
            for condition in CONDITIONS:
                expected = self.rehearsal.under(name, condition)
                if expected is None:
                    continue
                tried += 1
                attempt = replay.attempts.get(condition)
                failed = attempt is None or attempt.failure is not None
                apart = math.inf if failed else deviation(expected, replay.leaves(condition))[0]
                shown[condition] = max(apart, shown.get(condition, 0.0))
        if not shown:
            reason = "no case sees it, and the solution runs under no other condition"
            return finding(mutant, SURVIVED, reason=reason, advice="record something on which it has more effect")
        furthest = max(own, *shown.values())
        best = next(
            (item for item in CONDITIONS if shown.get(item, 0.0) > PLAIN), max(shown, key=lambda item: shown[item])
        )
        if furthest <= SAME:
            reason = f"at most {furthest:.0e} apart in float64, in {len(cases)} cases and {tried} other conditions"
            return finding(mutant, EQUIVALENT, reason=reason, deviation=furthest)
        reason = f"off by {own:.0e} in float64, which tolerances allow" if own > SAME else WHY[best]
        advice = ADVICE[best] if shown[best] > own else "record something on which it has more effect"
        return finding(mutant, SURVIVED, reason=reason, advice=advice, deviation=own)

    def _apart(self, case: str, replay: Replayed) -> float:
        """In float64, or as it comes where the solution does not run so."""
        expected = self.rehearsal.replays[case]
        run = "once" if expected.attempts["float64"].failure else "float64"
        return deviation(expected.leaves(run), replay.leaves(run))[0]


@dataclass(frozen=True)
class _Screened:
    """The verdict of the first case that sees a mutant, if one does; what was run; and why it is right all the same,
    where the recipe or its adapter says so."""

    against: CaseVerdict | None
    replays: Mapping[str, Replayed]
    accepted: str = ""


def _against(verdicts: Mapping[str, CaseVerdict]) -> CaseVerdict | None:
    return next((item for item in verdicts.values() if item.outcome != AGREES), None)


def _caught(mutant: Mutant, verdict: CaseVerdict) -> Finding:
    if verdict.outcome == COULD_NOT_RUN:
        return finding(mutant, CRASHED, case=verdict.name, reason=verdict.reason)
    worst = verdict.worst
    return finding(
        mutant,
        KILLED,
        case=verdict.name,
        tensor=shown_path(worst.path) if worst else "",
        reason=verdict.reason,
    )
