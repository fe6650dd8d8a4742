"""Reduce two flat tensors of one size, on the device that they are on, to a few numbers for each row of elements.

Everything is computed in float64, as a comparison is defined. On CUDA a Triton kernel reads both tensors once
(`device_kernels.py`). Where Triton is missing or has no such dtype, torch's operations do the same in several passes.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch

from goldsmith.comparison.limits import Limit
from goldsmith.gold.tolerances import DWARFS

ROW = 8192
"""Elements that one row of results is about."""
_CHUNK_ROWS = 2**11
"""Rows that torch's operations work on at a time, so that what they compute in between stays small."""
SUMMARY = (
    "differing", "mismatched", "share", "largest", "gaps", "golds", "relative",
    "nan_actual", "nan_gold", "inf_actual", "inf_gold", "aside", "bad_nan", "bad_inf",
)  # fmt: skip
"""Of each row: elements with other bits, and elements beyond their limit; the largest share of a limit, and the largest
gap; sums of squares of gaps, of gold, and of gaps in units of the tensor's size; elements that are NaN, infinite, and
not finite on either side; and those of them that do not agree. Gaps, sums and shares are over finite elements."""
DETAILS = ("product", "actuals", "ratio", "ulps")
"""Of each row: the sum of products, the sum of squares of actual, the largest gap relative to gold, and the largest gap
in units in the last place."""


@dataclass(frozen=True)
class Criteria:
    """What elements are held to: `limit`, after gold was multiplied by `factor` and shifted by `offset`."""

    limit: Limit
    equal_nan: bool = False
    factor: float = 1.0
    offset: float = 0.0

    @property
    def has_elementwise(self) -> bool:
        return self.limit.rtol is not None

    @property
    def parameters(self) -> list[float]:
        """List the numbers that a kernel reads, in its order."""
        limit = self.limit
        largest = math.inf if limit.max is None else limit.max
        scaled = largest * limit.scale
        return [
            limit.rtol or 0.0,
            limit.atol,
            largest,
            scaled,
            limit.scale,
            DWARFS * limit.scale,
            self.factor,
            self.offset,
        ]


class Rows:
    """Results by name, one number a row, as float64 tensors on the device."""

    def __init__(self, names: tuple[str, ...], table: Any) -> None:
        self._names = names
        self._table = table

    def __getitem__(self, name: str) -> Any:
        return self._table[self._names.index(name)]

    @functools.cached_property
    def reduced(self) -> Any:
        """Return the sum of each result, and the largest, as a tensor of two rows that is still on the device."""
        return torch.stack([self._table.sum(1), self._table.amax(1)])

    @functools.cached_property
    def totals(self) -> dict[str, float]:
        """Return the sum of each result, and of shares, gaps, ratios and ulps the largest, in one copy to the host."""
        return totals_of(self._names, self.reduced.tolist())


def totals_of(names: tuple[str, ...], reduced: Sequence[Sequence[float]]) -> dict[str, float]:
    """Return what `Rows.reduced` says by name."""
    sums, largest = reduced
    return {name: largest[number] if name in _LARGEST else sums[number] for number, name in enumerate(names)}


def in_range(one: Any, two: Any) -> tuple[Any, Any]:
    """Divide float64 numbers by the largest finite one, so that their squares are float64, too; nothing waits."""
    if not {torch.float64, torch.complex128} & {one.dtype, two.dtype}:
        return one, two
    sizes = (torch.where(part.isfinite(), part, 0).abs().max().double() for part in (one, two))
    unit = torch.stack(list(sizes)).max().clamp(max=torch.finfo(torch.float64).max)
    unit = torch.where(unit > 0, unit, torch.ones_like(unit))
    return one / unit, two / unit


def on_host(tables: Sequence[Any]) -> list[Any]:
    """Copy results of one shape to the host at once."""
    found: list[Any] = torch.stack(list(tables)).tolist() if tables else []
    return found


_log = logging.getLogger(__name__)
_kernels_failed = False
_LARGEST = ("share", "largest", "ratio", "ulps")


