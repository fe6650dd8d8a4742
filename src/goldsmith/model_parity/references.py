"""Judge a candidate by several references: every two of them are compared, then the candidate with each.

Which of them comes first decides nothing: whenever one of two must be the reference of the other, it is the first in an
order of their own (`names` and what `order` says), and what is concluded is symmetric (`judge/references.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import msgspec

from goldsmith.judge.decision import inconclusive
from goldsmith.judge.policy import ROUNDING
from goldsmith.judge.references import (
    REFERENCES_DIFFER,
    Apart,
    OutcomeByAll,
    Pair,
    farthest,
    gravest_by_all,
    is_size,
    judge_by_all,
    judged_by,
)
from goldsmith.judge.verdicts import AGREES, COULD_NOT_RUN, DIFFERS, CaseVerdict
from goldsmith.judge.words import joined
from goldsmith.model_parity.both_sides import ParityRequest
from goldsmith.model_parity.result import JudgedReference, Moved, ParityReport, ReferencePair, SeveralReferences, Spread

Judge = Callable[[int, int | None], ParityReport]
"""Compares the reference of a number with another one, or with the candidate."""


def judge_by_several(
    names: Sequence[str], candidate: str, order: Sequence[int], judge: Judge, *, versions: bool = False
) -> tuple[ParityReport, int | None]:
    """Return what all references say together, and the one whose own report it is based on. `order` are their numbers,
    in the same order however they were given; `versions` are of one reference, the oldest first."""
    pairs = {(min(one, two), max(one, two)): _compare(judge, one, two) for one, two in combinations(order, 2)}
    several = _Several(names, candidate, order, pairs)
    unpaired = next(filter(None, map(several.unpaired, sorted(pairs))), None)
    if unpaired is not None:
        return unpaired, None
    several.found = {number: judge(number, None) for number in range(len(names))}
    return several.report(versions=versions)


def between_references(request: ParityRequest, other: str) -> ParityRequest:
    """Return what is asked of two references: they are paired by themselves, and tried as nobody's kernel."""
    return msgspec.structs.replace(request, candidate=other, outputs={}, kernel=False, compiled=False)


@dataclass(frozen=True)
class _Compared:
    """The report on two references, and which of them was the other's reference."""

    reference: int
    report: ParityReport


def _compare(judge: Judge, one: int, two: int) -> _Compared:
    """Compare two references; where they differ by little, by the noise of the other, too: either's may say that they
    agree."""
    report = judge(one, two)
    wrong = [leaf for case in report.cases for leaf in case.leaves if not leaf.agrees]
    if report.outcome == DIFFERS and wrong and all(leaf.excess <= ROUNDING for leaf in wrong):
        other = judge(two, one)
        if other.outcome == AGREES:
            return _Compared(two, other)
    return _Compared(one, report)


