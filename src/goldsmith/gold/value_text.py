"""Nested values as JSON text that a person can review: every number as it is, one leaf a line, read back to the bit.

An array is `{"@float32": [[1.0, 2.5]]}`, a tensor `{"@torch.float32": …}`, nested as its axes are; one without
elements says its `shape`. Text of several lines is `{"@lines": […]}`, bytes are `{"@bytes": "…"}` in hexadecimal, text,
dates and objects are what `gold.labels` makes of them. A key that begins with `@` itself is written with another one.
"""

from __future__ import annotations

import json
import math
from typing import Any

from goldsmith.errors.recipe import MissingPackage
from goldsmith.foundation.nested import walk
from goldsmith.frameworks.framework import arrays_of, framework, framework_of
from goldsmith.gold.arrays import array_hash, as_numpy, dtype_name, is_array
from goldsmith.gold.labels import Labels, flat_items, labels_as_json, labels_from_json, nest, shape_of_nested

MOST_ELEMENTS = 100
"""Elements of an array that a person may be expected to read."""
_PER_LINE, _FLOATS_PER_LINE = 8, 4
_TAG, _PLAIN, _SHAPE = "@", "numpy", "shape"
_HALF = "bfloat16"
_NUMBERS = frozenset(
    ["bool", "complex64", "complex128", _HALF]
    + [f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)]
    + [f"float{bits}" for bits in (16, 32, 64)]
)
"""Other dtypes are those of labels."""


class NotText(ValueError):
    """A value that text would not give back to the bit."""


def value_as_json(value: Any) -> Any:
    """Return `value` as JSON can hold it; `NotText` if it would not be the same once it is read."""
    if isinstance(value, dict):
        names = [_key(key) for key in value]
        if len(set(names)) < len(names):
            raise NotText("two of its keys are one in JSON")
        return {name: value_as_json(item) for name, item in zip(names, value.values(), strict=True)}
    if isinstance(value, list | tuple):
        return [value_as_json(item) for item in value]
    found = _leaf_as_json(value)
    if found is value:  # a JSON type
        return value
    if not _is_same(value_from_json(json.loads(json.dumps(found))), value):
        raise NotText(f"{type(value).__name__} would be another once it is read")
    return found


def value_from_json(given: Any) -> Any:
    """Return the value that `value_as_json` was given: ValueError, TypeError or KeyError if it was not made by it."""
    if isinstance(given, list):
        return [value_from_json(item) for item in given]
    if not isinstance(given, dict):
        return given
    tag = next((key for key in given if key.startswith(_TAG) and not key.startswith(_TAG * 2)), None)
    if tag is None:
        return {key[1:] if key.startswith(_TAG) else key: value_from_json(item) for key, item in given.items()}
    return _leaf_from_json(tag.removeprefix(_TAG), given[tag], given.get(_SHAPE))


def text_of(given: Any, indent: str = "") -> str:
    """Lay out JSON with a line for each leaf, and few numbers of a list in a line."""
    if _fits_in_a_line(given):
        return _plain_text(given)
    inner = f"{indent}  "
    if isinstance(given, dict):
        lines = [f"{inner}{_plain_text(key)}: {text_of(item, inner)}" for key, item in given.items()]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    if any(isinstance(item, list | dict) for item in given):
        lines = [f"{inner}{text_of(item, inner)}" for item in given]
    else:
        step = _per_line(given)
        rows = [given[start : start + step] for start in range(0, len(given), step)]
        lines = [inner + ", ".join(_plain_text(item) for item in row) for row in rows]
    return "[\n" + ",\n".join(lines) + f"\n{indent}]"


def is_short(value: Any) -> bool:
    """Say whether a person may be expected to read all arrays in `value`."""
    sizes = (math.prod(leaf.shape) for _, leaf in walk(value) if is_array(leaf) or isinstance(leaf, Labels))
    return all(size <= MOST_ELEMENTS for size in sizes)


# --- leaves


