"""Make the `LeafComparison` of a leaf from its numeric pass, or from why there was none."""

from __future__ import annotations

import math
from typing import Any

from goldsmith.comparison.explanations import guess
from goldsmith.comparison.leaves import Leaf, Plain, leaf_of
from goldsmith.comparison.limits import Limit
from goldsmith.comparison.numeric_pass import Pass
from goldsmith.comparison.pairs import describe
from goldsmith.comparison.results import LeafComparison, Number, Problem

_MAX_TEXT_CHARS, _SHOWN_TEXT = 200, 40


def from_pass(
    path: str,
    ours: Leaf,
    gold: Leaf,
    found: Pass,
    limit: Limit,
    same_dtype: bool,
    order: tuple[int, ...] | None,
    notes: tuple[str, ...],
    *,
    guessing: bool,
) -> LeafComparison:
    agrees = found.agrees
    shape = gold.shape
    problem: Problem = ""
    if not agrees:
        problem = "nan" if found.bad_nan else "inf" if found.bad_inf else "values"
        if not same_dtype:
            notes = (*notes, f"dtype {ours.dtype} where gold has {gold.dtype}")
    elif not same_dtype:
        agrees, problem = False, "dtype"
    if agrees and found.identical:
        return LeafComparison(
            path=path,
            agrees=True,
            identical=True,
            actual_dtype=ours.dtype,
            gold_dtype=gold.dtype,
            actual_shape=shape,
            gold_shape=shape,
            elements=math.prod(gold.shape),
            tolerance=limit.kind,
            nan_actual=found.nan_actual,
            nan_gold=found.nan_gold,
            inf_actual=found.inf_actual,
            inf_gold=found.inf_gold,
            notes=notes,
        )
    if agrees:
        return _agreeing(path, ours, gold, found, limit, order, notes)
    rms_gap, gold_rms, relative = _sizes(found)
    spot = found.bad_spot if found.bad_spot >= 0 else found.spot
    index = _index(spot, found.shape, order, len(shape)) if spot >= 0 else None
    details = found.details
    excess = found.share if problem in ("", "values") else math.inf
    return LeafComparison(
        path=path,
        agrees=agrees,
        problem=problem,
        identical=found.identical and same_dtype,
        actual_dtype=ours.dtype,
        gold_dtype=gold.dtype,
        actual_shape=shape,
        gold_shape=shape,
        elements=math.prod(found.shape),
        mismatched=found.mismatched,
        excess=max(excess, found.whole_share),
        tolerance=limit.kind,
        largest_gap=found.largest,
        index=index,
        actual=_value(ours, index),
        gold=_value(gold, index),
        rms_gap=rms_gap,
        gold_rms=gold_rms,
        relative=relative,
        rtol_alone=details.rtol_alone if details else None,
        atol_alone=details.atol_alone if details else None,
        ulps=details.ulps if details else None,
        cosine=details.cosine if details else None,
        nan_actual=found.nan_actual,
        nan_gold=found.nan_gold,
        inf_actual=found.inf_actual,
        inf_gold=found.inf_gold,
        where=found.places.named(order, len(shape)) if found.places is not None else "",
        guess=guess(ours, gold, float(found.largest), found.route.buffers) if guessing and problem == "values" else "",
        notes=notes,
    )


def _agreeing(
    path: str,
    ours: Leaf,
    gold: Leaf,
    found: Pass,
    limit: Limit,
    order: tuple[int, ...] | None,
    notes: tuple[str, ...],
) -> LeafComparison:
    """Make the result of a leaf that agrees, with only what is cheap: there may be thousands."""
    shape = gold.shape
    index = _index(found.spot, found.shape, order, len(shape)) if found.spot >= 0 else None
    values = found.values or (None, None)
    if found.route.working.kind == "c" or found.route.is_whole:
        values = _value(ours, index), _value(gold, index)
    rms_gap, gold_rms, relative = _sizes(found)
    return LeafComparison(
        path=path,
        agrees=True,
        actual_dtype=ours.dtype,
        gold_dtype=gold.dtype,
        actual_shape=shape,
        gold_shape=shape,
        elements=math.prod(found.shape),
        excess=max(found.share, found.whole_share),
        tolerance=limit.kind,
        largest_gap=found.largest,
        index=index,
        actual=values[0],
        gold=values[1],
        rms_gap=rms_gap,
        gold_rms=gold_rms,
        relative=relative,
        nan_actual=found.nan_actual,
        nan_gold=found.nan_gold,
        inf_actual=found.inf_actual,
        inf_gold=found.inf_gold,
        notes=notes,
    )