@dataclass
class _Several:
    names: Sequence[str]
    candidate: str
    order: Sequence[int]
    pairs: Mapping[Pair, _Compared]
    found: dict[int, ParityReport] = field(default_factory=dict)

    def unpaired(self, pair: Pair) -> ParityReport | None:
        """Return what is to be said if two references cannot be compared with each other."""
        compared = self.pairs[pair]
        report = compared.report
        if report.outcome != COULD_NOT_RUN:
            return None
        first, second = (self.names[number] for number in (compared.reference, sum(pair) - compared.reference))
        reason = f"{first} and {second} cannot be compared with each other, the second taken for the candidate"
        return msgspec.structs.replace(
            report,
            name=self.candidate,
            reference=joined(self.names),
            kind="references",
            reason=f"{reason}: {report.reason}",
            references=SeveralReferences(pairs=tuple(map(self._pair, sorted(self.pairs)))),
        )

    def report(self, *, versions: bool) -> tuple[ParityReport, int | None]:
        apart = {pair: _apart(item.report) for pair, item in self.pairs.items()}
        by = tuple(range(len(self.names))) if versions else judged_by(len(self.names), apart)  # no majority of old ones
        reports = {number: self.found[number] for number in by}
        between = {pair: item.report for pair, item in self.pairs.items() if set(pair) <= set(by)}
        outcomes = {name: judge_by_all(*_cases_of(name, reports, between)) for name in _case_names(reports.values())}
        outcome = gravest_by_all([*outcomes.values(), *(item.outcome for item in reports.values() if not item.cases)])
        base = self._nearest(reports, DIFFERS if outcome == REFERENCES_DIFFER else outcome)
        cases = tuple(self._case(name, found, reports, base) for name, found in outcomes.items())
        singled = [self.names[number] for number in range(len(self.names)) if number not in by]
        all_alike = outcome in (AGREES, REFERENCES_DIFFER)
        spoken_of = [number for number in by if all_alike or reports[number].outcome == outcome]
        several = SeveralReferences(
            references=tuple(self._reference(number, by) for number in range(len(self.names))),
            pairs=tuple(map(self._pair, sorted(self.pairs))),
            spread=tuple(self._spread(by)),
            moved=self._moved() if versions else "",
        )
        report = msgspec.structs.replace(
            reports[base],
            reference=joined([self.names[number] for number in spoken_of]),
            outcome=outcome,
            cases=cases,
            references=several,
            condition=next((item.condition for item in reports.values() if outcome == AGREES and item.condition), ""),
            notes=tuple(dict.fromkeys((*self._notes(outcome, by, singled, apart, base), *reports[base].notes))),
        )
        return (self._undecided(report, by, base) if outcome == REFERENCES_DIFFER else report), base

    # --- the candidate ----------------------------------------------------------------------------------------------

    def _nearest(self, reports: Mapping[int, ParityReport], outcome: OutcomeByAll) -> int:
        """Return the reference that the candidate is nearest to, of those by which it is found to be this."""
        like = [number for number, item in reports.items() if item.outcome == outcome] or list(reports)
        return min(like, key=lambda number: (_apart(reports[number]).distance, self.order.index(number)))

    def _case(self, name: str, outcome: OutcomeByAll, reports: Mapping[int, ParityReport], base: int) -> CaseVerdict:
        """Return a case as the reference shows it that the report is based on, or the nearest by which it is so."""
        wanted = DIFFERS if outcome == REFERENCES_DIFFER else outcome
        known = {number: case for number, item in reports.items() for case in item.cases if case.name == name}
        like = [number for number, case in known.items() if case.outcome == wanted] or list(known)
        chosen = base if base in like else self._nearest({number: reports[number] for number in like}, wanted)
        if outcome != REFERENCES_DIFFER:
            return known[chosen]
        case = msgspec.structs.replace(known[chosen], first_divergence="", first_part="", modules=())
        return inconclusive(case, self._doubt({number: case.outcome for number, case in known.items()}, chosen))

    def _doubt(self, outcomes: Mapping[int, OutcomeByAll], nearest: int) -> str:
        """Say why the references do not tell whether the candidate is right."""
        with_it, against = (
            [number for number, outcome in outcomes.items() if outcome == wanted] for wanted in (AGREES, DIFFERS)
        )
        pairs = (self.pairs[min(one, two), max(one, two)].report for one in with_it for two in against)
        if any(item.outcome == DIFFERS for item in pairs):
            one, two = (joined([self.names[number] for number in numbers]) for numbers in (with_it, against))
            return f"it agrees with {one} and not with {two}, and these differ from each other"
        return f"the references differ more from each other than it does from the nearest, {self.names[nearest]}"

    def _undecided(self, report: ParityReport, by: Sequence[int], base: int) -> ParityReport:
        """Leave out who is to blame: that may be a reference."""
        return msgspec.structs.replace(
            report,
            kind="references",
            reason=self._doubt({number: self.found[number].outcome for number in by}, base),
            first_divergence="",
            first_name="",
            first_kind="",
            first_how="",
            first=None,
            modules=(),
        )

    def _notes(
        self, outcome: OutcomeByAll, by: Sequence[int], singled: Sequence[str], apart: Mapping[Pair, Apart], base: int
    ) -> Iterable[str]:
        if outcome != AGREES and len(by) > 1:
            yield f"what differs is shown as it differs from {self.names[base]}, the nearest of them"
        for name in singled:
            if self.found[list(self.names).index(name)].outcome == AGREES:
                yield f"it agrees with {name}, which is far from all other references"
        inside = [pair for pair in apart if set(pair) <= set(by)]
        if outcome == AGREES and any(apart[pair].outcome == DIFFERS for pair in inside):
            yield "the references differ from each other, and it agrees with each of them"

    # --- the references ---------------------------------------------------------------------------------------------

    def _reference(self, number: int, by: Sequence[int]) -> JudgedReference:
        report = self.found[number]
        leaf = farthest(report.cases)
        return JudgedReference(
            name=self.names[number],
            singled_out=number not in by,
            outcome=report.outcome,
            relative=_finite(leaf.relative) if leaf and is_size(leaf) else None,
            excess=_finite(leaf.excess) if leaf else None,
            first=_first(report),
        )

    def _pair(self, pair: Pair) -> ReferencePair:
        report = self.pairs[pair].report
        leaf = farthest(report.cases)
        return ReferencePair(
            one=self.names[pair[0]],
            other=self.names[pair[1]],
            outcome=report.outcome,
            relative=_finite(leaf.relative) if leaf and is_size(leaf) else None,
            excess=_finite(leaf.excess) if leaf else None,
            what=leaf.path if leaf else "",
            first=_first(report),
            reason=report.reason,
        )

    def _moved(self) -> Moved:
        """Say what moved between versions of one reference, the oldest first."""
        outcomes = [self.found[number].outcome for number in range(len(self.names))]
        apart = {item.report.outcome for item in self.pairs.values()}
        if {*outcomes, *apart} - {AGREES, DIFFERS}:
            return ""
        if DIFFERS not in apart:
            return "candidate" if DIFFERS in outcomes else "nothing"
        return "reference" if outcomes[0] == AGREES else "both"

    def _spread(self, by: Sequence[int]) -> Iterable[Spread]:
        """Yield how far the references that count are from each other, in each module of the first."""
        first = by[0]
        reports = {number: self.found[number] for number in by}
        between = {pair: item for pair, item in self.pairs.items() if set(pair) <= set(by)}
        if not reports[first].modules:
            yield from _spread_of_cases(reports, between)
            return
        names = {number: self._names_in(first, number) for number in by}
        for row in reports[first].modules:
            apart = [_relative_of(item.report, names[item.reference].get(row.name)) for item in between.values()]
            off = [_relative_of(report, names[number].get(row.name)) for number, report in reports.items()]
            yield Spread(
                name=row.name,
                kind=row.kind,
                relative=_largest(apart),
                candidate=_smallest(off),
            )

    def _names_in(self, first: int, number: int) -> dict[str, str]:
        """Return, by the name of each module of the first reference, that of its partner in another one."""
        if number == first:
            return {row.name: row.name for row in self.found[first].modules}
        compared = self.pairs[min(first, number), max(first, number)]
        both = [(row.name, row.theirs) for row in compared.report.modules if row.relative is not None]
        return dict(both) if compared.reference == first else {theirs: name for name, theirs in both}


