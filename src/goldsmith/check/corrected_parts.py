"""Put the solution's own part in the place of a wrong one, and replay: what agrees then was innocent.

A part that only runs together with a wrong one cannot be judged by what comes out. So it is not guessed who is to
blame: the smallest set of parts is searched with whose solution in place every failing case agrees. Those are wrong;
every other part has done all that its cases ask of it.

Parts that call each other in another way than the solution's (a block that is passed its tables) can only be replaced
together. A case that calls one of them as the assignment says cannot run, which speaks of its arguments and not of what
it computes. So cases that could not run are searched apart: those that gave values still find out who is wrong.

The precautions: these runs come last, each in a new workspace and process; the solution's part is there as bytecode,
and the process in which a part is judged never has the solution's own version of it, nor a helper that both use; of a
run only one thing is taken, whether a case agrees. Nothing that it prints, raises or leaves behind is read.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from goldsmith.check.check_context import CheckContext
from goldsmith.check.provided_code import Provided
from goldsmith.check.replay_workspace import ReplayWorkspace
from goldsmith.check.solution_parts import SolutionParts
from goldsmith.judge.corrections import CorrectedCases, Correction, TooManyTrials, is_plain, smallest_correction
from goldsmith.judge.coverage import PartCoverage, part_of
from goldsmith.judge.parts import RIGHT, judge_parts
from goldsmith.judge.verdicts import AGREES, COULD_NOT_RUN, CUT_OFF, DIFFERS, CaseVerdict, sources
from goldsmith.targets.target import Placement, Submission

MAX_TRIALS = 40
"""Replays for one submission, most of them of a single case: one mistake takes up to five, four take about twenty."""
MAX_TIMEOUTS = 8
"""Replays that may take too long before no more are made."""
_PATIENCE, _LEAST_PATIENCE_S = 10.0, 2.0
"""Where a case took too long, it may take this many times as long as with every part corrected, and at least so many
seconds of processor time."""
_NOT_THE_CODE = ("import", "package")
"""Kinds of failure that no part's code can be replaced to fix."""