def _key(key: Any) -> str:
    name = str(key)
    return f"{_TAG}{name}" if name.startswith(_TAG) else name


def _leaf_as_json(value: Any) -> Any:
    if isinstance(value, Labels):
        return labels_as_json(value)
    if is_array(value):
        return _array_as_json(value)
    if isinstance(value, bytes):
        return {f"{_TAG}bytes": value.hex()}
    if isinstance(value, str) and "\n" in value:
        return {f"{_TAG}lines": value.split("\n")}
    if isinstance(value, float) and not math.isfinite(value):
        return {f"{_TAG}float": repr(value)}
    return value


def _array_as_json(array: Any) -> dict[str, Any]:
    name = dtype_name(array)
    shape = tuple(int(size) for size in array.shape)
    library = _library_of(array)
    host = as_numpy(array) if name == _HALF else arrays_of(array).to_numpy(array)
    flat = [_number_as_json(item, host.dtype) for item in host.reshape(-1)]
    tag = f"{_TAG}{library}.{name}" if library else f"{_TAG}{name}"
    return {tag: nest(flat, shape)} if flat else {tag: [], _SHAPE: list(shape)}


def _library_of(array: Any) -> str:
    """Name the library whose array is read back: NumPy's name is empty, as that of any library without files."""
    found = framework_of(array)
    return found.name if found is not None and found.name != _PLAIN and found.suffix else ""


def _number_as_json(item: Any, dtype: Any) -> Any:
    """Return a number of an array: of a narrow float the shortest that is read back as the same."""
    if dtype.kind == "c":
        return repr(complex(item))
    if dtype.kind != "f":
        return item.item()
    exact = float(item)
    if not math.isfinite(exact):
        return repr(exact)
    short = float(str(item))
    return short if dtype.type(short) == item else exact


def _leaf_from_json(name: str, given: Any, shape: list[int] | None) -> Any:
    if name == "bytes":
        return bytes.fromhex(given)
    if name == "lines":
        return "\n".join(given)
    if name == "float":
        return float(given)
    axes = tuple(shape) if shape is not None else shape_of_nested(given)
    library, _, dtype = name.rpartition(".")
    if dtype not in _NUMBERS:
        return labels_from_json(name, given, axes)
    import numpy as np

    flat = flat_items(given, len(axes)) if shape is None else []
    wide = np.dtype(np.float64 if dtype == _HALF else dtype)
    numbers = [complex(item) if wide.kind == "c" else float(item) if wide.kind == "f" else item for item in flat]
    with np.errstate(all="ignore"):
        array = np.array(numbers, dtype=wide).reshape(axes)
    try:
        return framework(library or _PLAIN).arrays.from_numpy(array, dtype if dtype == _HALF else "")
    except ModuleNotFoundError:
        raise MissingPackage(library, "gold with tensors") from None


def _is_same(one: Any, two: Any) -> bool:
    if is_array(one) or is_array(two):
        return (
            is_array(one)
            and is_array(two)
            and _library_of(one) == _library_of(two)
            and array_hash(one) == array_hash(two)
        )
    return type(one) is type(two) and repr(one) == repr(two)


# --- layout


def _fits_in_a_line(given: Any) -> bool:
    if isinstance(given, dict):
        tagged = len(given) <= 2 and any(key.startswith(_TAG) for key in given)
        return not given or (tagged and all(_fits_in_a_line(item) for item in given.values()))
    if isinstance(given, list):
        return len(given) <= _per_line(given) and not any(isinstance(item, list | dict) for item in given)
    return True


def _per_line(items: list[Any]) -> int:
    """Return how many items stand in a line, by their types alone: a number that gets longer moves no other."""
    if any(isinstance(item, str) and len(item) > _PER_LINE for item in items):
        return 1
    return _FLOATS_PER_LINE if any(isinstance(item, float) for item in items) else _PER_LINE


def _plain_text(given: Any) -> str:
    text = json.dumps(given, ensure_ascii=False, allow_nan=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return json.dumps(given, allow_nan=False)
    return text