def summarise(one: Any, two: Any, criteria: Criteria, *, waits: bool = True) -> Rows:
    """Return the `SUMMARY` of two contiguous tensors of one axis and one size.

    A second pass says more of elements that are not finite, if there are any; unless `waits`, they are only counted in
    `aside`, and nothing here waits for the device.
    """
    kernels = _kernels(one, two)
    if kernels is not None:
        with _falling_back():
            rows = Rows(SUMMARY, kernels.summarise(one, two, criteria, counts_special=False))
            if waits and rows.totals["aside"]:
                rows = Rows(SUMMARY, kernels.summarise(one, two, criteria, counts_special=True))
            return rows
    found = [_summary(_Chunk(x, y, criteria, missing)) for x, y, missing in _chunks(one, two)]
    return Rows(SUMMARY, torch.cat(found, dim=1))


def detail(one: Any, two: Any, criteria: Criteria) -> tuple[Rows, Any]:
    """Return the `DETAILS` of two tensors, and a mask of the elements that are beyond their limit or not finite."""
    kernels = _kernels(one, two)
    if kernels is not None:
        with _falling_back():
            table, mask = kernels.detail(one, two, criteria)
            return Rows(DETAILS, table), mask
    tables, masks = [], []
    for x, y, missing in _chunks(one, two):
        chunk = _Chunk(x, y, criteria, missing)
        tables.append(_details(chunk))
        masks.append(chunk.mismatched.reshape(-1))
    return Rows(DETAILS, torch.cat(tables, dim=1)), torch.cat(masks)[: one.numel()]


def _kernels(one: Any, two: Any) -> ModuleType | None:
    """Return the module with the kernels for these tensors, if there are any."""
    if _kernels_failed or one.device.type != "cuda" or one.is_complex() or two.is_complex():
        return None
    with _falling_back():
        from goldsmith.frameworks.torch import device_kernels

        return device_kernels
    return None


@contextlib.contextmanager
def _falling_back() -> Iterator[None]:
    """Do without kernels from now on if one fails: Triton, or the C compiler that it needs, may be missing."""
    global _kernels_failed
    try:
        yield
    except torch.OutOfMemoryError:
        raise
    except Exception as error:
        _log.debug("compared with torch's operations, because Triton could not be used: %s", error)
        _kernels_failed = True


# --- the same with torch's operations


def _chunks(one: Any, two: Any) -> Iterator[tuple[Any, Any, int]]:
    """Yield both tensors as rows, a chunk at a time, and with how many zeros the last row was filled up."""
    step = ROW * _CHUNK_ROWS
    for start in range(0, one.numel(), step):
        x, y = one[start : start + step], two[start : start + step]
        missing = -x.numel() % ROW
        if missing:
            x, y = (torch.cat([part, part.new_zeros(missing)]) for part in (x, y))
        yield x.reshape(-1, ROW), y.reshape(-1, ROW), missing


class _Chunk:
    """Two chunks, element by element: which are finite, how far apart, and which share of their limit that is."""

    def __init__(self, x: Any, y: Any, criteria: Criteria, missing: int) -> None:
        limit = criteria.limit
        wide = torch.complex128 if x.is_complex() or y.is_complex() else torch.float64
        a, b = x.to(wide), y.to(wide)
        if (criteria.factor, criteria.offset) != (1.0, 0.0):
            b = b * criteria.factor + criteria.offset
            b.view(-1)[b.numel() - missing :] = 0
        self.x, self.y = x, y
        self.finite = a.isfinite(), b.isfinite()
        self.nan = a.isnan(), b.isnan()
        self.aside = ~(self.finite[0] & self.finite[1])
        agrees = a == b
        if criteria.equal_nan:
            agrees = agrees | (self.nan[0] & self.nan[1])
        self.bad = self.aside & ~agrees
        self.one, self.two = a.masked_fill(self.aside, 0), b.masked_fill(self.aside, 0)
        self.gap = _integer_gaps(x, y) if are_long(x, y) else (self.one - self.two).abs()
        self.magnitude = self.two.abs()
        self.share = torch.zeros_like(self.gap)
        if criteria.has_elementwise:
            self.share = _ratio(self.gap, limit.atol + (limit.rtol or 0.0) * self.magnitude)
        if limit.in_units:
            self.is_large = self.magnitude > DWARFS * limit.scale
            self.relative = torch.where(self.is_large, self.gap / self.magnitude, self.gap / limit.scale)
        if limit.max is not None:
            own = _ratio(self.relative, torch.full_like(self.gap, limit.max))
            plain = _ratio(self.gap, torch.full_like(self.gap, limit.max * limit.scale))
            self.share = torch.maximum(self.share, torch.where(self.is_large, own, plain))
        self.mismatched = (self.share > 1) | self.bad
        self.has_l2 = limit.l2 is not None


