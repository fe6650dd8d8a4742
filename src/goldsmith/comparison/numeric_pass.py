"""Compare two arrays of one shape block by block, in constant memory, and accumulate counts, gaps and locations."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from goldsmith.comparison import blocks
from goldsmith.comparison.blocks import Block, Buffers, Reader, blocks_of
from goldsmith.comparison.details import Details
from goldsmith.comparison.leaves import Array
from goldsmith.comparison.limits import Limit
from goldsmith.comparison.mismatch_location import MismatchLocations
from goldsmith.comparison.precision_paths import ROW, ComputePath, SumOfSquares, dot
from goldsmith.gold.tolerances import SMALLEST_LIMIT, ratios, scalar_ratio, sizes_of

_SMALL_BYTES = 64 * 1024
_PROBE = 64
_UNSURE = 1e-4
_USUAL = (1e-20, 1e30)
_LARGEST = sys.float_info.max
"""The magnitude of a complex number may be infinite though both of its parts are finite."""


class Pass:
    """The comparison of one leaf. Class attributes are initial values, so that a small leaf stays cheap."""

    identical = True
    mismatched = 0
    counted = 0
    noisy_counted = 0
    share = 0.0
    largest = 0.0
    spot = -1
    bad_spot = -1
    nan_actual = 0
    nan_gold = 0
    inf_actual = 0
    inf_gold = 0
    bad_nan = False
    bad_inf = False
    places: MismatchLocations | None = None
    details: Details | None = None
    noisy: Reader | None = None
    _aside: Array | None = None
    relative: SumOfSquares | None = None
    skipped: list[Block] | None = None
    values: tuple[Any, Any] | None = None

    def __init__(self, route: ComputePath, limit: Limit, equal_nan: bool) -> None:
        self.limit = limit
        self.equal_nan = equal_nan
        self.route = route
        self.gaps = SumOfSquares()
        self.golds = SumOfSquares()
        if limit.l2 is not None:
            self.relative = SumOfSquares()

    def run(self, one: Array, two: Array, noisy: Array | None) -> None:
        """Compare all blocks of two arrays that have the same shape, of at least one axis."""
        self.shape = one.shape
        self._comparable_bits = one.dtype == two.dtype and self.route.actual is self.route.gold
        size = one.size
        flat = one.flags.c_contiguous and two.flags.c_contiguous
        if flat and noisy is None and size <= blocks.CHUNK:
            x, y = one.reshape(-1), two.reshape(-1)
            if size <= ROW and self._settle_small(x, y):
                return
            self._step(x, y, Block(0, size, (), 0, self.shape[0]))
            if self.agrees:
                return
            self._readers = self._read(one, two)
        else:
            self._readers = self._read(one, two)
            self.noisy = Reader(noisy, "noisy", self.route.buffers) if noisy is not None else None
            ours, theirs = self._readers
            for block in blocks_of(self.shape):
                self._step(ours.read(block), theirs.read(block), block)
        self._finish()

    def _settle_small(self, x: Array, y: Array) -> bool:
        """Compare a few float32 numbers within elementwise limits by a fast path, since there may be thousands of such
        leaves. Return False to leave the leaf to the general path."""
        limit, route = self.limit, self.route
        if not route.margin or limit.in_units or not limit.atol or x.dtype != route.working or y.dtype != route.working:
            return False
        if x.tobytes() == y.tobytes():
            golds = float(np.dot(y, y))
            if not _USUAL[0] < golds < _USUAL[1]:
                return False
            self.counted, self.golds.total = y.size, golds
            return True
        gap, shares = route.real_buffer("gap", x.size), route.real_buffer("share", x.size)
        np.subtract(x, y, out=gap)
        np.absolute(gap, out=gap)
        np.absolute(y, out=shares)
        np.multiply(shares, limit.single_rtol, out=shares)
        np.add(shares, limit.single_atol, out=shares)
        np.divide(gap, shares, out=shares)
        farthest, fullest = int(gap.argmax()), int(shares.argmax())
        gaps, golds = float(np.dot(gap, gap)), float(np.dot(y, y))
        usual = _USUAL[0] < gaps < _USUAL[1] and _USUAL[0] < golds < _USUAL[1]
        if not usual or not shares.item(fullest) <= 1 - route.margin:
            return False
        ours, theirs = self.values = x.item(farthest), y.item(farthest)
        self.identical, self.counted = False, y.size
        self.gaps.total, self.golds.total = gaps, golds
        self.largest, self.spot = abs(ours - theirs), farthest
        self.share = limit.share_of(abs(x.item(fullest) - y.item(fullest)), abs(y.item(fullest)))
        return True

    def _read(self, one: Array, two: Array) -> tuple[Reader, Reader]:
        return Reader(one, "one", self.route.buffers), Reader(two, "two", self.route.buffers)

    def _finish(self) -> None:
        if not self.identical:
            for block in self.skipped or ():
                self.golds.add(self.route.widen(self._readers[1].read(block), self.route.gold, "b"))
        if not self.agrees:
            if self.details is None:
                self.details = Details(self.route)
            self.details.finish(self._readers, self.shape, self.golds, settle=not (self.bad_nan or self.bad_inf))
        for reader in self._readers:
            reader.close()

    # --- one block

    def _step(self, x: Array, y: Array, block: Block) -> None:
        if self._comparable_bits and _same_bits(x, y, self.route.buffers):
            if self.route.is_whole:
                if self.skipped is None:
                    self.skipped = []
                self.skipped.append(block)
                self.counted += block.size
                self._count_noisy(block)
                return
            wide = self.route.widen(y, self.route.gold, "b")
            found = dot(wide, wide)
            if found - found == 0:  # finite
                self.golds.add(wide, found)
                self.counted += block.size
                self._count_noisy(block)
                return
        else:
            self.identical = False
        self._measure(x, y, block, self.route)

    def _count_noisy(self, block: Block) -> None:
        if self.noisy is not None:
            self.noisy_counted += int(np.count_nonzero(self.noisy.read(block)))

    def _measure(self, x: Array, y: Array, block: Block, route: ComputePath) -> None:
        size = block.size
        one, two = route.widen(x, route.actual, "a"), route.widen(y, route.gold, "b")
        gap = route.real_buffer("gap", size)
        route.gap(one, two, gap, (x, y))
        place = int(gap.argmax())
        largest = gap.item(place)
        bad, self._aside = None, None
        if route.margin and (largest - largest != 0 or (self.limit.in_units and self._is_dwarfed(two, route))):
            self._measure(x, y, block, route.double)
            return
        if largest - largest != 0:  # NaN or infinite
            one, two, bad, aside = self._set_aside(one, two, block)
            if aside:
                size -= aside
                route.gap(one, two, gap, (one, two))
                place = int(gap.argmax())
                largest = gap.item(place)
        self.counted += size
        if largest > self.largest or self.spot < 0:
            self.spot = block.offset + place
            if route.is_whole:
                one_there, two_there = int(x.item(place)), int(y.item(place))  # exact for integers of any size
            else:
                one_there, two_there = one.item(place), two.item(place)
            self.largest, self.values = magnitude(one_there - two_there), (one_there, two_there)
        if largest:
            self.gaps.add(gap)
        self.golds.add(two)
        mask, count = self._judge(one, two, gap, largest, block, route)
        if bad is not None:
            mask = bad if mask is None else np.logical_or(mask, bad, out=bad)
            count = int(np.count_nonzero(mask))
        if count:
            assert mask is not None
            self.mismatched += count
            if self.places is None:
                self.places = MismatchLocations(self.shape)
                self.details = Details(self.route)
            self.places.add(mask, count, block)
        if self.details is not None:
            self.details.add((x, y), one, two, (gap, largest), block, route)

    def _set_aside(self, one: Array, two: Array, block: Block) -> tuple[Array, Array, Array | None, int]:
        """Return the blocks with zeros where either is not finite, a mask of those that do not agree, and how many were
        not finite."""
        finite_one, finite_two = np.isfinite(one), np.isfinite(two)
        nan_one, nan_two = np.isnan(one), np.isnan(two)
        aside = ~(finite_one & finite_two)
        count = int(np.count_nonzero(aside))
        if not count:
            return one, two, None, 0
        nans = int(np.count_nonzero(nan_one)), int(np.count_nonzero(nan_two))
        self.nan_actual += nans[0]
        self.nan_gold += nans[1]
        self.inf_actual += one.size - int(np.count_nonzero(finite_one)) - nans[0]
        self.inf_gold += two.size - int(np.count_nonzero(finite_two)) - nans[1]
        agrees = one == two
        if self.equal_nan:
            agrees |= nan_one & nan_two
        bad = aside & ~agrees
        self._aside = aside
        if bad.any():
            of_nan = bad & (nan_one | nan_two)
            graver = bool(of_nan.any())
            if self.bad_spot < 0 or (graver and not self.bad_nan):
                self.bad_spot = block.offset + int((of_nan if graver else bad).argmax())
            self.bad_nan |= graver
            self.bad_inf |= bool((bad & ~of_nan).any())
        return np.where(aside, 0, one), np.where(aside, 0, two), bad, count

    # --- against the limits

    def _judge(
        self, one: Array, two: Array, gap: Array, largest: float, block: Block, route: ComputePath
    ) -> tuple[Array | None, int]:
        """Return which elements are beyond their own limit, and how many; keep the largest share."""
        limit = self.limit
        if self.noisy is not None or (limit.in_units and (limit.rtol is not None or self._is_dwarfed(two, route))):
            return self._judge_slowly(gap, two, block)
        if self.relative is not None and largest:
            with np.errstate(over="ignore"):
                self.relative.add(gap if limit.scale == 1 else gap / gap.dtype.type(limit.scale))
        if not largest:
            return None, 0
        if limit.max is not None:
            top = scalar_ratio(largest / limit.scale, limit.max)
            if top <= 1 - route.margin:
                self.share = max(self.share, scalar_ratio(self.largest / limit.scale, limit.max))
                return None, 0
            shares = route.real_buffer("share", gap.size)
            with np.errstate(over="ignore", divide="ignore"):
                np.divide(gap, route.real.type(limit.scale), out=shares)
                np.divide(shares, route.real.type(limit.max), out=shares)
            return self._beyond(gap, one, two, route, shares, int(gap.argmax()))
        if limit.rtol is None:
            return None, 0
        if limit.rtol == 0 == limit.atol:
            self.share = math.inf
            mask = route.buffers.take("mask", bool, gap.size)
            np.greater(gap, 0, out=mask)
            return mask, int(np.count_nonzero(mask))
        if largest <= self.share * limit.atol and self.share < 1 - route.margin:
            return None, 0  # no element here can use up more than an earlier one did
        if limit.atol < SMALLEST_LIMIT:
            return self._judge_slowly(gap, two, block)
        shares = route.real_buffer("share", gap.size)
        np.absolute(two, out=shares)
        if two.dtype.kind == "c":
            np.minimum(shares, _LARGEST, out=shares)
        np.multiply(shares, limit.single_rtol if route.margin else limit.rtol, out=shares)
        np.add(shares, limit.single_atol if route.margin else limit.atol, out=shares)
        np.divide(gap, shares, out=shares)
        place = int(shares.argmax())
        top = shares.item(place)
        if not top <= 1 - route.margin:
            return self._beyond(gap, one, two, route, shares, place)
        if top > self.share:
            self._keep_share(place, gap, one, two, route)
        return None, 0

    def _keep_share(self, place: int, gap: Array, one: Array, two: Array, route: ComputePath) -> None:
        ours, theirs = one.item(place), two.item(place)
        found = self.limit.share_of(
            magnitude(ours - theirs) if route.margin else gap.item(place), min(magnitude(theirs), _LARGEST)
        )
        self.share = max(self.share, found)

    def _is_dwarfed(self, two: Array, route: ComputePath) -> bool:
        magnitude = route.real_buffer("share", two.size)
        np.absolute(two, out=magnitude)
        return self.limit.is_outlier(float(np.maximum.reduce(magnitude)), route.margin)

    def _beyond(
        self, gap: Array, one: Array, two: Array, route: ComputePath, shares: Array, place: int
    ) -> tuple[Array | None, int]:
        """Count exactly: elements within the margin of their limit are computed again in float64."""
        mask = route.buffers.take("mask", bool, gap.size)
        self._keep_share(place, gap, one, two, route)
        if not route.margin:
            np.less_equal(shares, 1, out=mask)
            np.logical_not(mask, out=mask)  # negated, so that NaN counts
            count = int(np.count_nonzero(mask))
            return (mask, count) if count else (None, 0)
        near = route.buffers.take("near", bool, gap.size)
        np.greater(shares, route.real.type(1 - route.margin), out=near)
        np.greater(shares, route.real.type(1 + route.margin), out=mask)
        count = int(np.count_nonzero(mask))
        if count != int(np.count_nonzero(near)):
            unsure = np.flatnonzero(near & ~mask)
            ours, theirs = one[unsure].astype(np.float64), two[unsure].astype(np.float64)
            found = self.limit.shares(np.abs(ours - theirs), np.abs(theirs))
            mask[unsure] = found > 1
            self.share = max(self.share, float(found.max()))
            count += int(np.count_nonzero(found > 1))
        return (mask, count) if count else (None, 0)

    def _judge_slowly(self, gap: Array, two: Array, block: Block) -> tuple[Array | None, int]:
        """Judge in float64: with noisy elements, elements that dwarf the tensor, or several limits at once."""
        limit = self.limit
        gaps, golds = gap.copy(), np.minimum(np.abs(two), _LARGEST)
        shares = limit.shares(gaps, golds)
        if self.noisy is not None:
            noisy = self.noisy.read(block)
            if self._aside is not None:
                noisy = noisy & ~self._aside  # elements that are not finite were counted already
            self.noisy_counted += int(np.count_nonzero(noisy))
            shares[noisy] = ratios(gaps[noisy], limit.noisy_limit)
            gaps[noisy] = 0.0
        if self.relative is not None:
            with np.errstate(over="ignore"):
                self.relative.add(gaps / sizes_of(golds, limit.scale))
        self.share = max(self.share, float(shares.max()))
        mask = shares > 1
        return mask, int(np.count_nonzero(mask))

    # --- results

    @property
    def whole_share(self) -> float:
        """Return the used share of the limit on the tensor as a whole."""
        if self.relative is None or self.limit.l2 is None:
            return 0.0
        return scalar_ratio(self.relative.root(self.counted - self.noisy_counted), self.limit.l2)

    @property
    def unsure(self) -> bool:
        """Say whether float32 rounding may have decided the comparison of the tensor as a whole."""
        return self.relative is not None and self.route.margin > 0 and abs(self.whole_share - 1) < _UNSURE

    @property
    def agrees(self) -> bool:
        return not self.mismatched and self.whole_share <= 1


def magnitude(value: Any) -> Any:
    """Return `abs(value)`, also for a finite complex number so large that `abs` raises."""
    return math.hypot(value.real, value.imag) if isinstance(value, complex) else abs(value)


def _same_bits(x: Array, y: Array, buffers: Buffers) -> bool:
    if x.nbytes <= _SMALL_BYTES:
        return x.tobytes() == y.tobytes()
    if x[:_PROBE].tobytes() != y[:_PROBE].tobytes():
        return False
    width = min(x.dtype.itemsize, 8)
    x, y = x.view(f"u{width}"), y.view(f"u{width}")
    same = buffers.take("same", bool, x.size)
    np.equal(x, y, out=same)
    return bool(np.logical_and.reduce(same))
