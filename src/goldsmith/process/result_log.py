"""A log of attempts in one file, which the child appends to and another process reads.

Each entry begins with its sizes, so that an unfinished one is recognised.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from goldsmith.foundation.struct_types import prepare_types
from goldsmith.gold.arrays import is_array, is_tensor
from goldsmith.process.messages import Attempt, attempt_as_json

_ALIGNED = 64
_MAX_HEAD_BYTES = 2**16


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """The head of an entry: run, case, and the bytes of each part: JSON, arrays and a trace as safetensors."""

    case: str
    run: str
    attempt: int
    arrays: int = 0
    trace: int = 0


def write_attempt(
    file: Path, case: str, run: str, attempt: Attempt, arrays: Mapping[str, Any], trace: bytes = b""
) -> None:
    """Append an entry in one write."""
    parts = [attempt_as_json(attempt), arrays_as_bytes(arrays) if arrays else b"", trace]
    sizes = dict(zip(("attempt", "arrays", "trace"), map(len, parts), strict=True))
    head = _pad(msgspec.json.encode(Entry(case=case, run=run, **sizes)) + b"\n")
    with file.open("ab") as stream:
        stream.write(b"".join([head, *map(_pad, parts)]))


def entries_in(content: memoryview) -> Iterator[tuple[Entry, list[memoryview], int]]:
    """Yield every finished entry, its three parts and where the next begins; raise ValueError for other content."""
    place = 0
    while place < len(content):
        head = bytes(content[place : place + _MAX_HEAD_BYTES]).partition(b"\n")
        if not head[1] and len(head[0]) < _MAX_HEAD_BYTES:
            return
        entry = msgspec.json.decode(head[0], type=Entry)
        sizes = (entry.attempt, entry.arrays, entry.trace)
        if min(sizes) < 0:
            raise ValueError("sizes below zero")
        begins = [place + _next(len(head[0]) + 1)]
        for size in sizes:
            begins.append(begins[-1] + _next(size))
        if begins[-1] > len(content):
            return
        place = begins[-1]
        yield entry, [content[begin : begin + size] for begin, size in zip(begins, sizes, strict=False)], place


def _pad(content: bytes) -> bytes:
    """Pad to a multiple of `_ALIGNED`: aligned numbers are read faster."""
    return content + b" " * (_next(len(content)) - len(content))


def _next(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED


def arrays_as_bytes(arrays: Mapping[str, Any]) -> bytes:
    """Encode arrays of any library as a safetensors file."""
    torch = sys.modules.get("torch")
    if torch is None:
        from safetensors.numpy import save

        return save({name: array.copy() for name, array in arrays.items()})
    from safetensors.torch import save as save_tensors

    tensors = {name: item if is_tensor(item) else torch.from_numpy(item) for name, item in arrays.items()}
    return save_tensors({name: item.detach().cpu().contiguous().clone() for name, item in tensors.items()})


def arrays_in(leaves: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the arrays among them, complex ones as pairs, which safetensors needs, and the paths of those."""
    arrays = {path: leaf for path, leaf in leaves.items() if is_array(leaf)}
    pairs = []
    for path, leaf in arrays.items():
        if is_tensor(leaf) and leaf.is_complex():
            arrays[path] = sys.modules["torch"].view_as_real(leaf.resolve_conj())
            pairs.append(path)
        elif not is_tensor(leaf) and leaf.dtype.kind == "c":
            arrays[path] = leaf.view(leaf.real.dtype).reshape(*leaf.shape, 2)
            pairs.append(path)
    return arrays, tuple(pairs)


prepare_types(Entry)