def _summary(chunk: _Chunk) -> Any:
    infinite = [~finite & ~nan for finite, nan in zip(chunk.finite, chunk.nan, strict=True)]
    of_nan = chunk.bad & (chunk.nan[0] | chunk.nan[1])
    relative = chunk.relative.square() if chunk.has_l2 else torch.zeros_like(chunk.gap)
    sums = {
        "differing": _other_bits(chunk.x, chunk.y),
        "mismatched": chunk.mismatched,
        "gaps": chunk.gap.square(),
        "golds": chunk.magnitude.square(),
        "relative": relative,
        "nan_actual": chunk.nan[0],
        "nan_gold": chunk.nan[1],
        "inf_actual": infinite[0],
        "inf_gold": infinite[1],
        "aside": chunk.aside,
        "bad_nan": of_nan,
        "bad_inf": chunk.bad & ~of_nan,
    }
    largest = {"share": chunk.share.amax(1), "largest": chunk.gap.amax(1)}
    columns = {name: values.sum(1, dtype=torch.float64) for name, values in sums.items()} | largest
    return torch.stack([columns[name] for name in SUMMARY])


def _details(chunk: _Chunk) -> Any:
    ratio = (chunk.gap / chunk.magnitude).nan_to_num(nan=0.0, posinf=math.inf)
    products = chunk.one * chunk.two
    if products.is_complex():
        products = torch.view_as_real(chunk.one).mul(torch.view_as_real(chunk.two)).sum(-1)
    return torch.stack([products.sum(1), chunk.one.abs().square().sum(1), ratio.amax(1), _ulps(chunk).amax(1)])


def _ratio(gap: Any, limit: Any) -> Any:
    """Divide gaps by limits: no gap is 0, a gap beyond a limit of 0 is infinite."""
    return (gap / limit).nan_to_num(nan=math.inf, posinf=math.inf).masked_fill(gap == 0, 0.0)


def are_long(x: Any, y: Any) -> bool:
    """Say whether both are 64-bit integers."""
    return bool(x.dtype == y.dtype == torch.int64)


def _integer_gaps(x: Any, y: Any) -> Any:
    """Return gaps of 64-bit integers, exact before they become float64, where neighbours would coincide."""
    apart = torch.maximum(x, y) - torch.minimum(x, y)
    wide = apart.to(torch.float64)
    return torch.where(apart < 0, wide + 2.0**64, wide)  # the difference did not fit


def _other_bits(x: Any, y: Any) -> Any:
    if x.dtype != y.dtype:
        return torch.ones_like(x, dtype=torch.bool)
    if x.is_complex():
        parts = [torch.view_as_real(part) for part in (x, y)]
        return (_bits(parts[0]) != _bits(parts[1])).any(-1)
    return _bits(x) != _bits(y)


def _bits(x: Any) -> Any:
    return x.view({1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[x.element_size()])


def _ulps(chunk: _Chunk) -> Any:
    x, y = chunk.x, chunk.y
    if x.dtype != y.dtype or not x.is_floating_point():
        return torch.zeros_like(chunk.gap)
    one, two = (_bits(part).to(torch.int64) for part in (x, y))
    highest = 2 ** (8 * x.element_size() - 1) - 1
    # The bits of negative floats count downwards; flipped, neighbouring floats differ by one.
    ours, theirs = (torch.where(bits < 0, bits ^ highest, bits) for bits in (one, two))
    crossed = (one < 0) != (two < 0)  # +0 and -0 are the same number
    apart = (torch.maximum(ours, theirs) - torch.minimum(ours, theirs)).sub(crossed.to(torch.int64))
    return apart.masked_fill(chunk.aside, 0).to(torch.float64)
