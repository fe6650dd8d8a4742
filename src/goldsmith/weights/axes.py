"""How the same numbers lie in two tensors: axes in another order, split, merged or reversed, said as a pattern.

`o i h w -> h w i o` are the weights of a convolution here and there, `(h d) e -> e h d` a matrix of rows and the same
by heads, `i o h w -> -h -w i o` one whose kernel is reversed along two axes. Only shapes and numbers are needed: arrays
of any library have `reshape` and `swapaxes`.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Shape = tuple[int, ...]
UNBUILT: Shape = (-1,)
"""Shape of a lazy weight, which takes the shape of the first value put into it."""
_ONE = "1"
_ITEM = r"(?:-?[a-z][a-z0-9_]*|1)(?![a-z0-9_])"
_SIDE = re.compile(rf"\s*(?:(?:{_ITEM}|\((?:\s*{_ITEM})*\s*\))\s*)*")
_HOW = 'axes are said as "o i h w -> h w i o": every name once on each side, (h d) for two in one, -h for one reversed'


@dataclass(frozen=True)
class Arrangement:
    """The way from one shape to another: axes are split, some reversed, put in another order, and merged."""

    split: Shape
    order: tuple[int, ...]
    reversed: tuple[int, ...]
    shapes: tuple[Shape, Shape]

    def carry(self, array: Any) -> Any:
        """Return the numbers in the second shape."""
        return _permuted(self._reverse(array.reshape(self.split)), self.order).reshape(self.shapes[1])

    def bring_back(self, array: Any) -> Any:
        """Return the numbers in the first shape."""
        back = tuple(self.order.index(axis) for axis in range(len(self.order)))
        whole = array.reshape(tuple(self.split[axis] for axis in self.order))
        return self._reverse(_permuted(whole, back)).reshape(self.shapes[0])

    def _reverse(self, array: Any) -> Any:
        import numpy as np

        for axis in self.reversed:
            array = array[(slice(None),) * axis + (np.arange(self.split[axis])[::-1].copy(),)]
        return array


@dataclass(frozen=True)
class Axes:
    """A pattern: for each axis of both sides, the names of those that are merged in it."""

    one: tuple[tuple[str, ...], ...]
    two: tuple[tuple[str, ...], ...]
    reversed: frozenset[str]

    def between(self, one: Shape | None, two: Shape | None) -> Arrangement | None:
        """Return the way from one shape to the other, of which one may be unknown; None if it does not lead there."""
        sizes = self._sizes(one, two)
        if sizes is None:
            return None
        names = [[name for axis in side for name in axis if name != _ONE] for side in (self.one, self.two)]
        shapes = [tuple(math.prod(sizes[name] for name in axis) for axis in side) for side in (self.one, self.two)]
        return Arrangement(
            split=tuple(sizes[name] for name in names[0]),
            order=tuple(names[0].index(name) for name in names[1]),
            reversed=tuple(names[0].index(name) for name in names[0] if name in self.reversed),
            shapes=(shapes[0], shapes[1]),
        )

    def _sizes(self, one: Shape | None, two: Shape | None) -> dict[str, int] | None:
        """Return the size of every name; None if shapes contradict that, or leave one open."""
        sizes = {_ONE: 1}
        known = []
        for side, shape in ((self.one, one), (self.two, two)):
            if shape is not None:
                if len(side) != len(shape) or shape == UNBUILT:
                    return None
                known += list(zip(side, shape, strict=True))
        for _ in known:
            for axis, size in known:
                open_ = [name for name in axis if name not in sizes]
                rest = math.prod(sizes[name] for name in axis if name in sizes)
                if len(open_) == 1 and rest and size % rest == 0:
                    sizes[open_[0]] = size // rest
        every = {name for axis in (*self.one, *self.two) for name in axis}
        right = every <= sizes.keys() and all(math.prod(sizes[name] for name in axis) == size for axis, size in known)
        return sizes if right else None


@functools.lru_cache(maxsize=1024)
def read_axes(text: str) -> Axes:
    """Read a pattern. Raises ValueError, whose message says how patterns are written."""
    sides = text.split("->")
    if len(sides) != 2 or not all(_SIDE.fullmatch(side) for side in sides):
        raise ValueError(f"{text!r}: {_HOW}")
    read = [[re.findall(_ITEM, item) for item in re.findall(rf"\([^)]*\)|{_ITEM}", side)] for side in sides]
    names = [[name.lstrip("-") for axis in side for name in axis if name != _ONE] for side in read]
    marked = [{name[1:] for axis in side for name in axis if name[0] == "-"} for side in read]
    if sorted(names[0]) != sorted(names[1]) or len(set(names[0])) != len(names[0]):
        raise ValueError(f"{text!r}: {_HOW}")
    one, two = (tuple(tuple(name.lstrip("-") for name in axis) for axis in side) for side in read)
    return Axes(one, two, frozenset(marked[0] ^ marked[1]))


def inverse(axes: str) -> str:
    """Return the pattern that leads back."""
    one, two = axes.split("->")
    return f"{two.strip()} -> {one.strip()}"


def arrangement(axes: str | Sequence[int], one: Shape, two: Shape) -> Arrangement | None:
    """Return the way between two shapes: by a pattern; by the order in which the axes of the shape with more of them
    are read; or, without either, with the numbers in the same order. None if there is none."""
    if isinstance(axes, str) and axes:
        return read_axes(axes).between(one, two)
    if not axes:
        return Arrangement(one, tuple(range(len(one))), (), (one, two)) if can_reshape(one, two) else None
    order = tuple(int(axis) for axis in axes)
    long, short = (one, two) if len(one) >= len(two) else (two, one)
    if len(long) != len(order) or not can_reshape(tuple(long[axis] for axis in order), short):
        return None
    if long is one:
        return Arrangement(one, order, (), (one, two))
    back = tuple(order.index(axis) for axis in range(len(order)))
    return Arrangement(tuple(two[axis] for axis in order), back, (), (one, two))


def can_reshape(one: Shape, two: Shape) -> bool:
    """Return whether merging or splitting axes, or adding axes of size one, turns one shape into the other."""
    short, long = sorted(([size for size in shape if size != 1] for shape in (one, two)), key=len)
    if UNBUILT in (one, two) or math.prod(short) != math.prod(long) or 0 in long:
        return False
    sizes = iter(long)
    for wanted in short:
        merged = next(sizes)
        while merged < wanted:
            merged *= next(sizes, wanted + 1)
        if merged != wanted:
            return False
    return True


def swap_last_axes(shape: Shape) -> Shape:
    return (*shape[:-2], shape[-1], shape[-2]) if len(shape) >= 2 else shape


def transposed(array: Any) -> Any:
    """Return an array with its last two axes exchanged; one that has fewer as it is."""
    return array.swapaxes(-1, -2) if len(array.shape) >= 2 else array


def _permuted(array: Any, order: Sequence[int]) -> Any:
    """Return an array of any library with its axes in another order."""
    now = list(range(len(order)))
    for place, axis in enumerate(order):
        at = now.index(axis)
        if at != place:
            array = array.swapaxes(place, at)
            now[place], now[at] = now[at], now[place]
    return array


# --- what may lie behind two shapes -----------------------------------------------------------------------------------

PLAIN, TURNED, RESHAPED = "plain", "turned", "reshaped"
CHANNELS, BACKWARDS, HEADS, PATCHES = "channels last", "channels last, reversed", "heads apart", "patches"


@dataclass(frozen=True)
class Fit:
    """A way in which one weight may be stored as another; `axes` is its pattern, where it needs one."""

    kind: str
    axes: str = ""

    @property
    def words(self) -> str:
        return ", turned" if self.kind == TURNED else f", axes {self.axes}" if self.axes else ""


_GRIDS = ("w", "h w", "d h w")


def fits_between(one: Shape, two: Shape, *, kernel: int | None = None) -> list[Fit]:
    """List the ways in which weights of these shapes may hold the same numbers, the plainest first. One of them, 0
    or 1, may be known to be a `kernel`, whose outputs are its last axis."""
    found = [Fit(PLAIN)] if one == two else []
    if len(one) == 2 and one == swap_last_axes(two):
        found.append(Fit(TURNED))
    ways: dict[Arrangement, Fit] = {}
    for rows, other, back in ((one, two, False), (two, one, True)):
        if kernel == int(back):
            continue
        for kind, axes in _patterns(len(rows), len(other)):
            fit = Fit(kind, inverse(axes) if back else axes)
            way = read_axes(fit.axes).between(one, two)
            if way is not None:
                ways.setdefault(way, fit)
    found += ways.values()
    return [*found, Fit(RESHAPED)] if one != two and can_reshape(one, two) else found


@functools.cache
def _patterns(rows: int, other: int) -> tuple[tuple[str, str], ...]:
    """Return patterns for two numbers of axes, from a tensor whose first axis are outputs, its second one inputs."""
    grid = _GRIDS[rows - 3] if 3 <= rows <= 5 else ""
    back = " ".join(f"-{name}" for name in grid.split())
    if rows == other and grid:
        return (
            (CHANNELS, f"o i {grid} -> {grid} i o"),
            (BACKWARDS, f"i o {grid} -> {back} i o"),
            (CHANNELS, f"o i {grid} -> o {grid} i"),
            (BACKWARDS, f"i o {grid} -> o i {back}"),
        )
    if grid and other == 2:
        return ((PATCHES, f"o i {grid} -> ({grid} i) o"), (PATCHES, f"o i {grid} -> (i {grid}) o"))
    if rows == 2 and other >= 3:
        inner = " ".join("abcd"[: other - 1])
        found = [(HEADS, f"({inner}) e -> e {inner}"), (HEADS, f"e ({inner}) -> {inner} e")]
        found += [(HEADS, "(h d) e -> h e d")] if other == 3 else []
        if 3 <= other <= 5:
            found.append((PATCHES, f"o (i {_GRIDS[other - 3]}) -> {_GRIDS[other - 3]} i o"))
        return tuple(found)
    return ()
