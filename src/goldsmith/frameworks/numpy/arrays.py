"""Arrays of NumPy."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from goldsmith.foundation.nested import map_paths, map_tree
from goldsmith.foundation.syntax import parsing
from goldsmith.frameworks.framework import arrays_of
from goldsmith.gold.arrays import as_numpy, is_array
from goldsmith.gold.safetensors_reader import Bfloat16

TYPES = (np.ndarray,)
WHOLE = "int64"
_STRUCTURE = "structure"
_REFERENCE, _WIDENED, _BYTES, _TEXT = "@array:", "@array of ", "@bytes:", "@text:"
"""Prefixes of strings in the structure that stand for something else; a string that itself begins like one is marked as
text. `@array of bfloat16:` stands for an array in float32: NumPy's files know no smaller dtype but float16."""
_SMALL = frozenset(("int2", "int4", "uint2", "uint4"))
_COMPLEX = {"float32": "complex64", "float64": "complex128"}
_MOVED_TO = {"float64": "f8", "float32": "f4", "float16": "f2"}


# --- numbers on the host


def to_numpy(array: Any) -> Any:
    name = array.dtype.name
    if name == "bfloat16":  # of ml_dtypes, as the others
        return Bfloat16(array.view(np.uint16))
    if name.startswith(("float8", "float6", "float4")):
        return array.astype(np.float64)
    return array.astype(np.int8) if name in _SMALL else array


def raw_bytes(array: Any) -> memoryview:
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(np.uint8).data if flat.size else memoryview(b"")


def from_numpy(array: Any, dtype: str = "") -> Any:
    if isinstance(array, Bfloat16):
        kind = _small("bfloat16")
        array = array.bits.view(kind) if kind.itemsize == 2 else as_numpy(array)
    return array.astype(_dtype_named(dtype)) if dtype else array


def like(values: Any, template: Any) -> Any:
    found = arrays_of(values).to_numpy(values)
    return as_numpy(found) if isinstance(found, Bfloat16) else found


# --- copies


def copy(array: Any) -> Any:
    return array.copy()


def host_copy(array: Any) -> Any:
    return array.copy(order="C")


def cast(array: Any, dtype: str) -> Any:
    return array.astype({"f": dtype, "c": _COMPLEX.get(dtype)}[array.dtype.kind])


def moved(array: Any, device: Any, dtype: str) -> Any:
    found = array.copy()
    wanted = _MOVED_TO.get(dtype)
    if wanted and found.dtype.kind == "f":
        return found.astype(wanted)
    return found.astype("c16") if wanted == "f8" and found.dtype.kind == "c" else found


def shifted(array: Any, moves: Any) -> Any:
    return (array + moves).astype(array.dtype)


def overwrite(array: Any, values: Any) -> None:
    array[...] = values


def alias(array: Any) -> Any:
    return array.view()


def concatenate(parts: Sequence[Any], axis: int = 0) -> Any:
    return np.concatenate(parts, axis=axis)


def stack(parts: Sequence[Any], axis: int = 0) -> Any:
    return np.stack(parts, axis=axis)


def as_pairs(array: Any) -> Any:
    return array.view(array.real.dtype).reshape(*array.shape, 2)


# --- facts


def equal(one: Any, two: Any) -> bool:
    return bool(np.array_equal(one, two))


