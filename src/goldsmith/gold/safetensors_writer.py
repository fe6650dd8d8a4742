"""Write safetensors files array by array: never more than one of them is copied, or made, at a time.

The bytes are those that the package safetensors writes, which first makes all of them in memory.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any

from goldsmith.frameworks.framework import arrays_of, framework, storing
from goldsmith.gold.arrays import dtype_name, is_array, is_tensor

_CODES = {
    "bool": ("BOOL", 1),
    "uint8": ("U8", 1),
    "int8": ("I8", 1),
    "int16": ("I16", 2),
    "uint16": ("U16", 2),
    "float16": ("F16", 2),
    "bfloat16": ("BF16", 2),
    "int32": ("I32", 4),
    "uint32": ("U32", 4),
    "float32": ("F32", 4),
    "float64": ("F64", 8),
    "int64": ("I64", 8),
    "uint64": ("U64", 8),
}
"""What the format calls a dtype, and its bytes, in the format's own order."""
_ORDER = {name: number for number, name in enumerate(_CODES)}
_ALIGNED = 8


@dataclass(frozen=True)
class Encoded:
    """A safetensors file of `size` bytes, in parts that are made when it is written."""

    size: int
    parts: Iterable[bytes | memoryview] = ()

    def write_to(self, file: IO[bytes]) -> None:
        for part in self.parts:
            file.write(part)


def encoded(arrays: Mapping[str, Any]) -> Encoded:
    """Return the file with these arrays, of any library. Each is asked for twice: once for its dtype and shape, and
    for its numbers when the file is written."""
    facts: dict[str, tuple[str, tuple[int, ...]]] = {}
    for name, array in arrays.items():
        if not _is_plain(array):
            return _encoded_by_library(arrays)  # which knows how, or refuses it in words of its own
        facts[name] = dtype_name(array), tuple(int(size) for size in array.shape)
    names = sorted(facts, key=lambda name: (-_ORDER[facts[name][0]], name.encode()))
    entries: dict[str, Any] = {}
    place = 0
    for name in names:
        code, size = _CODES[facts[name][0]]
        end = place + size * math.prod(facts[name][1])
        entries[name] = {"dtype": code, "shape": facts[name][1], "data_offsets": (place, end)}
        place = end
    text = json.dumps(entries, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _ALIGNED)
    header = len(text).to_bytes(8, "little") + text
    return Encoded(len(header) + place, _Parts(header, names, arrays))


def _is_plain(array: Any) -> bool:
    """Say whether the raw bytes of an array are those that the format has."""
    known = is_array(array) and dtype_name(array) in _CODES and arrays_of(array).is_dense(array)
    return known and getattr(array.dtype, "isnative", True)


@dataclass(frozen=True)
class _Parts:
    header: bytes
    names: list[str]
    arrays: Mapping[str, Any]

    def __iter__(self) -> Iterator[bytes | memoryview]:
        yield self.header
        for name in self.names:
            array = self.arrays[name]
            yield arrays_of(array).raw_bytes(array)


def encoded_at_once(arrays: Mapping[str, Any]) -> Encoded:
    """Return the file with the numbers that arrays have now, in the memory that they are in where that can be: to write
    it raises no error of a library's, as that of a tensor of a submission's own class."""
    try:
        found = encoded(arrays)
        parts = list(found.parts)
        if sum(map(len, parts)) == found.size:
            return Encoded(found.size, parts)
    except Exception:  # whatever such a class does, the library finds words for it
        pass
    return _encoded_by_library(arrays)


def _encoded_by_library(arrays: Mapping[str, Any]) -> Encoded:
    copies = {name: arrays_of(item).host_copy(item) for name, item in arrays.items()}
    library = storing() if any(map(is_tensor, copies.values())) else framework("numpy")
    content = library.arrays.save_tensors(copies)
    return Encoded(len(content), [content])
