"""Read safetensors files as memory-mapped arrays. The whole header is checked before anything is trusted or allocated,
because such files come from untrusted code."""

from __future__ import annotations

import io
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

MAX_HEADER_BYTES = 16 * 2**20
_PREFIX = 8
_MAX_AXES = 32
_BFLOAT16 = "BF16"
_DTYPES = {
    "BOOL": "?",
    "U8": "u1",
    "I8": "i1",
    "U16": "<u2",
    "I16": "<i2",
    "U32": "<u4",
    "I32": "<i4",
    "U64": "<u8",
    "I64": "<i8",
    "F16": "<f2",
    _BFLOAT16: "<u2",
    "F32": "<f4",
    "F64": "<f8",
    "C64": "<c8",
}
_SIZES = {name: int(code[-1]) if code != "?" else 1 for name, code in _DTYPES.items()}


@dataclass(frozen=True)
class Bfloat16:
    """An array of bfloat16, for which NumPy has no type: `bits` holds each element's sixteen bits."""

    bits: npt.NDArray[np.uint16]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.bits.shape


class Mapped(dict[str, Any]):
    """The tensors of a file by name, with the file's own `metadata`."""

    def __init__(self, tensors: Mapping[str, Any], metadata: Mapping[str, str]) -> None:
        super().__init__(tensors)
        self.metadata = dict(metadata)


@dataclass(frozen=True)
class _Entry:
    name: str
    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


@dataclass(frozen=True)
class _Header:
    """What a file says it contains; `data` is the offset at which the data begins."""

    entries: list[_Entry]
    metadata: Mapping[str, str]
    data: int


class _Damaged(ValueError):
    pass


def open_mapped(path: Path) -> Mapped:
    """Map every tensor of a safetensors file read-only; `ValueError` says what is wrong with the file."""
    import numpy as np

    header = _checked(path)
    if not any(entry.end > entry.begin for entry in header.entries):
        whole: Any = np.empty(0, dtype=np.uint8)
    else:
        whole = np.memmap(path, dtype=np.uint8, mode="r", offset=0)[header.data :]
    return Mapped({entry.name: _array(entry, whole) for entry in header.entries}, header.metadata)


def parse_bytes(content: memoryview, path: Path, largest: int = MAX_HEADER_BYTES) -> Mapped:
    """Read the tensors from a file's whole content, which nobody can change any more; `path` is its name in messages,
    `largest` how many bytes its header may have."""
    import numpy as np

    longest = min(int.from_bytes(content[:_PREFIX], "little"), largest)
    header = _parsed(path, io.BytesIO(content[: _PREFIX + longest]), len(content), largest)
    whole = np.frombuffer(content, dtype=np.uint8)[header.data :]
    return Mapped({entry.name: _array(entry, whole) for entry in header.entries}, header.metadata)


def _array(entry: _Entry, data: Any) -> Any:
    import numpy as np

    # A header of odd length leaves numbers unaligned; NumPy reads those too, but more slowly.
    array = data[entry.begin : entry.end].view(np.dtype(_DTYPES[entry.dtype])).reshape(entry.shape)
    return Bfloat16(array) if entry.dtype == _BFLOAT16 else array


def _checked(path: Path) -> _Header:
    if path.exists() and not path.is_file():  # reading a pipe would never end
        raise _damaged(path, "is not a regular file")
    try:
        with path.open("rb") as file:
            return _parsed(path, file, os.fstat(file.fileno()).st_size)
    except OSError as error:
        raise _damaged(path, f"cannot be read: {error.strerror or error}") from None


def _parsed(path: Path, file: IO[bytes], size: int, largest: int = MAX_HEADER_BYTES) -> _Header:
    prefix = file.read(_PREFIX)
    if len(prefix) < _PREFIX:
        raise _damaged(path, f"is not a safetensors file: it has only {size} bytes")
    length = int.from_bytes(prefix, "little")
    if length > largest:
        raise _damaged(path, f"is refused: its header claims {length} bytes, more than {largest}")
    if length > size - _PREFIX:
        raise _damaged(path, f"is cut off: its header claims {length} bytes, {size - _PREFIX} are there")
    header = _header(path, file.read(length))
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(item, str) for item in metadata.values()):
        raise _damaged(path, "is damaged: its metadata is not text by name")
    data = _PREFIX + length
    entries = [_entry(path, name, item) for name, item in header.items()]
    _check_places(path, entries, size - data)
    return _Header(entries, metadata, data)


def _header(path: Path, text: bytes) -> dict[str, Any]:
    try:
        header = json.loads(text.decode("utf-8"), object_pairs_hook=lambda pairs: _unique(path, pairs))
    except _Damaged:
        raise
    except (ValueError, RecursionError):
        raise _damaged(path, "is damaged: its header is not JSON") from None
    if not isinstance(header, dict):
        raise _damaged(path, "is damaged: its header is not an object")
    return header


def _unique(path: Path, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise _damaged(path, f"is damaged: its header names {key[:80]!r} twice")
        found[key] = value
    return found


def _entry(path: Path, name: str, item: Any) -> _Entry:
    if not isinstance(item, dict) or item.keys() != {"dtype", "shape", "data_offsets"}:
        raise _damaged(path, f"is damaged: the entry of {name!r} is not dtype, shape and data_offsets")
    dtype, shape, offsets = item["dtype"], item["shape"], item["data_offsets"]
    if not isinstance(dtype, str) or dtype not in _DTYPES:
        raise _damaged(path, f"cannot be compared: {name!r} has dtype {dtype!r}; convert it to float32 before saving")
    if not _are_sizes(shape) or len(shape) > _MAX_AXES:
        raise _damaged(path, f"is damaged: the shape of {name!r} is not a list of at most {_MAX_AXES} sizes")
    if not _are_sizes(offsets) or len(offsets) != 2:
        raise _damaged(path, f"is damaged: the offsets of {name!r} are not two numbers")
    begin, end = offsets
    needed = math.prod(shape) * _SIZES[dtype]
    if end - begin != needed:
        raise _damaged(path, f"is damaged: {name!r} needs {needed} bytes for its shape and has {end - begin}")
    return _Entry(name, dtype, tuple(shape), begin, end)


def _are_sizes(value: Any) -> bool:
    return isinstance(value, list) and all(type(item) is int and 0 <= item < 2**62 for item in value)


def _check_places(path: Path, entries: list[_Entry], size: int) -> None:
    """Refuse data in which a byte does not belong to exactly one tensor, as the format demands."""
    place = 0
    for entry in sorted(entries, key=lambda entry: (entry.begin, entry.end)):
        if entry.end > size:
            raise _damaged(path, f"is cut off: {entry.name!r} ends at byte {entry.end} of {size}")
        if entry.begin != place:
            fault = "overlaps another tensor" if entry.begin < place else "has unclaimed bytes before it"
            raise _damaged(path, f"is damaged: {entry.name!r} {fault}")
        place = entry.end
    if place != size:
        raise _damaged(path, f"is damaged: {size - place} bytes at its end belong to no tensor")


def _damaged(path: Path, fault: str) -> _Damaged:
    return _Damaged(f"{path.name} {fault}.")
