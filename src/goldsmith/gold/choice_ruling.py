"""Whether another choice is as right as gold's, by gold's scores: the same, a tie, or wrong; and where noise is so
large that nobody can say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from goldsmith.gold.tolerances import DWARFS

if TYPE_CHECKING:
    from goldsmith.gold.choices import Array, Choice, Indices

DECIDED_BY_NOISE = 0.5
"""A choice between scores that noise moves by more than this share of how far they are apart is made by chance. Noise
in bfloat16 is 0.02 of how much scores vary, and a tie three times as wide."""
_NEAREST = 4
"""How far scores are apart is how far it is to the one so many ranks away that this part of all lies between: fewer may
be twins, and more may be masks."""
_FEW = 4
"""Of so many candidates at least, two may be twins and say nothing about the others."""
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


def decided_by_noise(scores: Array, widths: Array) -> Any:
    """Return which scores (by row, step and candidate) have so many others within their width that chance chooses. One
    position may have a few by accident: they count if most positions have them at that rank, if half of the position's
    candidates are as near, or if all scores, without masks, vary no more."""
    import numpy as np

    size = scores.shape[-1]
    rows, wide = scores.reshape(-1, size), widths.reshape(-1, size)
    order = np.argsort(-rows, axis=-1, kind="stable")
    ranked = np.take_along_axis(rows, order, -1)
    new = np.isfinite(ranked)
    with np.errstate(invalid="ignore"):
        new[:, 1:] &= ranked[:, 1:] != ranked[:, :-1]  # equal ones are one: heavy ties and masks count once
    rank = np.maximum(np.cumsum(new, axis=-1) - 1, 0)
    levels = np.full(rows.shape, np.nan)
    row = np.broadcast_to(np.arange(len(rows))[:, None], rows.shape)
    levels[row[new], rank[new]] = ranked[new]
    last = np.isfinite(ranked)
    last[:, :-1] &= new[:, 1:] | ~np.isfinite(ranked[:, 1:])
    upto = np.full(rows.shape, size)
    upto[row[last], rank[last]] = np.nonzero(last)[1] + 1
    counts = _without_masks(levels, upto, new.sum(axis=-1))
    few = np.where(counts < _FEW, 1, np.maximum(2, -(-(counts - 1) // _NEAREST)))
    limit = np.take_along_axis(wide, order, -1)
    near = limit > DECIDED_BY_NOISE * np.take_along_axis(_reach(levels, counts, few), rank, -1)
    half = limit > DECIDED_BY_NOISE * np.take_along_axis(_reach(levels, counts, counts // 2), rank, -1)
    half &= (counts >= 4 * _FEW)[:, None]
    inside = new & (rank < counts[:, None]) & (near | last)  # equal ones may be so by rounding, and tell nothing
    at = np.bincount(rank[inside], minlength=size)
    usual = 2 * np.bincount(rank[inside & near], minlength=size) > at
    unmasked = np.isfinite(ranked) & (rank < counts[:, None])
    half |= unmasked & (limit > DECIDED_BY_NOISE * (ranked[unmasked].std() if unmasked.any() else 0.0))
    found = np.empty(rows.shape, dtype=bool)
    np.put_along_axis(found, order, ((near & usual[rank]) | half) & np.isfinite(ranked), -1)
    return found.reshape(scores.shape)


def _without_masks(levels: Array, upto: Any, counts: Any) -> Any:
    """Return how many of each row's distinct scores, the highest first, stand before a gap that dwarfs them and is
    wider than what comes after it. `upto` is how many scores are as high as each."""
    import numpy as np

    if levels.shape[-1] < 2:
        return counts
    gaps = levels[:, :-1] - levels[:, 1:]
    lowest = np.take_along_axis(levels, np.maximum(counts - 1, 0)[:, None], -1)
    far = (gaps > DWARFS * (levels[:, :1] - levels[:, :-1])) & (gaps > levels[:, 1:] - lowest)
    far &= upto[:, :-1] >= _FEW
    return np.where(far.any(axis=-1), far.argmax(axis=-1) + 1, counts)


def _reach(levels: Array, counts: Any, ranks: Any) -> Array:
    """Return how far each of the first `counts` is from the one so many `ranks` away, above or below: the nearer."""
    import numpy as np

    places, found = np.arange(levels.shape[-1]), np.full(levels.shape, np.inf)
    for sign in (-1, 1):
        others = places + sign * np.maximum(ranks, 1)[:, None]
        there = (others >= 0) & (others < counts[:, None]) & (places < counts[:, None])
        distance = np.abs(np.take_along_axis(levels, np.where(there, others, 0), -1) - levels)
        found = np.where(there, np.minimum(found, distance), found)
    return found
