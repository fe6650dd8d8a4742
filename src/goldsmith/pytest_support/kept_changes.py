"""What an update changes in a check, in words: each key, the old value and the new one, and how far that is."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from goldsmith.comparison.results import TEXTS, Comparison, LeafComparison, shown_numbers
from goldsmith.pytest_support.compared_values import element_counts
from goldsmith.pytest_support.path_patterns import VALUE

_MOST_KEYS = 10
"""Keys of one check that are listed, unless all are asked for."""


def change_lines(found: Comparison, *, everything: bool) -> Iterator[str]:
    """Yield a line for each key that changes."""
    differing = found.differing
    shown = differing if everything else differing[:_MOST_KEYS]
    yield from (f"{leaf.name}: {_words(leaf)}" for leaf in shown)
    if len(differing) > len(shown):
        yield f"and {len(differing) - len(shown)} more keys, which --gold-diff shows"


def lost_values(old: Any, new: Any) -> list[str]:
    """List what was compared and will not be any more: keys that are gone, arrays that have fewer elements."""
    before, after = element_counts(old), element_counts(new)
    found = []
    for path, count in before.items():
        left = after.get(path, 0)
        if left < count:
            name = path or VALUE
            found.append(f"{name} has {left} of {count} elements left" if left else f"{name} is not compared any more")
    return found


def _words(leaf: LeafComparison) -> str:
    match leaf.problem:
        case "missing":
            return f"{_form(leaf.gold_dtype, leaf.gold_shape)} → gone"
        case "extra":
            return f"new, {_form(leaf.actual_dtype, leaf.actual_shape)}"
        case "type" | "dtype" | "shape":
            old, new = _form(leaf.gold_dtype, leaf.gold_shape), _form(leaf.actual_dtype, leaf.actual_shape)
            return f"{old} → {new}"
    new, old = shown_numbers(leaf.actual, leaf.gold)
    if leaf.gold_dtype in TEXTS and leaf.where:
        return f"at {leaf.where}: {old} → {new}"
    far = f", off by {leaf.largest_gap:.3g}" if isinstance(leaf.largest_gap, float) else ""
    far += f" ({leaf.relative:.2g} of its size)" if far and leaf.relative and math.isfinite(leaf.relative) else ""
    if leaf.elements <= 1:
        return f"{old} → {new}{far}"
    place = f"at {list(leaf.index)} " if leaf.index is not None else ""
    return f"{leaf.mismatched} of {leaf.elements} elements, {place}{old} → {new}{far}"


def _form(dtype: str, shape: tuple[int, ...]) -> str:
    return f"{dtype} {list(shape)}" if shape else dtype
