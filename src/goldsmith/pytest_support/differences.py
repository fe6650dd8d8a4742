"""How a test's values differ from what it kept, in words; with --gold-diff, element by element."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from goldsmith.comparison.results import Comparison, LeafComparison, shown_numbers
from goldsmith.foundation.nested import walk
from goldsmith.gold.arrays import is_array, numbers_of
from goldsmith.gold.labels import Labels, shown_item

_MOST_ELEMENTS = 100
"""Elements of one array that --gold-diff shows, the farthest first."""


def difference_text(comparison: Comparison, actual: Any, kept: Any, *, everything: bool) -> str:
    if not everything:
        return str(comparison)
    mine, theirs = dict(walk(actual)), dict(walk(kept))
    lines = str(comparison).splitlines()[:1]
    for leaf in comparison.differing:
        lines += [f"  {line}" for line in str(leaf).splitlines()]
        lines += [f"    {line}" for line in _elements(leaf, mine.get(leaf.path), theirs.get(leaf.path))]
    return "\n".join(lines)


def _elements(leaf: LeafComparison, actual: Any, kept: Any) -> Iterator[str]:
    """Yield a line for each element that differs."""
    import numpy as np

    if leaf.problem not in ("values", "nan", "inf"):
        return
    if isinstance(actual, Labels) and isinstance(kept, Labels):
        yield from _labels(actual, kept)
        return
    if not is_array(actual) or not is_array(kept):
        return
    one, two = numbers_of(actual), numbers_of(kept)
    if not one.ndim:
        return
    with np.errstate(invalid="ignore"):
        gaps = np.where(one == two, 0.0, np.abs(one - two))
    gaps = np.where(np.isnan(gaps), np.inf, gaps)
    order = np.argsort(-gaps, axis=None, kind="stable")
    order = order[: int(np.count_nonzero(gaps))]
    for flat in order[:_MOST_ELEMENTS]:
        index = np.unravel_index(flat, gaps.shape)
        place = [int(number) for number in index]
        found, gold = shown_numbers(float(one[index]), float(two[index]))
        yield f"{place}: {found}, gold {gold}, off by {gaps[index]:.3g}"
    if len(order) > _MOST_ELEMENTS:
        yield f"and {len(order) - _MOST_ELEMENTS} nearer ones"


def _labels(actual: Labels, kept: Labels) -> Iterator[str]:
    pairs = [pair for pair in enumerate(zip(actual.items, kept.items, strict=True)) if pair[1][0] != pair[1][1]]
    for place, (found, gold) in pairs[:_MOST_ELEMENTS] if kept.shape else ():
        yield f"{list(kept.index_of(place))}: {shown_item(found)}, gold {shown_item(gold)}"
    if len(pairs) > _MOST_ELEMENTS:
        yield f"and {len(pairs) - _MOST_ELEMENTS} more"
