"""Compute gaps between the numbers of two blocks: in float32 where that can decide, else in float64, integers or
complex."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from goldsmith.comparison.blocks import Buffers
from goldsmith.comparison.leaves import BFLOAT16, Array, Form

ROW = 8192
"""BLAS uses one thread for at most this many elements, so the result is the same on every machine of a kind."""
_SINGLE = ("float16", "bfloat16", "float32")


class ComputePath:
    """Gaps in float64, which defines the result of every comparison."""

    working: Any = np.dtype(np.float64)
    real: Any = np.dtype(np.float64)
    margin = 0.0
    """How far from a limit float64 has to decide."""

    def __init__(self, actual: Form, gold: Form, buffers: Buffers) -> None:
        self.actual = actual
        self.gold = gold
        self.buffers = buffers
        self.double: ComputePath = self
        self.is_whole = actual.is_exact and gold.is_exact
        self._names = {name: name + self.real.char for name in ("gap", "share")}

    def widen(self, part: Array, form: Form, name: str) -> Array:
        """Return a block as working numbers; a view where it already is."""
        if part.dtype == self.working:
            return part
        wide = self.buffers.take(name + self.working.char, self.working, part.size)
        if form is BFLOAT16:
            bits = wide if self.working.itemsize == 4 else self.buffers.take("bits", np.uint32, part.size)
            bits = bits.view(np.uint32)
            np.left_shift(part, np.uint32(16), out=bits, dtype=np.uint32)
            if self.working.itemsize != 4:
                np.copyto(wide, bits.view(np.float32))
            return wide
        np.copyto(wide, part, casting="unsafe")
        return wide

    def gap(self, one: Array, two: Array, out: Array, raw: tuple[Array, Array]) -> None:
        np.subtract(one, two, out=out)
        np.absolute(out, out=out)

    def real_buffer(self, name: str, size: int) -> Array:
        found = self.buffers.cut.get(self._names[name]) if size == self.buffers.size else None
        return found if found is not None else self.buffers.take(self._names[name], self.real, size)


class SingleRoute(ComputePath):
    """Gaps in float32, for numbers no finer than that. Each step errs by half a unit in the last place, so a share of a
    limit is right to far better than `margin`; only what is within the margin is computed again in float64."""

    working = np.dtype(np.float32)
    real = np.dtype(np.float32)
    margin = 4e-6

    def __init__(self, actual: Form, gold: Form, buffers: Buffers) -> None:
        super().__init__(actual, gold, buffers)
        self.double = ComputePath(actual, gold, buffers)


class IntegerPath(ComputePath):
    """Gaps of integers: those of 64-bit ones are computed before conversion to float64, where neighbours would
    coincide."""

    def gap(self, one: Array, two: Array, out: Array, raw: tuple[Array, Array]) -> None:
        x, y = raw
        if x.dtype.itemsize < 8 and y.dtype.itemsize < 8:
            super().gap(one, two, out, raw)
        elif x.dtype == y.dtype and x.dtype.isnative:
            high = self.buffers.take("high" + x.dtype.char, x.dtype, x.size)
            low = self.buffers.take("low" + x.dtype.char, x.dtype, x.size)
            np.maximum(x, y, out=high)
            np.minimum(x, y, out=low)
            wide = high.view(np.uint64)
            np.subtract(wide, low.view(np.uint64), out=wide)
            np.copyto(out, wide, casting="unsafe")
        else:
            super().gap(one, two, out, raw)
            np.maximum(out, x != y, out=out)


class ComplexRoute(ComputePath):
    """Gaps of complex numbers: the absolute value of their difference."""

    working = np.dtype(np.complex128)

    def gap(self, one: Array, two: Array, out: Array, raw: tuple[Array, Array]) -> None:
        apart = self.buffers.take("apart", np.complex128, one.size)
        np.subtract(one, two, out=apart)
        np.absolute(apart, out=out)


def route_for(one: Form, two: Form, buffers: Buffers, in_single: bool) -> ComputePath:
    if one.kind == "c" or two.kind == "c":
        return ComplexRoute(one, two, buffers)
    if one.is_exact and two.is_exact:
        return IntegerPath(one, two, buffers)
    if in_single and one.name in _SINGLE and two.name in _SINGLE:
        return SingleRoute(one, two, buffers)
    return ComputePath(one, two, buffers)


def dot(one: Array, two: Array) -> float:
    """Return the sum of products, in rows whose sums are added up in float64."""
    if one.dtype.kind == "c":
        one, two = one.view(np.float64), two.view(np.float64)
    size = one.size
    if size <= ROW:
        return float(np.dot(one, two))
    rows = size // ROW
    whole = rows * ROW
    sums = np.matmul(one[:whole].reshape(rows, 1, ROW), two[:whole].reshape(rows, ROW, 1))
    found = float(np.add.reduce(sums.reshape(-1), dtype=np.float64))
    return found if whole == size else found + float(np.dot(one[whole:], two[whole:]))


class SumOfSquares:
    """A sum of squares that neither overflows nor underflows: `total` in units of `unit` squared."""

    __slots__ = ("total", "unit")

    def __init__(self) -> None:
        self.total = 0.0
        self.unit = 1.0

    def add(self, numbers: Array, plain: float | None = None) -> None:
        """Add the squares of `numbers`; `plain` is their sum where it is known already."""
        found = dot(numbers, numbers) if plain is None else plain
        if 1e-20 < found < 1e30:
            self._merge(found, 1.0)
            return
        if numbers.dtype.kind == "c":
            numbers = np.ascontiguousarray(numbers).view(np.float64)  # the absolute value may overflow
        wide = np.absolute(numbers).astype(np.float64)
        largest = float(np.maximum.reduce(wide, initial=0.0))
        if largest == math.inf:
            self._merge(1.0, math.inf)
        elif largest:
            np.divide(wide, largest, out=wide)
            self._merge(dot(wide, wide), largest)

    def _merge(self, found: float, unit: float) -> None:
        if unit == self.unit:
            self.total += found
        elif not self.total:  # nothing is converted: the square of one unit in the other may overflow
            self.total, self.unit = found, unit
        elif unit > self.unit:
            self.total = self.total * (self.unit / unit) ** 2 + found
            self.unit = unit
        else:
            self.total += found * (unit / self.unit) ** 2

    def root(self, count: int) -> float:
        """Return the root of the mean of `count` squares: not 0 unless all are."""
        return max(self.unit * math.sqrt(self.total / count), math.ulp(0.0)) if count and self.total else 0.0

    def over(self, other: SumOfSquares) -> float:
        """Return the root of this sum over that of another; nothing over nothing is 0."""
        if not self.total or self.unit == other.unit == math.inf:
            return math.inf if self.total else 0.0
        return (self.unit / other.unit) * math.sqrt(self.total / other.total) if other.total else math.inf
