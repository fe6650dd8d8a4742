"""Whether another choice is as right as gold's, by gold's scores: the same, a tie, or wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from goldsmith.gold.choices import Array, Choice, Indices

MAX_PAIRS = 2**28
_PAIRS_AT_ONCE = 2**18
"""Pairs of candidates that are compared at one position, at most, and at once; of more, nothing is said."""


@dataclass(frozen=True)
class Ruling:
    """What is to be said of another choice at one position: it is the same, a tie, wrong, or `unknown`, where noise is
    so large that nothing can be said."""

    outcome: Literal["same", "tie", "wrong", "unknown"]
    why: str = ""


def rule(
    scores: Array, widths: Array, gold: Indices, chosen: Indices, choice: Choice, equal: Indices | None = None
) -> Ruling:
    """Judge what was chosen at one position, by gold's scores there. `widths` are how far below another a score may be
    and still be a tie; infinite where noise decides. Equal scores with other numbers in `equal` are so by rounding."""
    import numpy as np

    own, theirs = [int(item) for item in gold], [int(item) for item in chosen]
    if own == theirs or (choice.unordered and sorted(own) == sorted(theirs)):
        return Ruling("same")
    seen: set[int] = set()
    for item in theirs:
        if not 0 <= item < len(scores):
            return Ruling("wrong", f"{item} is chosen, and there are {len(scores)} to choose from")
        if item in seen:
            return Ruling("wrong", f"{item} is chosen twice")
        seen.add(item)
    left_out, instead = set(own) - set(theirs), set(theirs) - set(own)
    exchanged = (
        np.array(sorted(left_out, key=lambda item: (-scores[item], item)), dtype=np.int64),
        np.array(sorted(instead, key=lambda item: (scores[item], item)), dtype=np.int64),
    )
    found = Ruling("tie")
    pairs = [exchanged]
    if not choice.unordered:
        out_of_order = _out_of_order(scores, theirs, equal=bool(choice.ties))
        pairs.append((out_of_order, out_of_order))
    for number, (better, worse) in enumerate(pairs):
        ruling = _judge_pairs(scores, widths, better, worse, choice, equal, in_order=number > 0)
        if ruling.outcome == "wrong":
            return ruling
        found = ruling if ruling.outcome == "unknown" else found
    return (
        found if np.isfinite(scores[theirs]).all() or found.outcome != "tie" else _among_infinite(scores, own, theirs)
    )


def _out_of_order(scores: Array, chosen: list[int], *, equal: bool) -> Indices:
    """Return what was chosen before or after something that should be on its other side; with `equal`, also what has an
    equal score."""
    import numpy as np

    ranked, everything = scores[chosen], np.array(chosen, dtype=np.int64)
    if len(chosen) < 2:
        return everything[:0]
    later, earlier = np.maximum.accumulate(ranked[::-1])[::-1], np.minimum.accumulate(ranked)
    is_better = np.greater_equal if equal else np.greater
    involved = np.zeros(len(chosen), dtype=bool)
    involved[:-1] |= is_better(later[1:], ranked[:-1])
    involved[1:] |= is_better(ranked[1:], earlier[:-1])
    return everything[involved]


def _judge_pairs(
    scores: Array,
    widths: Array,
    better: Indices,
    worse: Indices,
    choice: Choice,
    equal: Indices | None,
    *,
    in_order: bool,
) -> Ruling:
    """Judge each pair of which the second was chosen and the first was not; or, `in_order`, of which the second was
    chosen before the first. Each counts: how wide a tie is, and whether scores are equal, belongs to the two."""
    import numpy as np

    if len(better) * len(worse) > MAX_PAIRS:
        return Ruling("unknown", f"{max(len(better), len(worse))} are chosen otherwise, too many to compare each two")
    found = Ruling("tie")
    rows = max(1, _PAIRS_AT_ONCE // max(1, len(better)))
    for start in range(0, len(worse), rows):
        two, one = better[None, :], worse[start : start + rows, None]
        with np.errstate(invalid="ignore"):
            gap = np.where(scores[two] == scores[one], 0.0, scores[two] - scores[one])
        width = np.maximum(widths[two], widths[one])
        counted = ~(gap < 0)
        if in_order:
            counted &= np.arange(len(better))[None, :] > np.arange(start, start + len(one))[:, None]
            counted &= (gap != 0) | bool(choice.ties)
        by_rule = counted & (gap == 0) & bool(choice.ties)
        if equal is not None:
            by_rule &= equal[two] == equal[one]
        against = by_rule & ((one > two) == (choice.ties == "first"))
        counted &= ~by_rule
        farther = counted & ~(gap <= width)
        wrong = np.argwhere(against | farther)
        if len(wrong):
            row, column = (int(item) for item in wrong[0])
            first, second = int(better[column]), int(worse[start + row])
            if against[row, column]:
                right = f"the {choice.ties} of equal scores is right"
                return Ruling("wrong", f"{second} is chosen before {first}, whose score is equal: {right}")
            off, wide = float(gap[row, column]), float(width[row, column])
            times = f", {off / wide:.3g} times what noise explains" if wide else ""
            return Ruling("wrong", f"{second} is chosen, and the score of {first} is better by {off:.3g}{times}")
        if (counted & np.isinf(width)).any():
            found = Ruling("unknown")
    return found


def _among_infinite(scores: Array, own: list[int], theirs: list[int]) -> Ruling:
    """Judge what was chosen among infinite scores: only equal ones tie."""
    if sorted(scores[own]) == sorted(scores[theirs]):
        return Ruling("tie")
    return Ruling("wrong", f"{theirs[0]} is chosen, whose score is infinitely far from the best")
