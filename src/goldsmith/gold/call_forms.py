"""The form of a call or its result: JSON in which each array is replaced by a number, so that it can be rebuilt."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from goldsmith.foundation.nested import leaves_in, map_tree
from goldsmith.frameworks.framework import arrays_of
from goldsmith.gold.arrays import is_array

TENSOR = "@tensor"
NO_FORM = object()
_MAX_FORM_CHARS = 4096


def tensors_in(value: Any) -> list[Any]:
    """List every array in `value`, however nested, in order."""
    found: list[Any] = []
    _collect_arrays(value, found, set())
    return found


def _collect_arrays(value: Any, found: list[Any], seen: set[int]) -> None:
    """Append every array to `found`; `seen` are dataclasses already visited, since they may refer to each other."""
    if is_array(value):
        if _is_plain_array(value):
            found.append(value)
        return
    items: Iterable[Any] = ()
    if isinstance(value, dict):
        items = value.values()
    elif isinstance(value, list | tuple):
        items = value
    elif dataclasses.is_dataclass(value) and not isinstance(value, type) and id(value) not in seen:
        seen.add(id(value))
        items = [getattr(value, field.name, None) for field in dataclasses.fields(value)]
    for item in items:
        _collect_arrays(item, found, seen)


def form_of(value: Any, number: Iterator[int]) -> Any:
    """Return `value` with each array replaced by its number in the order of `tensors_in`; `NO_FORM` if something in it
    is neither an array nor plain, or the form is too long to keep."""
    form = _form(value, number)
    too_long = form is not NO_FORM and len(json.dumps(form)) > _MAX_FORM_CHARS
    return NO_FORM if too_long else form


def _form(value: Any, number: Iterator[int]) -> Any:
    if is_array(value):
        return {TENSOR: next(number)} if _is_plain_array(value) else NO_FORM
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) is dict and all(type(key) is str and key != TENSOR for key in value):
        items = {key: _form(item, number) for key, item in value.items()}
        return NO_FORM if any(item is NO_FORM for item in items.values()) else items
    if type(value) in (list, tuple):
        parts = [_form(item, number) for item in value]
        return NO_FORM if any(item is NO_FORM for item in parts) else parts
    return NO_FORM


def plain_values(value: Any) -> list[Any]:
    """List every number and text in `value`, or in its form, in order: no more than a form can have, NumPy's numbers as
    Python's, and those that JSON lacks, such as infinity, as text."""
    leaves = (_as_python(leaf) for leaf in leaves_in(value, is_reference) if not is_array(leaf))
    plain = islice((leaf for leaf in leaves if type(leaf) in (bool, int, float, str)), _MAX_FORM_CHARS)
    return [str(leaf) if type(leaf) is float and not math.isfinite(leaf) else leaf for leaf in plain]


def _as_python(leaf: Any) -> Any:
    return leaf.item() if type(leaf).__module__ == "numpy" and hasattr(leaf, "item") else leaf


def rebuild(form: Any, tensors: dict[str, Any]) -> Any:
    """Rebuild the value that has this form, with `tensors` by their numbers."""
    return map_tree(lambda leaf: tensors[str(leaf[TENSOR])] if is_reference(leaf) else leaf, form, is_reference)


def is_reference(form: Any) -> bool:
    """Say whether this part of a form stands for an array."""
    return isinstance(form, dict) and set(form) == {TENSOR}


def _is_plain_array(value: Any) -> bool:
    """Say whether the array's numbers can be stored in a trace."""
    return arrays_of(value).is_storable(value)


def function_key(name: str) -> str:
    """Return the key of a function (`loss`) or method (`Agent.act`) in gold's noise of calls: no submodule has it."""
    return f"{name}()"