@dataclass
class CorrectedParts:
    """Judges one submission with parts of it corrected. Where that is not enough, provided code that it changed is put
    back as well, in `folder`."""

    context: CheckContext
    submission: Submission
    provided: Provided
    folder: Path
    shown: PartCoverage
    solution: SolutionParts
    _judged: dict[tuple[frozenset[str], str], CaseVerdict] = field(default_factory=dict)
    _before: tuple[str, ...] = ()
    _restores: bool = False
    _patience: float = math.inf
    _trials: int = 0
    _timeouts: int = 0

    def judge(self, verdicts: dict[str, CaseVerdict]) -> dict[str, CaseVerdict]:
        """Say in each failing case which parts must be right for it to agree, and blame those. Where the submission is
        written in another library than the solution, whose parts its own cannot call, nothing is tried."""
        if self.provided.ported:
            return verdicts
        shown = {part for case in verdicts for part in self.shown.parts(case)}
        known = self.solution.known(shown | self.solution.written)
        failing = {
            name: tuple(part for part in known if part in self.shown.parts(name) or part not in shown)
            for name, case in verdicts.items()
            if case.outcome == DIFFERS or (case.outcome == COULD_NOT_RUN and case.kind not in _NOT_THE_CODE)
        }
        blamed = {part_of(item.callable) for name in failing for item in sources(verdicts[name].modules)}
        blamed = known & {*blamed, *self.provided.unwritten}
        right = {part.name for part in judge_parts(list(verdicts.values()), self.shown) if part.outcome in RIGHT}
        if not any(failing.values()) or is_plain(failing, blamed, right):
            return verdicts
        cleared = {part for part in known if self._is_cleared(part, verdicts)}
        try:
            if any(verdicts[name].kind in CUT_OFF for name in failing):
                self._measure_patience(failing)
            elif disturbed := self._agree_alone(failing):
                # what ran before them has left something behind, be it in a case that agrees
                failing |= dict.fromkeys(disturbed, tuple(known))
                self._before = tuple(verdicts)
            found = self._search(failing, blamed, cleared, verdicts)
            if self.provided.restorable and len(found) < len(failing):
                self._restores = True
                self._judged.clear()
                found = self._search(failing, blamed, cleared, verdicts) or found
        except TooManyTrials:
            return verdicts
        corrected = CorrectedCases(self.shown, verdicts, self._judged, cleared, self.solution.helpers)
        return {name: corrected.of(case, found[name]) if name in found else case for name, case in verdicts.items()}

    def _search(
        self,
        failing: Mapping[str, Collection[str]],
        blamed: Collection[str],
        cleared: Collection[str],
        verdicts: Mapping[str, CaseVerdict],
    ) -> dict[str, Correction]:
        """Return the correction by which each case agrees, of those for which there is one."""
        items = [item for name in failing for item in sources(verdicts[name].modules) if not item.inferred]
        returned = {name: parts for name, parts in failing.items() if verdicts[name].outcome != COULD_NOT_RUN}
        raised = {name: parts for name, parts in failing.items() if name not in returned}
        found: dict[str, Correction] = {}
        for cases in (returned, raised):
            seen = {part_of(item.callable) for item in items if item.outcome == DIFFERS or item.case in cases}
            correction = smallest_correction(cases, blamed, cleared, self._trial, seen) if cases else None
            found |= dict.fromkeys(correction.cases, correction) if correction else {}
        return found

    def _is_cleared(self, part: str, verdicts: Mapping[str, CaseVerdict]) -> bool:
        """Return whether the narrowest cases of everything in a part agree."""
        names = {name for case in verdicts for name in self.shown.runs.get(case, ()) if part_of(name) == part}
        narrow = [case for name in names for case in self.shown.narrowest(name) if case in verdicts]
        return bool(narrow) and all(verdicts[case].outcome in RIGHT for case in narrow)

    def open(self, parts: Collection[str]) -> AbstractContextManager[ReplayWorkspace]:
        """Open a new workspace with the submission in it; with `parts`, those are the solution's."""
        placed: Sequence[Placement] = self.submission.placed
        if parts and self._restores:
            placed = self.provided.restored(self.submission, self.folder, self.provided.restorable)
        return self.context.open_workspace(placed, self.submission.beside, self.solution.compiled(parts))

    # --- running -----------------------------------------------------------------------------------------------------

    def _measure_patience(self, failing: Mapping[str, Collection[str]]) -> None:
        """Find out how long cases take that did not end, so that others need not be waited for as long."""
        everyone = frozenset(part for parts in failing.values() for part in parts)
        started = time.monotonic()
        self._trial(everyone, failing)
        self._patience = max(_LEAST_PATIENCE_S, _PATIENCE * (time.monotonic() - started))

    def _agree_alone(self, cases: Collection[str]) -> list[str]:
        """Return the cases that agree as they are, each in a process of its own."""
        with self.open(()) as workspace:
            strategy = self.context.strategy(workspace, traces=False)
            for name in cases:
                strategy.run_cases([name])
        return [name for name in cases if strategy.verdicts[name].outcome == AGREES]

    def _trial(self, parts: frozenset[str], cases: Collection[str]) -> frozenset[str]:
        left = [name for name in self.context.golds if name in cases and (parts, name) not in self._judged]
        if left:
            self._trials += 1
            with self.open(parts) as workspace:
                workspace.case_timeout = min(workspace.case_timeout, self._patience)
                strategy = self.context.strategy(workspace, traces=False)
                strategy.run_cases(self._before or left)
            self._judged |= {(parts, name): verdict for name, verdict in strategy.verdicts.items()}
            self._refuse_doubt([self._judged[parts, name] for name in left])
        return frozenset(name for name in cases if self._judged[parts, name].outcome == AGREES)

    def _refuse_doubt(self, verdicts: Sequence[CaseVerdict]) -> None:
        late = any(case.kind in CUT_OFF for case in verdicts)
        self._timeouts += late
        spent = self.context.allowance is not None and self.context.allowance.left <= 0
        if self._trials >= MAX_TRIALS or self._timeouts > MAX_TIMEOUTS or (late and spent):
            raise TooManyTrials
