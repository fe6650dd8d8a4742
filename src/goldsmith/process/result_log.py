"""A log of runs in one file, which the child appends to and another process reads.

Each entry begins with its sizes, so that an unfinished one is recognised.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from goldsmith.foundation.struct_types import prepare_types
from goldsmith.frameworks.framework import arrays_of
from goldsmith.gold.arrays import dtype_name, is_array
from goldsmith.gold.safetensors_reader import parse_bytes
from goldsmith.gold.safetensors_writer import Encoded, encoded_at_once
from goldsmith.runs.run import Run, RunFacts

_ALIGNED = 64
_BYTES = "bytes"
_MAX_HEAD_BYTES = 2**16


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """The head of an entry: run, case, and the bytes of each part: JSON, arrays and a trace as safetensors."""

    case: str
    run: str
    attempt: int
    arrays: int = 0
    trace: int = 0


class RecordedRun(RunFacts, frozen=True, kw_only=True):
    """The JSON of an entry: facts, the `paths` of all values in their order, and by path the `plain` ones. Arrays are
    next to it, `complex` ones as pairs of numbers; `odd` are floats that JSON lacks, which are arrays there."""

    paths: tuple[str, ...] = ()
    plain: dict[str, Any] = msgspec.field(default_factory=dict)
    complex: tuple[str, ...] = ()
    odd: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Decode bytes, which JSON lacks, from the form that `as_json` wrote."""
        coded = {path: item for path, item in self.plain.items() if isinstance(item, dict)}
        if coded:
            found = {path: base64.b64decode(item[_BYTES], validate=True) for path, item in coded.items()}
            msgspec.structs.force_setattr(self, "plain", self.plain | found)

    def as_json(self) -> bytes:
        """Encode it. A plain value is never a dict, so a dict can represent bytes."""
        content = msgspec.to_builtins(self, builtin_types=(bytes,))
        for path, item in self.plain.items():
            if isinstance(item, bytes):
                content["plain"][path] = {_BYTES: base64.b64encode(item).decode()}
        return msgspec.json.encode(content)

    def values(self, arrays: Mapping[str, Any]) -> dict[str, Any]:
        """Return all values in their order; `arrays` are those next to it."""
        found = {**self.plain, **arrays}
        return {path: found[path] for path in dict.fromkeys([*self.paths, *found]) if path in found}

    def facts(self) -> RunFacts:
        return RunFacts(**{name: getattr(self, name) for name in RunFacts.__struct_fields__})


def write_run(file: Path, case: str, name: str, run: Run) -> None:
    """Append a run, its trace as bytes."""
    import numpy as np

    arrays, pairs = arrays_in(run.values)
    plain = {path: value for path, value in run.values.items() if path not in arrays}
    odd = [path for path, value in plain.items() if isinstance(value, float) and not math.isfinite(value)]
    arrays |= {path: np.asarray(plain.pop(path)) for path in odd}
    facts = {name: getattr(run.facts, name) for name in RunFacts.__struct_fields__}
    recorded = RecordedRun(**facts, paths=tuple(run.values), plain=plain, complex=pairs, odd=tuple(odd))
    content = encoded_at_once(arrays) if arrays else Encoded(0)
    parts = [_whole(recorded.as_json()), content, _whole(run.trace or b"")]
    sizes = dict(zip(("attempt", "arrays", "trace"), (part.size for part in parts), strict=True))
    with file.open("ab") as stream:
        for part in (_whole(msgspec.json.encode(Entry(case=case, run=name, **sizes)) + b"\n"), *parts):
            part.write_to(stream)
            stream.write(b" " * (_next(part.size) - part.size))  # aligned numbers are read faster


def _whole(content: bytes) -> Encoded:
    return Encoded(len(content), [content])


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


def runs_in(file: Path) -> list[Run]:
    """Read the runs in a log that a process of ours has finished. Arrays and traces are mapped from it."""
    import numpy as np

    found = []
    for _, (text, content, trace), _ in entries_in(np.memmap(file, dtype=np.uint8, mode="r").data):
        recorded = msgspec.json.decode(text, type=RecordedRun)
        arrays = dict(parse_bytes(content, file)) if content else {}
        arrays |= {
            path: arrays[path].view("c16" if arrays[path].dtype.itemsize == 8 else "c8")[..., 0]
            for path in recorded.complex
        }
        arrays |= {path: float(arrays[path]) for path in recorded.odd}
        found.append(Run(recorded.facts(), recorded.values(arrays), parse_bytes(trace, file) if trace else None))
    return found


def _next(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED


def arrays_in(leaves: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the arrays among them, complex ones as pairs, which safetensors needs, and the paths of those."""
    arrays = {path: leaf for path, leaf in leaves.items() if is_array(leaf)}
    pairs = []
    for path, leaf in arrays.items():
        if dtype_name(leaf).startswith("complex"):
            arrays[path] = arrays_of(leaf).as_pairs(leaf)
            pairs.append(path)
    return arrays, tuple(pairs)


prepare_types(Entry, RecordedRun)
