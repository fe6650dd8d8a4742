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
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

import msgspec

from goldsmith.check.check_context import CheckContext
from goldsmith.check.provided_code import Provided
from goldsmith.check.replay_workspace import ReplayWorkspace
from goldsmith.courses.layout.solution_parts import SolutionParts
from goldsmith.judge.coverage import PartCoverage, is_constructor, part_of
from goldsmith.judge.parts import RIGHT, judge_parts
from goldsmith.judge.verdicts import AGREES, COULD_NOT_RUN, CUT_OFF, DIFFERS, CaseVerdict, ModuleVerdict, sources
from goldsmith.targets.target import Placement, Submission

MAX_TRIALS = 40
"""Replays for one submission, most of them of a single case: one mistake takes up to five, four take about twenty."""
MAX_TOGETHER, MAX_IN_DOUBT = 2, 5
"""Parts that are tried together, of at most so many that seem to be wrong: every two of five take ten replays."""
MAX_TIMEOUTS = 8
"""Replays that may take too long before no more are made."""
_PATIENCE, _LEAST_PATIENCE_S = 10.0, 2.0
"""Where a case took too long, it may take this many times as long as with every part corrected, and at least so many
seconds of processor time."""
_NOT_THE_CODE = ("import", "package")
"""Kinds of failure that no part's code can be replaced to fix."""

Trial = Callable[[frozenset[str], Collection[str]], frozenset[str]]
"""Return which of some cases agree once these parts are the solution's."""


class Inconclusive(Exception):
    """Raised where trials take too many runs or too much time: then they say nothing."""


@dataclass(frozen=True)
class Correction:
    """The smallest set of parts with which `cases` agree once those are the solution's; `wrong` are those of them that
    are to blame, and not only tied to one that is. It is empty where nobody can say which of them is."""

    parts: frozenset[str]
    wrong: frozenset[str]
    cases: frozenset[str]


def smallest_correction(
    failing: Mapping[str, Collection[str]],
    blamed: Collection[str],
    cleared: Collection[str],
    trial: Trial,
    seen: Collection[str] = (),
) -> Correction | None:
    """Search for the parts that are wrong. `failing` are the cases with the parts that they run, `blamed` who is blamed
    so far, those of them that were `seen` to go wrong among them, `cleared` parts that have cases of their own, which
    agree; None if nothing fixes any case. A part that was not seen to go wrong, and that changes nothing by itself, may
    be needed only because it fits no other: it is not called wrong. If that is so of all of them, none is.

    The result does not depend on the order of parts or cases.
    """
    cases = frozenset(failing)
    everyone = frozenset(part for parts in failing.values() for part in parts)
    found = frozenset(blamed) & everyone
    fixed = trial(found, cases) if found else frozenset()
    if fixed != cases:
        most = trial(everyone, cases)
        if not most <= fixed:
            fixed = most
            found = _case_by_case({case: failing[case] for case in fixed}, everyone, found, cleared, trial)
    if not fixed:
        return None
    for part in sorted(found, key=lambda part: (part not in cleared, part)):
        asked = frozenset(case for case in fixed if part in failing[case])
        if len(found) > 1 and part not in _sure(found, asked, failing):
            found = _without(found, [part], asked or fixed, trial)
    found = _fewest(found, fixed, failing, trial)
    doubtful = found - set(seen) - _sure(found, fixed, failing) if len(found) > 1 else ()
    try:
        tied = {part for part in doubtful if not trial(frozenset({part}), fixed)}
    except Inconclusive:
        tied = set(doubtful)
    return Correction(found, found - tied, fixed)


def _case_by_case(
    failing: Mapping[str, Collection[str]],
    everyone: frozenset[str],
    blamed: Collection[str],
    cleared: Collection[str],
    trial: Trial,
) -> frozenset[str]:
    """Return parts with which all cases agree: for each case, those that run the fewest parts first, what it needs
    besides what was found before. Whoever is blamed is tried first, parts with cases of their own that agree last."""
    found: frozenset[str] = frozenset()
    for case in sorted(failing, key=lambda name: (len(failing[name]), name)):
        agree = trial(found, failing) if found else ()
        failing = {name: parts for name, parts in failing.items() if name not in agree}
        if case not in failing:
            continue
        alone = frozenset({case})
        likely = [part for part in sorted(set(failing[case]) - found) if part in blamed]
        single = next((part for part in likely if trial(found | {part}, alone)), None)
        if single is not None:
            found |= {single}
            continue
        inside = found.union(failing[case])
        most = inside if trial(inside, alone) else everyone
        found = _without(most, sorted(most - found, key=lambda part: (part not in cleared, part)), alone, trial)
    return found


def _sure(parts: frozenset[str], cases: Collection[str], failing: Mapping[str, Collection[str]]) -> frozenset[str]:
    """Return those of `parts` that are the only one of them in some case: without it, that case stays wrong."""
    return frozenset(part for case in cases if len(own := parts.intersection(failing[case])) == 1 for part in own)


def _fewest(
    parts: frozenset[str], cases: frozenset[str], failing: Mapping[str, Collection[str]], trial: Trial
) -> frozenset[str]:
    """Return the fewest of `parts` that `cases` need. Two that fit only each other, such as a forward and a backward
    pass with a cache of their own, cannot be left out one by one."""
    sure = _sure(parts, cases, failing)
    rest = sorted(parts - sure)
    for count in range(min(len(rest), MAX_TOGETHER + 1) if len(rest) <= MAX_IN_DOUBT else 0):
        for some in combinations(rest, count):
            if (fewer := sure.union(some)) and trial(fewer, cases) >= cases:
                return fewer
    return parts


