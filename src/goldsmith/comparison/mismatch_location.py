"""Collect where elements are beyond their limits, block by block, and describe it as slices and in words."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from goldsmith.comparison.blocks import Block
from goldsmith.comparison.leaves import Array

MAX_AXIS = 2**20
"""Of longer axes only the first and last index are kept."""
MAX_MASK = 2**20
"""Up to this many elements the whole mask is kept, to recognise triangles and diagonals."""


class MismatchLocations:
    """The indices of each axis that hold an element beyond its limit. Axes are in memory order; `named` maps them
    back."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._shape = shape
        self._sets: list[Array | None] = [np.zeros(n, bool) if n <= MAX_AXIS else None for n in shape]
        self._ends: list[tuple[int, int]] = [(n, -1) for n in shape]
        self._full = [False] * len(shape)
        self.mask = np.zeros(shape, bool) if math.prod(shape) <= MAX_MASK else None
        self.count = 0

    def add(self, mask: Array, count: int, block: Block) -> None:
        self.count += count
        axis = len(block.fixed)
        shape = (block.stop - block.start, *self._shape[axis + 1 :])
        mask = mask.reshape(shape)
        if self.mask is not None:
            self.mask[block.where] = mask
        for number, index in enumerate(block.fixed):
            self.mark(number, index, np.ones(1, bool))
        for number in range(len(shape)):
            if number and self._full[axis + number]:
                continue
            others = tuple(other for other in range(len(shape)) if other != number)
            found = np.logical_or.reduce(mask, axis=others) if others else mask
            self.mark(axis + number, block.start if number == 0 else 0, found)

    def mark(self, axis: int, start: int, found: Array) -> None:
        """Note which indices of an axis, from `start` on, hold an element beyond its limit."""
        kept = self._sets[axis]
        if kept is not None:
            kept[start : start + found.size] |= found
            if axis and not self._full[axis]:
                self._full[axis] = bool(kept.all())
        else:
            hits = np.flatnonzero(found)
            if hits.size:
                low, high = self._ends[axis]
                self._ends[axis] = (min(low, start + int(hits[0])), max(high, start + int(hits[-1])))

    def named(self, order: tuple[int, ...] | None, axes: int) -> str:
        """Describe the locations. `order` says which axis of the array each axis of memory is; only the first `axes`
        count."""
        renamed = order or tuple(range(len(self._shape)))
        back = [renamed.index(axis) for axis in range(len(renamed))]
        sets = [self._indices(axis) for axis in back][:axes]
        shape = tuple(self._shape[axis] for axis in back)[:axes]
        if len(back) != axes:  # the count is of parts of complex elements
            return f"within {_box(sets, shape)}" if shape else ""
        return words(sets, shape, self.count, self.mask.transpose(back) if self.mask is not None else None)

    def _indices(self, axis: int) -> range | Array:
        kept = self._sets[axis]
        if kept is None:
            low, high = self._ends[axis]
            return range(low, high + 1)
        found = np.flatnonzero(kept)
        step = int(found[1] - found[0]) if found.size > 1 else 1
        even = range(int(found[0]), int(found[-1]) + 1, step)
        return even if len(even) == found.size and bool((np.diff(found) == step).all()) else found


def words(sets: Sequence[range | Array], shape: tuple[int, ...], count: int, mask: Array | None) -> str:
    """Describe `count` elements whose indices on each axis are `sets`; with exact slices if they are a product of
    those."""
    if not shape:
        return ""
    if count == math.prod(shape):
        return "everywhere"
    if count == 1:
        return f"only at {[int(indices[0]) for indices in sets]}"
    inside = math.prod(len(indices) for indices in sets)
    slices = f"[{', '.join(map(_slice, sets, shape))}]"
    if count == inside and all(isinstance(indices, range) or len(indices) <= 4 for indices in sets):
        said = _axis_words(sets, shape)
        return f"{said}, {slices}" if said else f"exactly {slices}"
    shaped = _corner(mask) if mask is not None else ""
    if shaped:
        return shaped
    box = math.prod(_span(indices) for indices in sets)
    if box == math.prod(shape):
        spread = "nearly everywhere" if count > 0.95 * box else "scattered over the whole array"
        return f"{spread}, {count} of {box} elements"
    return f"within {_box(sets, shape)}, {count} of {box} elements there"