def memory_id(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


def is_storable(array: Any) -> bool:
    return array.dtype.kind in "biuf" and array.dtype.itemsize <= 8


def stressed(array: Any, name: str, seed: int) -> Any:
    if not np.issubdtype(array.dtype, np.floating) or not array.flags.writeable:
        return None
    array[...] = _drawn(name, array, seed)
    return array


def _drawn(name: str, weight: Any, seed: int) -> Any:
    """Draw an array's values. Its input axis is unknown, so scaling by the larger axis keeps outputs of order one."""
    digest = hashlib.sha256(f"{seed}|{name}".encode()).digest()
    source = np.random.default_rng(int.from_bytes(digest[:7], "big"))
    if name.lower().endswith(("var", "variance")):
        return source.uniform(0.5, 1.5, weight.shape)
    if weight.ndim >= 2:
        return source.standard_normal(weight.shape) / math.sqrt(max(weight.shape) or 1)
    return weight + source.uniform(0.1, 0.5, weight.shape) * source.choice([-1.0, 1.0], weight.shape)


# --- files


def save(payload: Mapping[str, Any], file: IO[bytes]) -> None:
    """Write a payload as .npz: arrays by their path, with slashes, nesting and plain values as JSON: `structure`."""
    arrays: dict[str, Any] = {}

    def reference(path: str, value: Any) -> Any:
        if is_array(value):
            arrays[path] = host = _own(value)
            if host.dtype.type.__module__ == "numpy":
                return _REFERENCE + path
            arrays[path] = host.astype(np.float32)
            return f"{_WIDENED}{host.dtype.name}:{path}"
        if isinstance(value, bytes):
            arrays[path] = np.frombuffer(value, dtype=np.uint8)
            return _BYTES + path
        if isinstance(value, str) and value.startswith((_REFERENCE, _WIDENED, _BYTES, _TEXT)):
            return _TEXT + value
        return value

    structure = map_paths(reference, dict(payload), separator="/")
    for key, value in structure.items():
        if key not in arrays and isinstance(value, int | float):
            arrays[key] = np.asarray(value)
    arrays[_STRUCTURE] = np.asarray(json.dumps(structure))
    np.savez(file, **arrays)


def load(path: Path, *, mapped: bool = False) -> Any:
    with parsing, np.load(path, allow_pickle=False) as archive:  # NumPy parses headers as Python
        if _STRUCTURE not in archive.files:
            return {name: archive[name] for name in archive.files}
        structure = json.loads(str(archive[_STRUCTURE]))

        def restore(value: Any) -> Any:
            if isinstance(value, str) and value.startswith(_REFERENCE):
                return archive[value.removeprefix(_REFERENCE)]
            if isinstance(value, str) and value.startswith(_WIDENED):
                kind, _, name = value.removeprefix(_WIDENED).partition(":")
                return archive[name].astype(_small(kind))
            if isinstance(value, str) and value.startswith(_BYTES):
                return archive[value.removeprefix(_BYTES)].tobytes()
            if isinstance(value, str):
                return value.removeprefix(_TEXT)
            return value

        payload: dict[str, Any] = map_tree(restore, structure)
        return payload


def save_tensors(tensors: Mapping[str, Any], metadata: dict[str, str] | None = None) -> bytes:
    from safetensors.numpy import save as save_arrays

    return save_arrays({name: _own(item) for name, item in tensors.items()}, metadata=metadata)


def load_tensors(path: Path) -> dict[str, Any]:
    from safetensors.numpy import load_file

    return load_file(path)


def _own(array: Any) -> Any:
    """Return an array of any library as one of NumPy, in the order of its axes and in its own dtype."""
    if isinstance(array, np.ndarray):
        return array
    if isinstance(array, Bfloat16):
        return as_numpy(array).astype(_small("bfloat16"))
    arrays = arrays_of(array)
    name = arrays.dtype(array)
    return np.frombuffer(arrays.raw_bytes(array), _dtype_named(name)).reshape(array.shape)


def _dtype_named(name: str) -> Any:
    return np.dtype(name) if name in np.sctypeDict else _small(name)


def _small(name: str) -> Any:
    """Return a dtype that NumPy lacks, such as bfloat16, from the package that has it: it comes with what computes in
    such dtypes, and where that is missing, the same numbers in float32 will do."""
    try:
        import ml_dtypes
    except ModuleNotFoundError:
        return np.dtype(np.float32)
    return np.dtype(getattr(ml_dtypes, name))