def _without(parts: frozenset[str], some: Sequence[str], cases: frozenset[str], trial: Trial) -> frozenset[str]:
    """Return `parts` without those of `some` that `cases` do not need: all at once if possible, else by halves."""
    fewer = parts - set(some)
    if not some or (fewer and trial(fewer, cases) >= cases):
        return fewer
    if len(some) == 1:
        return parts
    middle = len(some) // 2
    return _without(_without(parts, some[:middle], cases, trial), some[middle:], cases, trial)


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
        """Say in each failing case which parts must be right for it to agree, and blame those."""
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
        if not any(failing.values()) or _is_plain(failing, blamed, right):
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
        except Inconclusive:
            return verdicts
        return {
            name: self._corrected(case, found[name], cleared, verdicts) if name in found else case
            for name, case in verdicts.items()
        }

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
            raise Inconclusive

    # --- saying what follows -----------------------------------------------------------------------------------------

    def _corrected(
        self, case: CaseVerdict, found: Correction, cleared: Collection[str], verdicts: Mapping[str, CaseVerdict]
    ) -> CaseVerdict:
        needed, judged = self._needed(case, found)
        guilty = found.wrong or found.parts
        wrong = [part for part in self.shown.parts(case.name) if part in guilty & needed]
        wrong = wrong or sorted(guilty & needed or guilty)
        modules = [
            msgspec.structs.replace(
                item,
                source=item.source and part_of(item.callable) in wrong,
                shared=not found.wrong,
                methods=self._methods(case.name, item) if item.source else (),
            )
            for item in case.modules
        ]
        blamed = {part_of(item.callable) for item in modules if item.source}
        if not (blamed and not found.wrong):
            modules += [self._source(case, part, verdicts) for part in wrong if part not in blamed]
        first = next(item for item in modules if item.source)
        is_same = case.first_part in wrong
        return msgspec.structs.replace(
            case,
            modules=tuple(modules),
            first_divergence=case.first_divergence if is_same else first.label,
            first_part=case.first_part if is_same else first.kind,
            corrected=tuple(sorted(needed | self._helped(case.name, needed) - set(cleared))),
            own_dtype_only=judged.own_dtype_only,
            unseen=(),
        )

    def _needed(self, case: CaseVerdict, found: Correction) -> tuple[frozenset[str], CaseVerdict]:
        """Return the fewest parts with which a case was seen to agree, of those that were found, and how it did."""
        agreed = {
            parts: verdict
            for (parts, name), verdict in self._judged.items()
            if name == case.name and parts <= found.parts and verdict.outcome == AGREES
        }
        fewest = min(agreed, key=lambda parts: (len(parts), sorted(parts)), default=found.parts)
        return fewest.intersection(self.shown.parts(case.name)) or fewest, agreed.get(fewest, case)

    def _helped(self, case: str, corrected: frozenset[str]) -> set[str]:
        """Return the parts that could have used a helper of the solution's which came with those that are corrected:
        that a case agrees then says nothing about them."""
        helpers = self.solution.helpers(corrected)
        others = set(self.shown.parts(case)) - corrected if helpers else set()
        return {part for part in others if self.solution.helpers([part]) & helpers}

    def _source(self, case: CaseVerdict, part: str, verdicts: Mapping[str, CaseVerdict]) -> ModuleVerdict:
        """Blame a part in a case: where it was seen to go wrong, else what of it runs first."""
        runs = [*self.shown.runs[case.name], *(name for names in self.shown.runs.values() for name in names)]
        names = [name for name in runs if part_of(name) == part] or [part]
        name = next((name for name in names if not is_constructor(name)), names[0])
        function = name.partition(".")[2] or name
        function = "" if function == "forward" else function
        items = [item for other in (case, *verdicts.values()) for item in other.modules if item.kind == part]
        plain = ModuleVerdict(case=case.name, model="", name="", kind=part, function=function, outcome=DIFFERS)
        known = next((item for item in items if item.source or item.outcome == DIFFERS), plain)
        methods = self._methods(case.name, known)
        return msgspec.structs.replace(
            known,
            case=case.name,
            outcome=case.outcome,
            source=True,
            inferred=True,
            alone=False,
            shared=False,
            methods=methods,
        )

    def _methods(self, case: str, item: ModuleVerdict) -> tuple[str, ...]:
        """List the methods of a class that a case runs, the likeliest first, where only the class is known to be wrong:
        what was seen of one may follow from another. Return none if there is only one, or if one was seen to be
        wrong by itself."""
        if item.source and not item.inferred:
            return ()
        part = part_of(item.callable)
        names = [name for name in self.shown.runs[case] if part_of(name) == part and not is_constructor(name)]
        names.sort(key=lambda name: name != item.callable)
        return tuple(name.partition(".")[2] for name in names) if len(names) > 1 else ()


def _is_plain(failing: Mapping[str, Collection[str]], blamed: set[str], right: set[str]) -> bool:
    """Return whether trials would change nothing: one part is blamed that fails all by itself, and all others are seen
    to be right."""
    others = {part for parts in failing.values() for part in parts} - blamed
    return len(blamed) == 1 and others <= right and any(set(parts) == blamed for parts in failing.values())
