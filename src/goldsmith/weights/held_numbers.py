"""Which weights of another model one holds already: the same numbers, perhaps rounded, stored the other way round, or
with rows in another order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from goldsmith.frameworks.framework import are_equal, arrays_of
from goldsmith.gold.arrays import as_numpy, dtype_name, is_inexact
from goldsmith.weights.axes import swap_last_axes, transposed
from goldsmith.weights.loaded import HeldNumbers
from goldsmith.weights.placement import Placed

ROUNDED_TO = ("float16", "bfloat16")
"""Dtypes that checkpoints are rounded to, the coarsest last."""
_SAMPLED = 64
"""Numbers of a tensor by which its partner is looked for."""
_NEAR = 2.0**-6
"""Relative distance of such numbers up to which two tensors may hold the same, rounded to bfloat16."""


def pairs_by_numbers(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> Iterator[tuple[str, str, bool]]:
    """Yield weights that hold nearly the same numbers, where there is only one such pair, and whether theirs are stored
    the other way round. Constants say nothing."""
    left = [{name: item for name, item in side.items() if _tells(item)} for side in (mine, theirs)]
    views: tuple[tuple[Callable[[Any], Any], bool], ...] = (
        (lambda item: item, False),
        (transposed, True),
        (_whatever_the_order, False),
    )
    for view, turned in views:
        found = list(_alike(left[0], left[1], view, turned=turned))
        for one, two in found:
            del left[0][one], left[1][two]
            yield one, two, turned and len(mine[one].shape) >= 2


def numbers_held(
    placed: Iterable[Placed], weights: Mapping[str, Any], own: Mapping[str, Any], put: Mapping[str, Any]
) -> HeldNumbers:
    """Compare a model's `own` weights with those that were `put` in their place from `weights`."""
    found = HeldNumbers()
    names: list[str] = []
    for item in placed:
        if not own.keys() & put.keys() >= set(item.theirs):
            continue
        both = [(own[name], put[name]) for name in item.theirs]
        for dtype in ("", *ROUNDED_TO):
            pairs = [(one, rounded(two, dtype)) for one, two in both]
            order = None
            if not all(map(are_equal, *zip(*pairs, strict=True))):
                order = _row_order(*pairs[0]) if len(pairs) == len(item.gold) == 1 and not item.sizes else None
                if order is None:
                    continue
                found.rows[item.gold[0]] = order
            names += item.gold
            lost = dtype or _lost(item, weights, put)
            found.rounded.update(dict.fromkeys(item.gold, lost) if lost else {})
            break
    return HeldNumbers(tuple(names), found.rounded, found.rows)


def rounded(item: Any, dtype: str) -> Any:
    """Return floating numbers rounded to a dtype, in their own."""
    if not dtype or "float" not in dtype_name(item):
        return item
    arrays = arrays_of(item)
    return arrays.cast(arrays.cast(item, dtype), dtype_name(item))


def _tells(item: Any) -> bool:
    if not is_inexact(item) or "complex" in dtype_name(item) or 0 in item.shape:
        return False
    flat = arrays_of(item).detached(item).reshape(-1)
    return bool((flat != flat[0]).any())


def _alike(
    mine: Mapping[str, Any], theirs: Mapping[str, Any], view: Callable[[Any], Any], *, turned: bool
) -> Iterator[tuple[str, str]]:
    """Yield names on both sides whose numbers, seen in a way, are near each other's and nobody else's."""
    groups: dict[tuple[int, ...], tuple[list[str], list[str]]] = {}
    for number, side in enumerate((mine, theirs)):
        for name, item in side.items():
            shape = tuple(item.shape)
            groups.setdefault(swap_last_axes(shape) if turned and number else shape, ([], []))[number].append(name)
    for ones, twos in groups.values():
        if not (ones and twos):
            continue
        left = np.stack([_sample(mine[name]) if turned else _sample(view(mine[name])) for name in ones])
        right = np.stack([_sample(view(theirs[name])) for name in twos])
        sizes = np.maximum(np.linalg.norm(left, axis=1, keepdims=True), 1e-300)
        near = np.stack([np.linalg.norm(left - row, axis=1) for row in right], axis=1) <= _NEAR * sizes
        for number, name in enumerate(ones):
            places = near[number].nonzero()[0].tolist()
            if len(places) == 1 and int(near[:, places[0]].sum()) == 1:
                yield name, twos[places[0]]


def _sample(item: Any) -> Any:
    flat = arrays_of(item).detached(item).reshape(-1)
    places = np.linspace(0, flat.shape[0] - 1, min(_SAMPLED, flat.shape[0])).astype("int64")
    return np.nan_to_num(as_numpy(flat[places]).astype(np.float64))


def _whatever_the_order(item: Any) -> Any:
    """Return what does not depend on the order of rows."""
    wide = as_numpy(arrays_of(item).detached(item)).astype(np.float64)
    return wide.sum(0) if wide.ndim > 1 else np.sort(wide)


def _lost(item: Placed, weights: Mapping[str, Any], put: Mapping[str, Any]) -> str:
    """Return the model's dtype if numbers were rounded as they were put in."""
    given = item.carry([weights[name] for name in item.gold])
    for name, value in zip(item.theirs, given, strict=True):
        if not np.array_equal(as_numpy(put[name]), as_numpy(value)):
            return dtype_name(put[name])
    return ""


def _row_order(own: Any, put: Any) -> tuple[int, ...] | None:
    """Return, for each of its own rows, which of those that were put in it is; None unless they are the same rows."""
    if tuple(own.shape) != tuple(put.shape) or not own.shape:
        return None
    places = {row: number for number, row in enumerate(_rows(put))}
    order = [places.get(row) for row in _rows(own)]
    known = [number for number in order if number is not None]
    return tuple(known) if len(set(known)) == len(order) else None


def _rows(item: Any) -> Sequence[bytes]:
    wide = as_numpy(arrays_of(item).detached(item)).astype(np.float64).reshape(item.shape[0], -1)
    return [row.tobytes() for row in wide + 0.0]  # no negative zeros
