"""Inputs with structure, made of a kernel's own: of the same shapes and dtypes, and as far as can be in the same range.

What a benchmark draws is smooth: independent numbers of one size. A kernel that is right only there is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from goldsmith.frameworks.framework import arrays_of
from goldsmith.gold.arrays import dtype_name, is_floating, numbers_of
from goldsmith.runs.live.model_facts import arrays_in
from goldsmith.runs.live.returned_values import InputSet, copied

MOST_ELEMENTS = 2**26
"""Inputs of more numbers than this in all get no structure: it is computed on the host, in float64."""
_CLUSTERS = (0.1, 0.35, 0.6, 0.9)
"""Quantiles of the input's own numbers, around which all of them lie."""
_JITTER = 1e-3
_NEARLY = 0.01
"""Of the largest number: inputs that come so near to zero may be zero."""
_HUGE = 1000.0
"""Times the largest number: far past where an exponential overflows, and still a number in float16."""
_TAME, _WILD, _HEAD = 0.1, 100.0, 0.9


def _ragged(values: Any, generator: np.random.Generator) -> Any:
    """End rows early, as sequences of several lengths do; the first is short, and the last is as long as can be."""
    rows = values.reshape(-1, values.shape[-1])
    ends = generator.integers(1, rows.shape[1] + 1, size=len(rows))
    ends[0], ends[-1] = max(1, rows.shape[1] // 4), rows.shape[1]
    least = values.flat[np.abs(values).argmin()]
    padding = 0.0 if abs(least) < _NEARLY * np.abs(values).max() else least
    return np.where(np.arange(rows.shape[1]) < ends[:, None], rows, padding).reshape(values.shape)


def _clustered(values: Any, generator: np.random.Generator) -> Any:
    centres = np.quantile(values, _CLUSTERS)[generator.integers(0, len(_CLUSTERS), size=values.shape)]
    found = centres + _JITTER * values.std() * generator.standard_normal(values.shape)
    return found.clip(values.min(), values.max())


def _tame_head(values: Any, generator: np.random.Generator) -> Any:
    sizes = np.full(values.size, _TAME)
    sizes[int(_HEAD * values.size) :] = _WILD
    return values * sizes.reshape(values.shape)


def _one_huge(values: Any, generator: np.random.Generator) -> Any:
    found = values.copy()
    found.flat[values.size * 2 // 3] = _HUGE * np.abs(values).max()
    return found


_MADE: Mapping[str, Callable[[Any, np.random.Generator], Any]] = MappingProxyType(
    {
        "ragged rows": _ragged,
        "clustered values": _clustered,
        "tame head and wild tail": _tame_head,
        "one huge value": _one_huge,
    }
)
"""The one last that an assertion may refuse, after which nothing runs on a GPU any more."""


def structured(given: InputSet, seed: int) -> dict[str, InputSet]:
    """Return a set for each structure; none where there is nothing to give it to."""
    floating = [item for item in arrays_in(given).values() if is_floating(item) and 0 not in item.shape and item.shape]
    if not floating or sum(int(np.prod(item.shape)) for item in floating) > MOST_ELEMENTS:
        return {}
    return {name: _changed(given, make, np.random.default_rng(seed)) for name, make in _MADE.items()}


def other_contents(array: Any, number: int) -> Any:
    """Return other numbers of the same kind: with the tail in reverse and the head as it was, so that neither the first
    elements nor their sum tell the two apart; every second time all in reverse, and half the size."""
    values = numbers_of(array).reshape(-1)
    found = values.copy()
    if number % 2:
        found = found[::-1] / 2
    else:
        found[len(found) // 2 :] = found[len(found) // 2 :][::-1]
    return _like(values / 2 if np.array_equal(found, values) else found, array)


def _changed(
    given: InputSet, make: Callable[[Any, np.random.Generator], Any], generator: np.random.Generator
) -> InputSet:
    def change(array: Any) -> Any:
        if not is_floating(array) or 0 in array.shape or not array.shape:
            return arrays_of(array).copy(array)
        return _like(make(numbers_of(array), generator), array)

    return InputSet(copied(given.args, change), copied(given.kwargs, change))


def _like(values: Any, array: Any) -> Any:
    arrays = arrays_of(array)
    made = np.ascontiguousarray(values).reshape(array.shape)
    return arrays.cast(arrays.like(made, array), dtype_name(array))
