"""Read two arrays of one shape in blocks that fit the cache, in memory order; reuse the buffers they are computed in;
and release the pages of mapped files once read."""

from __future__ import annotations

import itertools
import math
import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from goldsmith.comparison.leaves import Array

CHUNK = 128 * 1024
"""Elements of a block: three float32 buffers fit the L2 cache, and the overhead of NumPy's calls is small."""
_READ_AHEAD = 16 * 2**20


class Block(NamedTuple):
    """A block of `size` elements from `offset` on, in C order: `fixed` indices on the first axes, a range on the next,
    all of the rest."""

    offset: int
    size: int
    fixed: tuple[int, ...]
    start: int
    stop: int

    @property
    def where(self) -> Any:
        return (*self.fixed, slice(self.start, self.stop))


def blocks_of(shape: tuple[int, ...]) -> Iterator[Block]:
    """Yield blocks of at most `CHUNK` elements that cover an array of at least one axis."""
    axis = 0
    inner = math.prod(shape[1:])
    while inner > CHUNK:
        axis += 1
        inner = math.prod(shape[axis + 1 :])
    length = shape[axis]
    pieces = max(1, math.ceil(length / max(1, CHUNK // inner)))
    edges = [length * piece // pieces for piece in range(pieces + 1)]
    offset = 0
    for fixed in np.ndindex(*shape[:axis]):
        for start, stop in itertools.pairwise(edges):
            size = (stop - start) * inner
            yield Block(offset, size, fixed, start, stop)
            offset += size


class Buffers:
    """Scratch arrays by name, allocated once. A buffer is valid until its name is asked for again."""

    def __init__(self) -> None:
        self._whole: dict[str, Array] = {}
        self.cut: dict[str, Array] = {}
        self.size = -1

    def take(self, name: str, dtype: Any, size: int) -> Array:
        if size != self.size:
            self.cut.clear()
            self.size = size
        found = self.cut.get(name)
        if found is None:
            whole = self._whole.get(name)
            if whole is None or whole.size < size:
                whole = self._whole[name] = np.empty(max(size, CHUNK), dtype)
            found = self.cut[name] = whole[:size]
        return found


_SPARE: list[Buffers] = []


@contextmanager
def lent_buffers() -> Iterator[Buffers]:
    """Lend buffers to one comparison. One set is kept for the next: allocating costs more than a small comparison
    does."""
    try:
        buffers = _SPARE.pop()
    except IndexError:
        buffers = Buffers()
    try:
        yield buffers
    finally:
        if not _SPARE:
            _SPARE.append(buffers)


class Reader:
    """The blocks of one array, flattened: views where memory allows, else copies into a buffer."""

    def __init__(self, array: Array, name: str, buffers: Buffers) -> None:
        self._array = array
        self._flat = array.reshape(-1) if array.flags.c_contiguous else None
        self._name = f"{name}:{array.dtype.str}"
        self._buffers = buffers
        self._pages = pages_of(self._flat) if self._flat is not None and self._flat.nbytes > _READ_AHEAD else None

    def read(self, block: Block) -> Array:
        if self._flat is not None:
            if self._pages is not None:
                self._pages.release_before(block.offset * self._flat.itemsize)
            return self._flat[block.offset : block.offset + block.size]
        part = self._array[block.where]
        buffer = self._buffers.take(self._name, self._array.dtype, block.size)
        np.copyto(buffer.reshape(part.shape), part)
        return buffer

    def close(self) -> None:
        if self._pages is not None and self._flat is not None:
            self._pages.release_before(self._flat.nbytes, at_once=True)


class Pages:
    """The pages of a mapped file, released once they have been read."""

    def __init__(self, mapping: mmap.mmap, start: int) -> None:
        self._mapping = mapping
        self._start = start
        self._released = 0

    def release_before(self, position: int, at_once: bool = False) -> None:
        if position < self._released:  # a second read starts from the front
            self._released = 0
        if position - self._released < _READ_AHEAD and not at_once:
            return
        begin = -(-(self._start + self._released) // mmap.PAGESIZE) * mmap.PAGESIZE
        end = (self._start + position) // mmap.PAGESIZE * mmap.PAGESIZE
        if end > begin:
            self._mapping.madvise(mmap.MADV_DONTNEED, begin, end - begin)
        self._released = position


def pages_of(array: Array) -> Pages | None:
    """Return the mapping behind an array, if releasing pages loses nothing: not for copy-on-write."""
    base: Any = array
    while isinstance(base, np.ndarray):
        if isinstance(base, np.memmap):
            break
        base = base.base
    if not isinstance(base, np.memmap) or base.mode == "c" or not hasattr(mmap, "MADV_DONTNEED"):
        return None
    mapping: Any = getattr(base, "_mmap", None)
    if mapping is None:
        return None
    front = np.frombuffer(mapping, dtype=np.uint8, count=1)
    return Pages(mapping, _address(array) - _address(front))


def release(array: Array) -> None:
    """Release every page of a large mapped array, after a few elements all over it were read."""
    pages = pages_of(array) if array.nbytes > _READ_AHEAD and array.flags.c_contiguous else None
    if pages is not None:
        pages.release_before(array.nbytes, at_once=True)


def _address(array: Array) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def memory_order(actual: Array, gold: Array) -> tuple[int, ...] | None:
    """Return the axes from largest to smallest stride, or None if that is their own order."""
    if gold.ndim < 2 or (actual.flags.c_contiguous and gold.flags.c_contiguous):
        return None
    order = tuple(sorted(range(gold.ndim), key=lambda axis: -abs(gold.strides[axis])))
    return order if order != tuple(range(gold.ndim)) else None
