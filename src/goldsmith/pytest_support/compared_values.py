"""Compare plain values of a test with those that it kept: numbers as `goldsmith.compare` does, labels item by item."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from goldsmith.comparison.api import compare
from goldsmith.comparison.leaf_result import mismatch
from goldsmith.comparison.leaves import FORMS
from goldsmith.comparison.results import Comparison, LeafComparison
from goldsmith.errors.pytest import NotInAnyOrder
from goldsmith.foundation.nested import map_paths, map_tree, walk
from goldsmith.gold.labels import Item, Labels, is_nan, shown_item
from goldsmith.gold.row_sets import in_order_of, is_unorderable
from goldsmith.gold.tolerances import Tolerance, scalar_ratio

_STAND_IN, _ROOT = "", "value"
_FLOAT = FORMS["float64"]
_NOW_COMPARED = "it was ignored when it was recorded, and is compared now: record it again"


def compare_values(
    actual: Any,
    gold: Any,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    tolerances: Mapping[str, Tolerance] | None = None,
    noisy: Mapping[str, Any] | None = None,
    equal_nan: bool = False,
    guessing: bool = True,
) -> Comparison:
    """Compare as `goldsmith.compare` does, labels too."""
    mine, theirs = _labels_in(actual), _labels_in(gold)
    found = compare(
        _without(actual) if mine else actual,
        _without(gold) if theirs else gold,
        rtol=rtol,
        atol=atol,
        tolerances=tolerances,
        noisy=noisy,
        equal_nan=equal_nan,
        guessing=guessing,
    )
    if not mine and not theirs:
        return found
    given = None if rtol is None and atol is None else (rtol or 0.0, atol or 0.0)
    leaves = []
    for leaf in found.leaves:
        one, two = mine.get(leaf.path), theirs.get(leaf.path)
        if one is None and two is None:
            leaves.append(leaf)
        elif one is None or two is None or leaf.problem in ("missing", "extra"):
            leaves.append(_unlike(leaf, one, two))
        else:
            pinned = (tolerances or {}).get(leaf.path)
            limit = (pinned.rtol or 0.0, pinned.atol or 0.0) if pinned is not None else given
            leaves.append(_compared(leaf.path, one, two, limit or (_FLOAT.rtol, _FLOAT.atol), equal_nan))
    return Comparison(tuple(leaves))


def in_kept_order(actual: Any, kept: Any, unordered: bool | Collection[str]) -> Any:
    """Return a value with the rows of what is `unordered`, all of it or what is named, in the order of the kept one."""
    named = (unordered,) if isinstance(unordered, str) else () if isinstance(unordered, bool) else tuple(unordered)
    if unordered is False or not (named or unordered):
        return actual
    found, own = dict(walk(actual, _ROOT)), dict(walk(kept, _ROOT))
    records = [f"{_ROOT}.{name}" for name in named] or [_ROOT]
    for record in records:
        inside = {path: leaf for path, leaf in found.items() if path == record or path.startswith(f"{record}.")}
        if not inside:
            raise NotInAnyOrder(f"the value has no {record.removeprefix(f'{_ROOT}.')!r}")
        if not is_unorderable(inside):
            name = record.removeprefix(_ROOT).removeprefix(".") or "it"
            raise NotInAnyOrder(f"{name} has none, or arrays of it have not as many")
    placed = in_order_of(own, found, records)
    return map_paths(lambda path, leaf: placed[path], actual, _ROOT)


def _labels_in(value: Any) -> dict[str, Labels]:
    return {path: leaf for path, leaf in walk(value) if isinstance(leaf, Labels)}


def _without(value: Any) -> Any:
    return map_tree(lambda leaf: _STAND_IN if isinstance(leaf, Labels) else leaf, value)


def _unlike(leaf: LeafComparison, actual: Labels | None, gold: Labels | None) -> LeafComparison:
    """Return the result where labels are on one side only."""
    dtypes = (actual.dtype if actual else leaf.actual_dtype, gold.dtype if gold else leaf.gold_dtype)
    shapes = (actual.shape if actual else leaf.actual_shape, gold.shape if gold else leaf.gold_shape)
    if leaf.problem not in ("missing", "extra"):
        notes = (_NOW_COMPARED,) if gold is not None and gold.is_ignored else ()
        return mismatch(leaf.path, "type", *dtypes, notes=notes)
    if leaf.problem == "missing":
        return mismatch(leaf.path, "missing", "", dtypes[1], (), shapes[1])
    return mismatch(leaf.path, "extra", dtypes[0], "", shapes[0], ())


def _compared(path: str, actual: Labels, gold: Labels, limit: tuple[float, float], equal_nan: bool) -> LeafComparison:
    if actual.dtype != gold.dtype:
        notes = (_NOW_COMPARED,) if gold.is_ignored and not actual.is_ignored else ()
        return mismatch(path, "type", actual.dtype, gold.dtype, notes=notes)
    if actual.shape != gold.shape:
        return mismatch(path, "shape", actual.dtype, gold.dtype, actual.shape, gold.shape)
    shares = [_share(*pair, limit, equal_nan) for pair in zip(actual.items, gold.items, strict=True)]
    bad = [place for place, share in enumerate(shares) if share > 1]
    leaf = LeafComparison(
        path=path,
        agrees=not bad,
        identical=not any(shares),
        actual_dtype=actual.dtype,
        gold_dtype=gold.dtype,
        actual_shape=actual.shape,
        gold_shape=gold.shape,
        elements=len(shares),
        excess=max(shares, default=0.0),
        tolerance="exact",
    )
    if not bad:
        return leaf
    one, two = actual.items[bad[0]], gold.items[bad[0]]
    return msgspec.structs.replace(
        leaf,
        problem="nan" if is_nan(one) or is_nan(two) else "values",
        mismatched=len(bad),
        largest_gap=None,
        index=gold.index_of(bad[0]),
        actual=shown_item(one),
        gold=shown_item(two),
    )


def _share(actual: Item, gold: Item, limit: tuple[float, float], equal_nan: bool) -> float:
    """Return the share of its tolerance that an item uses up: at most 1 is within, 0 is the same."""
    if is_nan(actual) or is_nan(gold):
        alike = type(actual) is type(gold) and is_nan(actual) and is_nan(gold)
        return 0.0 if equal_nan and alike else math.inf
    if type(actual) is float and type(gold) is float and actual != gold:
        if math.isinf(actual) or math.isinf(gold):
            return math.inf
        return scalar_ratio(abs(actual - gold), limit[1] + limit[0] * abs(gold))
    return 0.0 if type(actual) is type(gold) and actual == gold else math.inf


def element_counts(value: Any) -> dict[str, int]:
    """Return by path how many values there are to compare; what is ignored, and None, counts for none."""
    found = {}
    for path, leaf in walk(value):
        if isinstance(leaf, Labels):
            found[path] = 0 if leaf.is_ignored else len(leaf.items)
        else:
            found[path] = 0 if leaf is None else math.prod(leaf.shape) if hasattr(leaf, "shape") else 1
    return found


def number_paths(*values: Any) -> Collection[str]:
    """List the paths of numbers in any of the values: what can have a tolerance."""
    found: dict[str, None] = {}
    for value in values:
        for path, leaf in walk(value):
            floats = isinstance(leaf, Labels) and any(type(item) is float for item in leaf.items)
            if floats or (hasattr(leaf, "dtype") and not isinstance(leaf, Labels)) or type(leaf) in (int, float):
                found[path] = None
    return list(found)