def _apart(report: ParityReport) -> Apart:
    wrong = [leaf for case in report.cases for leaf in case.leaves if not leaf.agrees]
    sizes = [
        leaf.relative if leaf.problem == "values" and is_size(leaf) and not math.isnan(leaf.relative) else math.inf
        for leaf in wrong
    ]
    outcome = report.outcome
    close = all(case.close for case in report.cases if case.outcome == DIFFERS)
    return Apart(outcome, max(sizes, default=0.0 if outcome == AGREES else _farthest_module(report)), close)


def _farthest_module(report: ParityReport) -> float:
    """Return how far a module is off, where no value shows that two models differ."""
    return max((row.relative or 0.0 for row in report.modules), default=0.0) or math.inf


def _case_names(reports: Iterable[ParityReport]) -> list[str]:
    return list(dict.fromkeys(case.name for report in reports for case in report.cases))


def _cases_of(
    name: str, reports: Mapping[int, ParityReport], between: Mapping[Pair, ParityReport]
) -> tuple[dict[int, CaseVerdict], dict[Pair, CaseVerdict]]:
    return (
        {number: case for number, report in reports.items() for case in report.cases if case.name == name},
        {pair: case for pair, report in between.items() for case in report.cases if case.name == name},
    )


def _spread_of_cases(reports: Mapping[int, ParityReport], between: Mapping[Pair, _Compared]) -> Iterable[Spread]:
    """Yield the same for functions, which have no modules: by what was compared."""
    for name in _case_names(reports.values()):
        found, apart = _cases_of(name, reports, {pair: item.report for pair, item in between.items()})
        known, off = (
            [max((leaf.relative for leaf in case.leaves if is_size(leaf)), default=None) for case in cases.values()]
            for cases in (apart, found)
        )
        yield Spread(name="", kind=name, relative=_largest(known), candidate=_smallest(off))


def _relative_of(report: ParityReport, name: str | None) -> float | None:
    rows = (row.relative for row in report.modules if row.name == name)
    return next((item for item in rows if item is not None), None)


def _largest(values: Iterable[float | None]) -> float | None:
    known = [item for item in values if item is not None]
    return _finite(max(known)) if known else None


def _smallest(values: Iterable[float | None]) -> float | None:
    return _finite(min((item for item in values if item is not None), default=math.inf))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _first(report: ParityReport) -> str:
    if not report.first_name or report.outcome != DIFFERS:
        return ""
    kind = report.first_kind
    return report.first_name if kind in ("", report.first_name) else f"{report.first_name} ({kind})"
