"""Recorded values as plain, independent data: nested containers, arrays and simple values only."""

from __future__ import annotations

import dataclasses
import enum
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from goldsmith.errors.recipe import RecipeMisuse
from goldsmith.foundation.nested import map_tree, walk
from goldsmith.frameworks.framework import arrays_of
from goldsmith.gold.arrays import array_hash, is_array, is_tensor


def snapshot(value: Any, path: str) -> Any:
    """Return a copy of `value` that later changes cannot reach. `path` names it in messages.

    Tensors are detached and moved to the CPU. Named tuples and dataclasses become dicts. Objects that support DLPack or
    `__array__`, or hold an array in another way, become arrays. Anything else is refused by name.
    """
    if isinstance(value, enum.Enum):
        value = value.value
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if type(value) is complex:
        return _foreign_array(value, path)
    if is_array(value):
        return _copy_array(value, path)
    if isinstance(value, Mapping):
        return {_key(key, path): snapshot(item, f"{path}.{key}") for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: snapshot(getattr(value, name), f"{path}.{name}") for name in value._fields}
    if isinstance(value, list | tuple):
        copies = [snapshot(item, f"{path}.{index}") for index, item in enumerate(value)]
        return copies if isinstance(value, list) else tuple(copies)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        return {name: snapshot(getattr(value, name), f"{path}.{name}") for name in names}
    if hasattr(value, "__dlpack__") or hasattr(value, "__array__"):
        return _foreign_array(value, path)
    held = array_like(value)
    if held is not None:
        return _copy_array(held, path)
    raise RecipeMisuse(
        f"{path} is {_article(type(value).__name__)}, not an array or plain value; record its tensors by name"
    )


def without_history(value: Any) -> Any:
    """Return arrays in the memory that they are in, through which no gradients pass."""
    return map_tree(lambda leaf: arrays_of(leaf).detached(leaf) if is_array(leaf) else leaf, value)


def changed_values(now: Mapping[str, Any], before: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the paths of values that are not what their snapshots in `before` have, such as `x` or `state.step`."""
    found: dict[str, None] = {}
    for name, value in now.items():
        try:
            taken = snapshot(value, name)
        except Exception:  # whatever was put there, it is nothing that was recorded
            taken = None
        one, two = ({path: _identity(leaf) for path, leaf in walk(item, name)} for item in (taken, before[name]))
        found |= dict.fromkeys(path for path in two | one if one.get(path) != two.get(path))
    return tuple(found)


def _identity(leaf: Any) -> str:
    return array_hash(leaf) if is_array(leaf) else repr(leaf)


def array_like(value: Any) -> Any:
    """Return the array of an object that holds one, such as a hand-written tensor class; None if it holds none.

    The object may support `__array__` or DLPack, have `numpy()`, or keep an array or a number under `data`.
    """
    if is_array(value):
        return value
    if value is None or isinstance(value, type | bool | int | float | str | bytes | dict | list | tuple | set):
        return None
    if callable(value) and not hasattr(type(value), "__array__") and not hasattr(value, "numpy"):
        return None
    for read in (_by_array, _by_numpy, _by_data):
        try:
            found = read(value)
        except Exception:  # a hand-written class may raise anything: it cannot be read this way
            continue
        if found is not None:
            array = found if is_array(found) else np.asarray(found)
            if is_tensor(array) or array.dtype.kind in "fiubc":
                return array
    return None


def _by_array(value: Any) -> Any:
    if hasattr(value, "__array__"):
        return np.asarray(value)
    return np.from_dlpack(value) if hasattr(value, "__dlpack__") else None


def _by_numpy(value: Any) -> Any:
    read = next((getattr(value, name) for name in ("numpy", "to_numpy") if hasattr(value, name)), None)
    found = read() if callable(read) else None
    return found if is_array(found) else None


def _by_data(value: Any) -> Any:
    """Read the attribute `data`, ignoring methods of that name and anything but arrays and numbers."""
    found = getattr(value, "data", None)
    if is_array(found) or type(found) in (int, float, complex):
        return found
    return None


def check_shape(name: str, value: Any, shape: Sequence[int | None]) -> None:
    """Refuse an output that does not have the shape that a recipe declares."""
    if not is_array(value):
        raise RecipeMisuse(f"output {name!r} declares a shape but is {type(value).__name__}, not an array")
    actual = tuple(int(size) for size in value.shape)
    if len(actual) != len(shape) or any(b not in (a, None) for a, b in zip(actual, shape, strict=True)):
        raise RecipeMisuse(f"output {name!r} has shape {actual}, the recipe declares {tuple(shape)}")


def plain(value: Any) -> Any:
    """Convert settings to JSON types; anything richer to its name, without memory addresses, which vary."""
    if isinstance(value, enum.Enum):
        value = value.value
    if value is None or type(value) in (bool, int, str):
        return value
    if isinstance(value, float):
        return float(value)
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))


def first_of(value: Any) -> Any:
    """Return the main output of something that may return more: the first item, value or field."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type | dict):
        value = [getattr(value, field.name) for field in dataclasses.fields(value)]
    if isinstance(value, list | tuple):
        if not value:
            raise RecipeMisuse("case.first was given an empty sequence")
        return value[0]
    if isinstance(value, dict):
        if not value:
            raise RecipeMisuse("case.first was given an empty dict")
        return next(iter(value.values()))
    return value


def to_device(value: Any, device: str) -> Any:
    """Move tensors to `device`; return everything else unchanged."""
    if device == "cpu":
        return value

    def move(leaf: Any) -> Any:
        return arrays_of(leaf).place(leaf, device) if is_array(leaf) else leaf

    return map_tree(move, value, is_leaf=lambda item: hasattr(item, "_fields"))


def _key(key: Any, path: str) -> str | int:
    if isinstance(key, str):
        return sys.intern(key)  # equal keys must be the same object, or the pickle inside a .pt differs
    if type(key) is int:
        return key
    raise RecipeMisuse(f"{path} has the key {key!r}; only strings and integers can be keys in gold")


def _copy_array(array: Any, path: str) -> Any:
    if is_tensor(array):
        if not arrays_of(array).is_dense(array):
            raise RecipeMisuse(f"{path} is a sparse or quantised tensor; record it dense (`.to_dense()`)")
        try:
            return arrays_of(array).host_copy(array)
        except RuntimeError:
            refused = arrays_of(array).refusal(array)
            if refused is None:
                raise
            raise RecipeMisuse(f"{path} is {refused[0]}, which cannot be gold; {refused[1]}") from None
    if array.dtype.hasobject or array.dtype.kind in "USV":
        raise RecipeMisuse(f"{path} is an array of {array.dtype}; only numbers and booleans can be gold")
    return array.astype(array.dtype.newbyteorder("="), order="C", copy=True)


def _foreign_array(value: Any, path: str) -> Any:
    try:
        by_dlpack = hasattr(value, "__dlpack__") and not hasattr(value, "__array__")
        array = np.from_dlpack(value) if by_dlpack else np.asarray(value)
    except (TypeError, ValueError, BufferError, RuntimeError) as error:
        raise RecipeMisuse(f"{path} could not be read as an array: {error}") from None
    return _copy_array(array, path)


def _article(name: str) -> str:
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"
