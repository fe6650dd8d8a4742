"""Several references: which of them are judged by, and what a candidate's differences from them mean. Nothing here
depends on their order."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from goldsmith.comparison.results import LeafComparison
from goldsmith.judge.policy import FAR_FROM_ALL
from goldsmith.judge.verdicts import AGREES, DIFFERS, CaseVerdict, Outcome, gravest

OutcomeByAll = Literal[Outcome, "references-differ"]
REFERENCES_DIFFER: OutcomeByAll = "references-differ"
"""Several references differ more from each other than the candidate from the nearest: that is neither for nor against
it."""
Pair = tuple[int, int]
"""Two references by number, the smaller first."""


@dataclass(frozen=True)
class Apart:
    """How two references compare: the outcome, and the farthest that one is off, over the other's size. What is `close`
    is past its tolerance by little, and no run in float64 decides."""

    outcome: OutcomeByAll
    relative: float
    close: bool = False

    @property
    def distance(self) -> float:
        """Return how far apart they are beyond noise."""
        return 0.0 if self.outcome == AGREES else self.relative if self.outcome == DIFFERS else math.inf


def judged_by(count: int, apart: Mapping[Pair, Apart]) -> tuple[int, ...]:
    """Return the references that count: all, unless most of them are near each other and each of the rest is far from
    every one of these. Of two there is no saying which is right."""
    for size in range(count // 2 + 1, count):
        for near in combinations(range(count), size):
            if _are_apart_from_the_rest(near, count, apart):
                return near
    return tuple(range(count))


def _are_apart_from_the_rest(near: Sequence[int], count: int, apart: Mapping[Pair, Apart]) -> bool:
    width = max(apart[pair].distance for pair in combinations(near, 2))
    rest = [apart[min(one, two), max(one, two)] for one in near for two in range(count) if two not in near]
    return width < math.inf and all(
        item.outcome == DIFFERS and not item.close and item.distance >= FAR_FROM_ALL * width for item in rest
    )


def judge_by_all(found: Mapping[int, CaseVerdict], between: Mapping[Pair, CaseVerdict]) -> OutcomeByAll:
    """Judge a case by a candidate's verdicts against each reference, and by those of the references against each other.
    It agrees if it does with every one; what is no farther off than they are from each other is neither right nor
    wrong."""
    different = [number for number, case in found.items() if case.outcome == DIFFERS]
    if not different:
        return gravest(case.outcome for case in found.values())
    doubtful = all(_is_as_another(number, found, between) or _is_within(number, found, between) for number in different)
    return REFERENCES_DIFFER if doubtful else DIFFERS


def gravest_by_all(outcomes: Collection[OutcomeByAll]) -> OutcomeByAll:
    """Return the outcome that counts overall."""
    in_doubt = REFERENCES_DIFFER in outcomes and DIFFERS not in outcomes
    return REFERENCES_DIFFER if in_doubt else gravest(outcomes)


def _is_as_another(number: int, found: Mapping[int, CaseVerdict], between: Mapping[Pair, CaseVerdict]) -> bool:
    """Say whether the candidate agrees with a reference that itself differs from this one."""
    return any(
        case.outcome == AGREES and _of(between, number, other) == DIFFERS
        for other, case in found.items()
        if other != number
    )


def _of(between: Mapping[Pair, CaseVerdict], one: int, two: int) -> str:
    case = between.get((min(one, two), max(one, two)))
    return "" if case is None else case.outcome


def _is_within(number: int, found: Mapping[int, CaseVerdict], between: Mapping[Pair, CaseVerdict]) -> bool:
    """Say whether each tensor that differs is nearer to one of the references, as a whole, than these are to each
    other; of whole numbers, whether each element is that of one of them. Single elements of another right
    implementation may by chance be farther off."""
    case = found[number]
    wrong = [leaf for leaf in case.leaves if not leaf.agrees]
    for leaf in wrong:
        if not is_size(leaf):
            if not _is_from_either(found, between, leaf.path, case.judged_in):
                return False
            continue
        nearest = min(distances(found.values(), leaf.path, case.judged_in), default=math.inf)
        spread = max(distances(between.values(), leaf.path, case.judged_in), default=0.0)
        if nearest == math.inf or nearest > spread:
            return False
    return bool(wrong)


def is_size(leaf: LeafComparison) -> bool:
    """Say whether it means anything how far a value is off: of an index, a token or a text it does not."""
    return leaf.gold_dtype.startswith(("float", "bfloat", "complex"))


def _is_from_either(
    found: Mapping[int, CaseVerdict], between: Mapping[Pair, CaseVerdict], path: str, dtype: str
) -> bool:
    """Say whether each element is that of one of two references that differ: then it is other than the one and other
    than the other in as many as these are from each other, and else in more."""
    for (one, two), case in between.items():
        leaves = [_leaf(item, path, dtype) for item in (found[one], found[two], case)]
        counts = [leaf.mismatched for leaf in leaves if leaf is not None and leaf.problem in ("", "values")]
        if len(counts) == len(leaves) and counts[2] and counts[0] + counts[1] == counts[2]:
            return True
    return False


def distances(cases: Iterable[CaseVerdict], path: str, dtype: str) -> Iterator[float]:
    """Yield how far a value is off in each of these comparisons of it in a dtype, over its size."""
    for case in cases:
        leaf = _leaf(case, path, dtype)
        if leaf is not None:
            comparable = leaf.problem in ("", "values") and leaf.relative == leaf.relative
            yield leaf.relative if comparable else math.inf


def _leaf(case: CaseVerdict, path: str, dtype: str) -> LeafComparison | None:
    """Return a value's comparison in a dtype. What differs already in a coarser one was not looked at in float64; what
    agrees in a coarser one says nothing of it."""
    if case.judged_in == dtype or (dtype == "float64" and case.outcome == DIFFERS):
        leaves = case.leaves
    else:
        leaves = case.natural if dtype != "float64" else ()
    return next((leaf for leaf in leaves if leaf.path == path), None)


def farthest(cases: Sequence[CaseVerdict]) -> LeafComparison | None:
    """Return the value that uses up most of its tolerance, in the first case in which any differs."""
    wrong = (case for case in cases if any(not leaf.agrees for leaf in case.leaves))
    first = next(wrong, next(iter(cases), None))
    leaves = first.leaves if first is not None else ()
    return max(leaves, key=lambda leaf: (not leaf.agrees, leaf.excess), default=None)