def _sizes(found: Pass) -> tuple[float, float, float]:
    """Return the root mean square of gaps and of gold, and their ratio."""
    return found.gaps.root(found.counted), found.golds.root(found.counted), found.gaps.over(found.golds)


def _index(spot: int, shape: tuple[int, ...], order: tuple[int, ...] | None, axes: int) -> tuple[int, ...]:
    place: tuple[int, ...] = ()
    for size in reversed(shape):
        spot, index = divmod(spot, size)
        place = (index, *place)
    if order is not None:
        place = tuple(place[order.index(axis)] for axis in range(len(order)))
    return place[:axes]


def _value(leaf: Leaf, index: tuple[int, ...] | None) -> Number:
    if index is None:
        return None
    value: Any = leaf.item(index)
    return str(value) if isinstance(value, complex) else value


def mismatch(
    path: str,
    problem: Problem,
    actual: str,
    gold: str,
    actual_shape: tuple[int, ...] = (),
    gold_shape: tuple[int, ...] = (),
    said: str = "",
    notes: tuple[str, ...] = (),
) -> LeafComparison:
    return LeafComparison(
        path=path,
        agrees=False,
        problem=problem,
        actual_dtype=actual,
        gold_dtype=gold,
        actual_shape=actual_shape,
        gold_shape=gold_shape,
        elements=math.prod(gold_shape) if problem in ("shape", "missing") else 0,
        excess=math.inf,
        guess=said,
        notes=notes,
    )


def unmatched(path: str, problem: Problem, value: Any) -> LeafComparison:
    if isinstance(value, dict | list | tuple):
        dtype: str = describe(value)
        shape: tuple[int, ...] = ()
    else:
        leaf = leaf_of(value, path)
        dtype, shape = leaf.dtype, leaf.shape if isinstance(leaf, Leaf) else ()
    sides = (("", dtype, (), shape)) if problem == "missing" else (dtype, "", shape, ())
    return mismatch(path, problem, *sides)


def plain_values(path: str, ours: Leaf | Plain, gold: Leaf | Plain, notes: tuple[str, ...]) -> LeafComparison:
    if isinstance(ours, Leaf) or isinstance(gold, Leaf) or type(ours.value) is not type(gold.value):
        return mismatch(path, "type", ours.dtype, gold.dtype, notes=notes)
    agrees = ours.value == gold.value
    place = None if agrees else first_difference(ours.value, gold.value)
    return LeafComparison(
        path=path,
        agrees=agrees,
        problem="" if agrees else "values",
        identical=agrees,
        actual_dtype=ours.dtype,
        gold_dtype=gold.dtype,
        elements=1,
        mismatched=0 if agrees else 1,
        excess=0.0 if agrees else math.inf,
        tolerance="exact",
        index=None if place is None else (place,),
        actual=None if agrees else _from(ours.value, place),
        gold=None if agrees else _from(gold.value, place),
        where="" if place is None else place_in_text(gold.value, place),
        notes=notes,
    )


def first_difference(one: object, two: object) -> int | None:
    """Return where two texts, or two byte strings, begin to differ; None for other values."""
    if isinstance(one, str | bytes) and isinstance(two, str | bytes):
        pairs = enumerate(zip(one, two, strict=False))
        return next((place for place, (ours, theirs) in pairs if ours != theirs), min(len(one), len(two)))
    return None


def place_in_text(text: object, place: int) -> str:
    """Say where a place in a text is, counting from one as people do."""
    if not isinstance(text, str):
        return f"byte {place + 1}"
    before = text[:place]
    line = f"line {before.count(chr(10)) + 1}, " if chr(10) in before else ""
    return f"{line}character {place - before.rfind(chr(10))}"


def _from(value: object, place: int | None) -> str:
    """Return the text from `place` on, cut to a readable length."""
    if not isinstance(value, str | bytes) or place is None:
        return repr(value)[:_MAX_TEXT_CHARS]
    rest = value[place : place + _SHOWN_TEXT]
    return f"{rest!r}{'…' if len(value) > place + _SHOWN_TEXT else ''}" if rest else "the end"


def empty_leaf(
    path: str, ours: Leaf, gold: Leaf, limit: Limit, same_dtype: bool, notes: tuple[str, ...]
) -> LeafComparison:
    return LeafComparison(
        path=path,
        agrees=same_dtype,
        problem="" if same_dtype else "dtype",
        identical=same_dtype,
        actual_dtype=ours.dtype,
        gold_dtype=gold.dtype,
        actual_shape=ours.shape,
        gold_shape=gold.shape,
        excess=0.0 if same_dtype else math.inf,
        tolerance=limit.kind,
        notes=(*notes, "there is no element in it"),
    )
