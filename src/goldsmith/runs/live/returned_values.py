"""Values that a model takes and returns: named by path, copied, moved to a device and converted to a dtype."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from goldsmith.errors.parity import BadInputs
from goldsmith.frameworks.framework import arrays_of
from goldsmith.gold.arrays import is_array, is_tensor
from goldsmith.runs.implementation import OUTPUT
from goldsmith.weights.values import array_like

_PLAIN = (bool, int, float, str)
_NO_NUMBERS = "USTOMm"
"""Kinds of NumPy's dtypes that hold text, objects and times."""


@dataclass(frozen=True)
class InputSet:
    """The arguments of one call."""

    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)

    def named(self) -> dict[str, Any]:
        """Return the arguments by name: position or keyword."""
        return {**{str(number): item for number, item in enumerate(self.args)}, **self.kwargs}


def input_sets(inputs: Any) -> list[InputSet]:
    """Return the sets of inputs that the caller gave: a tensor, a tuple of positional arguments, a dict of keyword
    arguments, a function that draws any of these, or a list of several."""
    if isinstance(inputs, list):
        if not inputs:
            raise BadInputs("the list of inputs is empty")
        return [item for each in inputs for item in input_sets(each)]
    if callable(inputs) and not is_array(inputs):
        if inspect.isclass(inputs):
            raise BadInputs(f"inputs is the class {inputs.__name__}, not what it makes")
        return input_sets(inputs())
    if isinstance(inputs, dict):
        if not all(isinstance(key, str) for key in inputs):
            raise BadInputs("a dict of inputs holds arguments by name, so its keys must be text")
        return [InputSet(kwargs=dict(inputs))]
    if isinstance(inputs, tuple) and not hasattr(inputs, "_fields"):
        return [InputSet(args=inputs)]
    if inputs is None:
        raise BadInputs("there are no inputs")
    return [InputSet(args=(inputs,))]


def copied(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return a copy of nested arguments with `change` applied to every array; it must return a new one."""
    if is_array(value):
        return change(value)
    if value is None or type(value) in _PLAIN:
        return value
    if type(value) is dict:
        return {key: copied(item, change) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(copied(item, change) for item in value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(copied(item, change) for item in value))
    try:
        return copy.deepcopy(value)
    except Exception:  # an object that cannot be copied is passed as it is
        return value


def named_values(returned: Any) -> tuple[dict[str, Any], dict[str, str], str]:
    """Return everything in what a model returned that can be compared, by path; the types of what cannot; and what came
    back, in words."""
    values: dict[str, Any] = {}
    skipped: dict[str, str] = {}
    _collect(returned, OUTPUT, values, skipped, set())
    return values, skipped, _container(returned)


def _collect(value: Any, path: str, values: dict[str, Any], skipped: dict[str, str], seen: set[int]) -> None:
    if value is None:
        return
    if is_array(value) and not is_tensor(value) and value.dtype.kind in _NO_NUMBERS:
        skipped[path] = f"array of {value.dtype}"
        return
    if is_array(value) or type(value) in _PLAIN:
        values[path] = value
        return
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.number | numpy.bool_):
        values[path] = numpy.asarray(value)
        return
    items = _items(value, seen)
    if items is not None:
        for key, item in items.items():
            _collect(item, f"{path}.{key}", values, skipped, seen)
        return
    held = array_like(value)
    if held is not None:
        values[path] = held
    else:
        skipped[path] = type(value).__name__


def _items(value: Any, seen: set[int]) -> dict[str, Any] | None:
    if isinstance(value, dict):
        return {str(key): item for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: getattr(value, name) for name in value._fields}
    if isinstance(value, list | tuple):
        return {str(number): item for number, item in enumerate(value)}
    if dataclasses.is_dataclass(value) and not isinstance(value, type) and id(value) not in seen:
        seen.add(id(value))
        return {item.name: getattr(value, item.name, None) for item in dataclasses.fields(value)}
    return None


def _container(value: Any) -> str:
    if is_array(value):
        return "tensor"
    if isinstance(value, dict) or dataclasses.is_dataclass(value) or hasattr(value, "_fields"):
        return "dict"
    return "tuple" if isinstance(value, list | tuple) else type(value).__name__


def moved(array: Any, device: Any, dtype: str) -> Any:
    """Return a fresh copy of an array on `device`, floating numbers in `dtype` if that is given."""
    return arrays_of(array).moved(array, device, dtype)
