"""Scores: apply a rubric to a verdict, item by item. What could not be judged earns nothing and is never called
wrong."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from goldsmith.courses.grade.rubric import CASE, PART, Kind, Rubric, RubricItem
from goldsmith.judge import words
from goldsmith.judge.coverage import part_of
from goldsmith.judge.verdicts import (
    AGREES,
    COULD_NOT_RUN,
    DIFFERS,
    ERROR,
    INCONCLUSIVE,
    PROVIDED_CHANGED,
    SILENT,
    CaseVerdict,
    PartVerdict,
    Verdict,
)

ItemOutcome = Literal["agrees", "differs", "could-not-run", "inconclusive", "provided-changed", "error", "not-judged"]
NOT_JUDGED: ItemOutcome = "not-judged"
"""A part, or a case that was not requested, about which nothing is known for or against."""
RIGHT = (AGREES, PROVIDED_CHANGED)
_CLEAR = ("stub", "none")
"""Kinds of failure that need no review: nothing is written, or a `return` is missing."""
_SAYS_SO = ("stub", "import")
"""Kinds of failure whose message already says that it could not run."""
_DIGITS = 6
_ONCE_IT_RUNS = "it is judged once it runs"
_STAFF = "staff will look at it"
_SHOWN_NOWHERE = f"no case shows it by itself; {_STAFF}"
_COARSE = "needs review: only its own dtype could be judged, in which small mistakes do not show; "


class ItemResult(msgspec.Struct, frozen=True, kw_only=True):
    """What one line of the rubric came to. `withheld`: something that it needs is not right. `needs_review`: staff
    should check, because points may be missing that were earned, or the other way round."""

    name: str
    """The case or part."""
    kind: Kind
    """`case` or `part`."""
    points: float
    """What it is worth."""
    earned: float
    """What it earned."""
    outcome: ItemOutcome
    """The verdict on it."""
    why: str
    """The reason, in words."""
    withheld: bool = False
    """Whether something that it needs is not right."""
    needs_review: bool = False
    """Whether a person should look."""


@dataclass(frozen=True)
class Observation:
    """What is known about a case or a part, regardless of its points."""

    outcome: ItemOutcome
    why: str = ""
    share: float = 0.0
    doubtful: bool = False
    coarse: bool = False
    """Whether it was judged in its own dtype alone, where gold was in float64, too."""
    nothing: str = ""
    """Why it earns nothing although it agrees: nobody has done anything for it."""


def score(verdict: Verdict, rubric: Rubric) -> tuple[ItemResult, ...]:
    """Score every item of the rubric, in its order."""
    scene = Scorer(verdict, rubric)
    return tuple(scene.result(item) for item in rubric.items)


def total(amounts: list[float]) -> float:
    """Return a sum that does not depend on the order, rounded as single amounts are."""
    return round(math.fsum(amounts), _DIGITS)


def number(value: float) -> str:
    """Format points as people write them: 4, 2.5, 0.333."""
    return f"{value:.3f}".rstrip("0").rstrip(".")


@dataclass
class Scorer:
    """Scores the cases and parts of one verdict."""

    verdict: Verdict
    rubric: Rubric
    _known: dict[tuple[Kind, str], Observation] = field(default_factory=dict)

    def result(self, item: RubricItem) -> ItemResult:
        seen = self.seen(item.kind, item.name)
        missing = self._missing(item)
        share, why = self._share(item, seen)
        if missing and share:
            share, why = 0.0, f"withheld: it needs {missing}, which is not right yet"
        elif seen.coarse and seen.outcome in RIGHT:
            share, why = share * self.rubric.own_dtype, f"{_COARSE}{why}"
        if seen.nothing:
            share, why = 0.0, seen.nothing
        return ItemResult(
            name=item.name,
            kind=item.kind,
            points=item.points,
            earned=min(item.points, round(item.points * share, _DIGITS)),
            outcome=seen.outcome,
            why=why,
            withheld=bool(missing) and seen.outcome in RIGHT,
            needs_review=(seen.doubtful or seen.coarse or bool(seen.nothing)) and item.points > 0,
        )

    def seen(self, kind: Kind, name: str) -> Observation:
        key = kind, name
        if key not in self._known:
            self._known[key] = self._case(name) if kind == CASE else self._part(name)
        return self._known[key]

    def _missing(self, item: RubricItem) -> str:
        """Return the first of an item's needs that is not right, or whose own needs are not; empty if there is none."""
        for name in item.needs:
            for kind, other in self.rubric.named(name, but=item.key):
                needed = self.rubric.item(kind, other)
                if self.seen(kind, other).outcome not in RIGHT or (needed is not None and self._missing(needed)):
                    return name
        return ""

    def _share(self, item: RubricItem, seen: Observation) -> tuple[float, str]:
        """Return the share of its points that an item earns by itself, and why. A part that is right once provided code
        is restored is right; a case, which is the whole, earns what the course has decided."""
        partly = seen.share if item.partial else 0.0
        if seen.outcome == AGREES:
            return 1.0, seen.why
        if seen.outcome == PROVIDED_CHANGED:
            return (max(self.rubric.provided_changed, partly) if item.kind == CASE else 1.0), seen.why
        if seen.outcome == INCONCLUSIVE:
            return self.rubric.inconclusive, seen.why
        if seen.outcome == DIFFERS and partly:
            return partly, f"in part: {partly:.0%} of its recorded values agree; {seen.why}"
        return 0.0, seen.why

    # --- cases ------------------------------------------------------------------------------------------------------

    def _case(self, name: str) -> Observation:
        case = next((item for item in self.verdict.cases if item.name == name), None)
        if case is None:
            return Observation(NOT_JUDGED, f"not judged: it was not run; {_STAFF}", doubtful=True)
        if case.outcome == AGREES:
            why = words.case_sentence(case) or "agrees with the gold"
            return Observation(AGREES, why, coarse=case.own_dtype_only, nothing=self._for_nothing(case))
        if case.outcome == PROVIDED_CHANGED:
            return Observation(
                PROVIDED_CHANGED,
                self._put_back(),
                self._agreeing(case),
                doubtful=True,
                coarse=case.own_dtype_only,
                nothing=self._for_nothing(case),
            )
        if case.outcome == COULD_NOT_RUN:
            ran = "" if case.kind in _SAYS_SO else "could not run: "
            then = "" if case.kind in _CLEAR else f"; {_ONCE_IT_RUNS}"
            why = f"not judged: {ran}{words.case_sentence(case)}{then}"
            return Observation(COULD_NOT_RUN, why, doubtful=case.kind not in _CLEAR)
        if case.outcome == INCONCLUSIVE:
            return _inconclusive(case, self._for_nothing(case))
        if case.outcome == ERROR:
            return _withheld(case)
        why = words.case_sentence(case) or "differs"
        return Observation(DIFFERS, why, share=self._agreeing(case), doubtful=case.close)

    def _for_nothing(self, case: CaseVerdict) -> str:
        """Say why a case that agrees is worth nothing: all that it shows is unwritten, or its values take no work and
        none of the parts that it shows is right."""
        shown = self.rubric.shown.get(case.name, ())
        if shown and all(part in self.verdict.unwritten for part in shown):
            return f"nothing is written of what it shows: {', '.join(shown)}"
        if case.name in self.rubric.empty and shown and not any(self._is_right(part) for part in shown):
            return "its values take no work to get right, and none of the parts that it shows is right"
        return ""

    def _is_right(self, part: str) -> bool:
        seen = self.seen(PART, part)
        return seen.outcome in RIGHT and not seen.nothing

    def _agreeing(self, case: CaseVerdict) -> float:
        """Return the share of a case's recorded values that agree, where values are what is wrong with it. Values that
        take no work to get right do not count."""
        hollow = self.rubric.hollow.get(case.name, ())
        leaves = [leaf for leaf in case.leaves if leaf.path not in hollow]
        if case.kind not in ("values", "precision") or not leaves:
            return 0.0
        return sum(leaf.agrees for leaf in leaves) / len(leaves)

    def _put_back(self) -> str:
        changed = ", ".join(self.verdict.provided)
        return f"right once the provided code is put back{f' ({changed} was changed)' if changed else ''}"

    # --- parts ------------------------------------------------------------------------------------------------------

    def _part(self, name: str) -> Observation:
        part = next((item for item in self.verdict.parts if item.name == name), None)
        if part is not None:
            return self._judged(part)
        showing = [case for case in self.verdict.cases if name in self.rubric.shown.get(case.name, ())]
        if not showing and any(self.rubric.shown.values()) and name not in self.verdict.unwritten:
            return Observation(NOT_JUDGED, f"not judged: {_SHOWN_NOWHERE}", doubtful=True)
        return self._unseen(name, showing)

    def _judged(self, part: PartVerdict) -> Observation:
        where = words.part_sentence(part, self.verdict)
        nothing = "nothing of it is written" if part.name in self.verdict.unwritten else ""
        if part.outcome == AGREES:
            why = f"right{f' {where}' if where else ''}"
            return Observation(AGREES, why, coarse=part.own_dtype_only, nothing=nothing)
        if part.outcome == PROVIDED_CHANGED:
            return Observation(
                PROVIDED_CHANGED, self._put_back(), doubtful=True, coarse=part.own_dtype_only, nothing=nothing
            )
        if part.outcome == ERROR:
            return Observation(ERROR, "points withheld: goldsmith could not judge it", doubtful=True)
        if part.unused:
            doubtful = part.outcome == COULD_NOT_RUN and not nothing
            return Observation(part.outcome, f"{nothing}; {where}" if nothing else where, doubtful=doubtful)
        if part.outcome == DIFFERS:
            why = f"goes wrong {where}" if where else "goes wrong"
            return Observation(DIFFERS, why, doubtful=self._is_close)
        case = next((item for item in self.verdict.cases if item.name == part.case), None)
        reason = f": {words.case_sentence(case)}" if case else ""
        if part.outcome == INCONCLUSIVE and case is not None:
            return _inconclusive(case, nothing)
        clear = case is not None and case.kind in _CLEAR
        if part.name in self.verdict.unwritten:
            return _unwritten(part.name)
        if case is not None and case.kind == "stub":
            return Observation(COULD_NOT_RUN, f"not judged{reason}")
        then = "" if clear else f"; {_ONCE_IT_RUNS}"
        return Observation(
            COULD_NOT_RUN, f"not judged: could not run{f' {where}' if where else ''}{reason}{then}", doubtful=not clear
        )

    @property
    def _is_close(self) -> bool:
        """Say whether nothing is off by more than little, so that it may all be right."""
        wrong = [case for case in self.verdict.cases if case.outcome == DIFFERS]
        return bool(wrong) and all(case.close for case in wrong)

    def _unseen(self, name: str, showing: list[CaseVerdict]) -> Observation:
        """Explain why nothing speaks for or against a part: its cases did not run, or go wrong elsewhere first."""
        cases = showing or list(self.verdict.cases)
        failed = next((case for case in cases if case.outcome == ERROR), None)
        if failed is not None:
            return _withheld(failed)
        if name in self.verdict.unwritten:
            return _unwritten(name)
        if cases and all(case.outcome in SILENT for case in cases):
            case = min(cases, key=self.width)
            if case.outcome == INCONCLUSIVE:
                return _inconclusive(case)
            ran = "" if case.kind in _SAYS_SO else f"{case.name} could not run: "
            then = "" if case.kind in _CLEAR else f"; {_ONCE_IT_RUNS}"
            why = f"not judged: {ran}{words.case_sentence(case)}{then}"
            return Observation(COULD_NOT_RUN, why, doubtful=case.kind not in _CLEAR)
        return Observation(NOT_JUDGED, f"not judged: {self._why_not_judged(name, cases)}", doubtful=True)

    def _why_not_judged(self, name: str, cases: list[CaseVerdict]) -> str:
        """Say why nothing speaks for or against a part, and what would change that."""
        tied = next((case for case in cases if name in case.corrected), None)
        if tied is not None:
            others = [part for part in tied.corrected if part != name]
            return (
                f"{tied.name} is right only once this part and {words.joined(others)} are; {_fix(others)}"
                if others
                else _STAFF
            )
        wrong = [case for case in cases if case.outcome not in RIGHT]
        hidden = next((case for case in cases if any(part_of(item) == name for item in case.unseen)), None)
        hidden = hidden or next((case for case in wrong if case.outcome == DIFFERS), None)
        if hidden is None:
            return _SHOWN_NOWHERE
        if hidden.outcome in RIGHT:
            return f"{hidden.name} is right without showing whether this part is; {_STAFF}"
        blamed = dict.fromkeys(part_of(item.callable) for item in hidden.modules if item.source)
        others = [part for part in blamed or [self.verdict.first_part] if part not in ("", name)]
        if not others:
            return f"{hidden.name} is not right, and it is not known whether because of this part; {_STAFF}"
        wrong_there = f"{words.joined(others)} {'goes' if len(others) == 1 else 'go'} wrong"
        return f"in {hidden.name} {wrong_there}, and nothing shows this part by itself; {_fix(others)}"

    def width(self, case: CaseVerdict) -> int:
        """Count the parts that a case runs."""
        return len(self.rubric.shown.get(case.name, ()))


def _unwritten(part: str) -> Observation:
    return Observation(COULD_NOT_RUN, f"not judged: {part} is not written yet")


def _fix(parts: Sequence[str]) -> str:
    return f"correct {words.joined(parts)}, and it can be judged"


def _inconclusive(case: CaseVerdict, nothing: str = "") -> Observation:
    why = f"not judged: {words.case_sentence(case)}; {_STAFF}"
    return Observation(INCONCLUSIVE, why, doubtful=True, nothing=nothing)


def _withheld(case: CaseVerdict) -> Observation:
    return Observation(ERROR, f"points withheld: {words.case_sentence(case)}", doubtful=True)
