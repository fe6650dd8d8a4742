"""Search for the fewest parts that must be the solution's for failing cases to agree, and say what follows from that.

Here is the search, which asks for a trial at a time, and the verdicts. What runs a trial is `check/corrected_parts.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import msgspec

from goldsmith.judge.coverage import PartCoverage, is_constructor, part_of
from goldsmith.judge.verdicts import AGREES, DIFFERS, CaseVerdict, ModuleVerdict

MAX_TOGETHER, MAX_IN_DOUBT = 2, 5
"""Parts that are tried together, of at most so many that seem to be wrong: every two of five take ten replays."""

Trial = Callable[[frozenset[str], Collection[str]], frozenset[str]]
"""Return which of some cases agree once these parts are the solution's."""


class TooManyTrials(Exception):
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
    except TooManyTrials:
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


def is_plain(failing: Mapping[str, Collection[str]], blamed: set[str], right: set[str]) -> bool:
    """Return whether trials would change nothing: one part is blamed that fails all by itself, and all others are seen
    to be right."""
    others = {part for parts in failing.values() for part in parts} - blamed
    return len(blamed) == 1 and others <= right and any(set(parts) == blamed for parts in failing.values())


@dataclass(frozen=True)
class CorrectedCases:
    """Says in verdicts what trials have shown: `judged` are those, by the parts that were the solution's and by case.
    `cleared` parts have cases of their own, which agree; `helpers` returns what comes with parts of the solution's."""

    shown: PartCoverage
    verdicts: Mapping[str, CaseVerdict]
    judged: Mapping[tuple[frozenset[str], str], CaseVerdict]
    cleared: Collection[str]
    helpers: Callable[[Collection[str]], set[tuple[str, str]]]

    def of(self, case: CaseVerdict, found: Correction) -> CaseVerdict:
        """Return a case with the parts that must be right for it to agree, and blame for those that are wrong."""
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
            modules += [self._source(case, part) for part in wrong if part not in blamed]
        first = next(item for item in modules if item.source)
        is_same = case.first_part in wrong
        return msgspec.structs.replace(
            case,
            modules=tuple(modules),
            first_divergence=case.first_divergence if is_same else first.label,
            first_part=case.first_part if is_same else first.kind,
            corrected=tuple(sorted(needed | self._helped(case.name, needed) - set(self.cleared))),
            own_dtype_only=judged.own_dtype_only,
            unseen=(),
        )

    def _needed(self, case: CaseVerdict, found: Correction) -> tuple[frozenset[str], CaseVerdict]:
        """Return the fewest parts with which a case was seen to agree, of those that were found, and how it did."""
        agreed = {
            parts: verdict
            for (parts, name), verdict in self.judged.items()
            if name == case.name and parts <= found.parts and verdict.outcome == AGREES
        }
        fewest = min(agreed, key=lambda parts: (len(parts), sorted(parts)), default=found.parts)
        return fewest.intersection(self.shown.parts(case.name)) or fewest, agreed.get(fewest, case)

    def _helped(self, case: str, corrected: frozenset[str]) -> set[str]:
        """Return the parts that could have used a helper of the solution's which came with those that are corrected:
        that a case agrees then says nothing about them."""
        helpers = self.helpers(corrected)
        others = set(self.shown.parts(case)) - corrected if helpers else set()
        return {part for part in others if self.helpers([part]) & helpers}

    def _source(self, case: CaseVerdict, part: str) -> ModuleVerdict:
        """Blame a part in a case: where it was seen to go wrong, else what of it runs first."""
        runs = [*self.shown.runs[case.name], *(name for names in self.shown.runs.values() for name in names)]
        names = [name for name in runs if part_of(name) == part] or [part]
        name = next((name for name in names if not is_constructor(name)), names[0])
        function = name.partition(".")[2] or name
        function = "" if function == "forward" else function
        items = [item for other in (case, *self.verdicts.values()) for item in other.modules if item.kind == part]
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
