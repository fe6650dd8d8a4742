"""Details that are only computed for a leaf that differs: the rtol or atol that alone would pass, cosine, ulps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from goldsmith.comparison.blocks import Block, Reader, blocks_of
from goldsmith.comparison.leaves import Array
from goldsmith.comparison.precision_paths import ComputePath, SumOfSquares, dot

MAX_SETTLED_BLOCKS = 64
"""At most this many blocks are computed again in float64; if more are equally far off, the result is rounded up
instead."""
MARGIN = 4e-7
_SMALLEST_PRODUCT = 1e-280
SMALL = 16 * 1024
ULPS_UP_TO = 1 / 16
"""Ulps describe rounding. They are not counted for large leaves that differ by more than this, relative to gold."""


class Details:
    """The details of one leaf, accumulated block by block from the first mismatch on; earlier blocks are read at the
    end."""

    def __init__(self, route: ComputePath) -> None:
        self._route = route
        self._seen: set[int] = set()
        self._far: list[tuple[tuple[float, float], Block]] = []
        self._products = 0.0
        self._ours = SumOfSquares()
        self._has_ulps = route.actual is route.gold and route.gold.kind == "f" and bool(route.gold.significand)
        self.ulps: int | None = 0 if self._has_ulps else None
        self.rtol_alone = math.inf
        self.atol_alone = math.inf
        self.cosine: float | None = None

    def add(
        self,
        raw: tuple[Array, Array],
        one: Array,
        two: Array,
        gaps: tuple[Array, float],
        block: Block,
        route: ComputePath,
    ) -> None:
        """Add one block. `one` and `two` hold zeros where either is not finite; `gaps` are all gaps, and the
        largest."""
        gap, largest = gaps
        self._seen.add(block.offset)
        ratios = route.real_buffer("share", gap.size)
        np.absolute(two, out=ratios)
        np.divide(gap, ratios, out=ratios)
        farthest = float(np.fmax.reduce(ratios, initial=0.0)), largest
        self._far.append((farthest, block))
        self._products += dot(one, two)
        self._ours.add(one)
        if self._has_ulps:
            self._count_ulps(*raw, route, farthest[0])

    def finish(self, readers: tuple[Reader, Reader], shape: tuple[int, ...], golds: SumOfSquares, settle: bool) -> None:
        """Add the blocks before the first mismatch; then, with `settle`, compute the tolerances that would pass."""
        for block in blocks_of(shape):
            if block.offset not in self._seen:
                raw = readers[0].read(block), readers[1].read(block)
                route = self._route
                one, two, gap = gaps_of(raw, route)
                if route.margin and not np.isfinite(np.maximum.reduce(gap)):
                    route = route.double
                    one, two, gap = gaps_of(raw, route)
                self.add(raw, one, two, (gap, float(np.maximum.reduce(gap))), block, route)
        self.cosine = cosine(self._products, self._ours.root(1) * golds.root(1))
        if settle:
            self.atol_alone = self._settle(readers, 1)
            self.rtol_alone = self._settle(readers, 0)

    def _settle(self, readers: tuple[Reader, Reader], which: int) -> float:
        largest = max(farthest[which] for farthest, _ in self._far)
        blocks = [block for farthest, block in self._far if farthest[which] >= largest * (1 - MARGIN)]
        if len(blocks) > MAX_SETTLED_BLOCKS:
            return largest * (1 + MARGIN)
        found = 0.0
        for block in blocks:
            _, two, gap = gaps_of((readers[0].read(block), readers[1].read(block)), self._route.double)
            found = max(found, float(gap.max()) if which else smallest_rtol(gap, np.absolute(two)))
            if found == math.inf:
                break
        return found

    def _count_ulps(self, x: Array, y: Array, route: ComputePath, ratio: float) -> None:
        if x.size > SMALL and ratio > ULPS_UP_TO:
            self._has_ulps = False
            self.ulps = None
            return
        width = x.dtype.itemsize
        signed, unsigned = np.dtype(f"i{width}"), np.dtype(f"u{width}")
        if not (x.dtype.isnative and y.dtype.isnative):
            x, y = x.astype(x.dtype.newbyteorder("=")), y.astype(y.dtype.newbyteorder("="))
        ours, theirs = x.view(signed), y.view(signed)
        finite = None
        if not route.margin and self._route.gold.name == "bfloat16":
            finite = ((x & 0x7F80) != 0x7F80) & ((y & 0x7F80) != 0x7F80)
        elif not route.margin:
            finite = np.isfinite(x) & np.isfinite(y)
        if finite is not None and not finite.all():
            ours, theirs = ours[finite], theirs[finite]
        if not ours.size:
            return
        take = route.buffers.take
        one, two = (take(f"ulps-{name}{width}", signed, ours.size) for name in "ab")
        rest = take(f"ulps-c{width}", signed, ours.size)
        for numbers, out in ((ours, one), (theirs, two)):
            # The bits of negative floats count downwards; flipped, neighbouring floats differ by one.
            np.right_shift(numbers, width * 8 - 1, out=out)
            np.bitwise_and(out, np.iinfo(signed).max, out=out)
            np.bitwise_xor(out, numbers, out=out)
        np.maximum(one, two, out=rest)
        np.minimum(one, two, out=one)
        apart = rest.view(unsigned)
        np.subtract(apart, one.view(unsigned), out=apart)
        place = int(apart.argmax())
        crossed = (int(ours[place]) < 0) != (int(theirs[place]) < 0)  # +0 and -0 are the same number
        assert self.ulps is not None
        self.ulps = max(self.ulps, int(apart[place]) - crossed)


def cosine(products: float, size: float) -> float | None:
    """Return the cosine of two tensors by their sum of products and the product of their sizes; None where these have
    lost digits, as very small and very large numbers do."""
    is_usual = _SMALLEST_PRODUCT < size < math.inf and math.isfinite(products)
    return max(-1.0, min(1.0, products / size)) if is_usual else None


def gaps_of(raw: tuple[Array, Array], route: ComputePath) -> tuple[Array, Array, Array]:
    """Return both blocks as working numbers, zero where either is not finite, and their gaps."""
    one, two = route.widen(raw[0], route.actual, "a"), route.widen(raw[1], route.gold, "b")
    gap = route.real_buffer("gap", one.size)
    route.gap(one, two, gap, raw)
    if not route.margin and not np.isfinite(np.maximum.reduce(gap)):
        aside = ~(np.isfinite(one) & np.isfinite(two))
        if aside.any():
            one, two = np.where(aside, 0, one), np.where(aside, 0, two)
            route.gap(one, two, gap, (one, two))
    return one, two, gap


def smallest_rtol(gap: Array, magnitude: Array) -> float:
    """Return the smallest number that, times each magnitude in float64, reaches its gap."""
    found: Any = gap / magnitude
    largest = float(np.fmax.reduce(found, initial=0.0))
    if largest in (0.0, math.inf):
        return largest
    near = np.flatnonzero(found >= largest * (1 - 1e-12))
    found, gap, magnitude = found[near], gap[near], magnitude[near]
    for _ in range(3):
        found = np.where(found * magnitude < gap, np.nextafter(found, math.inf), found)
    for _ in range(3):
        below = np.nextafter(found, 0)
        found = np.where(below * magnitude >= gap, below, found)
    return float(found.max())