def _box(sets: Sequence[range | Array], shape: tuple[int, ...]) -> str:
    ranges = (range(int(indices[0]), int(indices[-1]) + 1) for indices in sets)
    return f"[{', '.join(map(_slice, ranges, shape))}]"


def _span(indices: range | Array) -> int:
    return int(indices[-1]) - int(indices[0]) + 1


def _slice(indices: range | Array, size: int) -> str:
    if not isinstance(indices, range):
        return "{" + ", ".join(str(int(index)) for index in indices) + "}"
    if len(indices) == 1:
        return str(indices[0]) if indices[0] != size - 1 or size == 1 else "-1"
    start = str(indices.start) if indices.start else ""
    step = f":{indices.step}" if indices.step > 1 else ""
    stop = str(indices[-1] + 1) if indices[-1] + indices.step < size else ""
    return f"{start}:{stop}{step}"


def _axis_words(sets: Sequence[range | Array], shape: tuple[int, ...]) -> str:
    """Describe a set that is limited on one axis only; return "" for any other."""
    limited = [axis for axis, indices in enumerate(sets) if len(indices) < shape[axis]]
    if len(limited) != 1:
        return ""
    axis = limited[0]
    indices, size = sets[axis], shape[axis]
    if not isinstance(indices, range):
        return ""
    one, many, of = _axis_name(axis, len(shape))
    first, last, step = indices[0], indices[-1], indices.step
    if len(indices) == 1:
        at_an_end = first in (0, size - 1)
        return f"only the {'last' if first else 'first'} {one}{of}" if at_an_end else f"only {one} {first}{of}"
    if step > 1:
        every = {2: "second", 3: "third"}.get(step, f"{step}th")
        return f"every {every} {one}{of}" if last + step >= size and first < step else ""
    if last == size - 1:
        return f"{many} {first} and up{of}"
    return f"{many} up to {last}{of}" if first == 0 else f"{many} {first} to {last}{of}"


def _axis_name(axis: int, axes: int) -> tuple[str, str, str]:
    """Return what an index of an axis is called, and several, and what follows their numbers."""
    if axes == 1:
        return "element", "elements", ""
    if axes == 2:
        return ("row", "rows", "") if axis == 0 else ("column", "columns", "")
    return "index", "indices", f" of axis {axis}"


def _corner(mask: Array) -> str:
    """Describe a triangle or diagonal of the last two axes, the same for every index before them, or return ""."""
    if mask.ndim < 2 or mask.shape[-1] != mask.shape[-2] or mask.shape[-1] < 2:
        return ""
    plane = np.ones(mask.shape[-2:], bool)
    diagonal = np.eye(mask.shape[-2], mask.shape[-1], dtype=bool)
    shapes = {
        "the diagonal": diagonal,
        "everything off the diagonal": ~diagonal,
        "the upper triangle above the diagonal": np.triu(plane, 1),
        "the upper triangle with the diagonal": np.triu(plane),
        "the lower triangle below the diagonal": np.tril(plane, -1),
        "the lower triangle with the diagonal": np.tril(plane),
    }
    suffix = " of the last two axes" if mask.ndim > 2 else ""
    for name, shape in shapes.items():
        if bool((mask == shape).all()):
            return f"{name}{suffix}"
    for name, shape in list(shapes.items())[2:]:
        size, count = int(shape.sum()) * (mask.size // plane.size), int(mask.sum())
        if 2 * count > size > 4 and not bool((mask & ~shape).any()):  # fewer could be there by chance
            return f"within {name}{suffix}, {count} of {size} elements there"
    return ""
