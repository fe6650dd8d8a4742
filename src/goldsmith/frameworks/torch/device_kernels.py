# mypy: ignore-errors
# Triton compiles these functions itself, and is not installed everywhere.
"""Triton kernels that read two tensors once and write a few numbers for each row of elements.

What they compute is defined by the plain operations in `device_statistics.py`. Limits come in a tensor: Triton would
round a Python number to float32. Products and sums are not fused, so that each is rounded as on the host.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
import triton
import triton.language as tl

from goldsmith.frameworks.torch.device_statistics import DETAILS, ROW, SUMMARY, Criteria, are_long

TILE = 256
RULES = dict(num_warps=2, enable_fp_fusion=False)


def summarise(one: Any, two: Any, criteria: Criteria, *, counts_special: bool) -> Any:
    """Return the table of `SUMMARY`, a row of it for each name.

    Elements that are not finite are only counted, unless `counts_special` asks which they are and whether they agree.
    """
    table, parameters = _prepared(one, criteria, len(SUMMARY))
    one, two, options = _options(one, two, criteria)
    with torch.cuda.device(one.device):
        _summarise[(table.shape[1],)](
            one, two, table, parameters, one.numel(), table.shape[1], SPECIAL=counts_special, **options, **RULES
        )
    return table


def detail(one: Any, two: Any, criteria: Criteria) -> tuple[Any, Any]:
    """Return the table of `DETAILS`, and a mask of elements that are beyond their limit."""
    table, parameters = _prepared(one, criteria, len(DETAILS))
    mask = torch.empty(one.numel(), dtype=torch.uint8, device=one.device)
    has_ulps = one.dtype == two.dtype and one.is_floating_point()
    width = 8 * one.element_size() if has_ulps else 0
    one, two, options = _options(one, two, criteria)
    del options["SAME_DTYPE"], options["HAS_L2"]
    with torch.cuda.device(one.device):
        _detail[(table.shape[1],)](
            one, two, table, mask, parameters, one.numel(), table.shape[1], WIDTH=width, **options, **RULES
        )
    return table, mask.view(torch.bool)


def _prepared(one: Any, criteria: Criteria, columns: int) -> tuple[Any, Any]:
    rows = -(-one.numel() // ROW)
    table = torch.empty((columns, rows), dtype=torch.float64, device=one.device)
    return table, _parameters(criteria, one.device)


@functools.lru_cache(maxsize=64)
def _parameters(criteria: Criteria, device: Any) -> Any:
    return torch.tensor(criteria.parameters, dtype=torch.float64).to(device)


def _options(one: Any, two: Any, criteria: Criteria) -> tuple[Any, Any, dict[str, Any]]:
    limit = criteria.limit
    options = dict(
        ROW=ROW,
        TILE=TILE,
        ELEMENTWISE=criteria.has_elementwise,
        HAS_MAX=limit.max is not None,
        HAS_L2=limit.l2 is not None,
        EQUAL_NAN=criteria.equal_nan,
        SAME_DTYPE=one.dtype == two.dtype,
        LONG=are_long(one, two),
        SHIFTED=(criteria.factor, criteria.offset) != (1.0, 0.0),
        IN_SINGLE=max(one.element_size(), two.element_size()) <= 4,
    )
    one, two = (part.view(torch.uint8) if part.dtype == torch.bool else part for part in (one, two))
    return one, two, options


@triton.jit
def _load(one, two, parameters, at, size, SHIFTED: tl.constexpr):
    """Load a tile as it is and as float64, zero outside of the tensors."""
    inside = at < size
    x = tl.load(one + at, mask=inside, other=0)
    y = tl.load(two + at, mask=inside, other=0)
    a, b = x.to(tl.float64), y.to(tl.float64)
    if SHIFTED:
        b = tl.where(inside, b * tl.load(parameters + 6) + tl.load(parameters + 7), 0.0)
    return x, y, a, b


@triton.jit
def _judge(x, y, a, b, parameters, ELEMENTWISE: tl.constexpr, HAS_MAX: tl.constexpr, LONG: tl.constexpr):
    """Return finite numbers, zero elsewhere; gaps; limits of gaps; and which elements are not finite."""
    aside = ((a - a) + (b - b)) != 0.0
    one, two = tl.where(aside, 0.0, a), tl.where(aside, 0.0, b)
    if LONG:
        apart = tl.maximum(x, y) - tl.minimum(x, y)
        wide = apart.to(tl.float64)
        gap = tl.where(apart < 0, wide + 18446744073709551616.0, wide)  # the difference did not fit
    else:
        gap = tl.abs(one - two)
    magnitude = tl.abs(two)
    limit = magnitude * 0.0 + float("inf")
    if ELEMENTWISE:
        limit = tl.load(parameters + 1) + tl.load(parameters) * magnitude
    if HAS_MAX:
        own = tl.load(parameters + 2) * magnitude
        limit = tl.minimum(limit, tl.where(magnitude > tl.load(parameters + 5), own, tl.load(parameters + 3)))
    return one, two, gap, magnitude, limit, aside


@triton.jit
def _is_bad(a, b, aside, EQUAL_NAN: tl.constexpr):
    """Say which elements are not finite and do not agree."""
    agrees = a == b
    if EQUAL_NAN:
        agrees = agrees | ((a != a) & (b != b))
    return aside & (agrees == 0)


@triton.jit
def _ratio(gap, unit, IN_SINGLE: tl.constexpr):
    """Divide gaps, in float32 where that is exact enough: what is wrong is decided in float64, without a division."""
    ratio = gap.to(tl.float32) / unit.to(tl.float32) if IN_SINGLE else gap / unit
    return tl.where(gap == 0.0, 0.0, ratio)


@triton.jit
def _other_bits(x, y):
    if x.dtype.is_floating():
        if x.dtype.primitive_bitwidth == 16:
            x, y = x.to(tl.int16, bitcast=True), y.to(tl.int16, bitcast=True)
        elif x.dtype.primitive_bitwidth == 32:
            x, y = x.to(tl.int32, bitcast=True), y.to(tl.int32, bitcast=True)
        else:
            x, y = x.to(tl.int64, bitcast=True), y.to(tl.int64, bitcast=True)
    return x != y


@triton.jit
def _summarise(
    one, two, table, parameters, size, rows,
    ROW: tl.constexpr, TILE: tl.constexpr, ELEMENTWISE: tl.constexpr, HAS_MAX: tl.constexpr, HAS_L2: tl.constexpr,
    EQUAL_NAN: tl.constexpr, SAME_DTYPE: tl.constexpr, LONG: tl.constexpr, SHIFTED: tl.constexpr,
    IN_SINGLE: tl.constexpr, SPECIAL: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0)
    start = row.to(tl.int64) * ROW
    none = tl.zeros((TILE,), tl.int32)
    differing, mismatched, not_finite, bad_nan, bad_inf = none, none, none, none, none
    nan_one, nan_two, inf_one, inf_two = none, none, none, none
    nothing = tl.zeros((TILE,), tl.float64)
    largest, gaps, golds, relatives = nothing, nothing, nothing, nothing
    shares = nothing.to(tl.float32) if IN_SINGLE else nothing
    for begin in range(0, ROW, TILE):
        at = start + begin + tl.arange(0, TILE)
        x, y, a, b = _load(one, two, parameters, at, size, SHIFTED)
        _, _, gap, magnitude, limit, aside = _judge(x, y, a, b, parameters, ELEMENTWISE, HAS_MAX, LONG)
        wrong = gap > limit
        if SAME_DTYPE:
            differing += _other_bits(x, y).to(tl.int32)
        else:
            differing += (at < size).to(tl.int32)
        not_finite += aside.to(tl.int32)
        if SPECIAL:
            is_nan_one, is_nan_two = a != a, b != b
            bad = _is_bad(a, b, aside, EQUAL_NAN)
            of_nan = bad & (is_nan_one | is_nan_two)
            wrong = wrong | bad
            nan_one += is_nan_one.to(tl.int32)
            nan_two += is_nan_two.to(tl.int32)
            inf_one += (((a - a) != 0.0) & (a == a)).to(tl.int32)
            inf_two += (((b - b) != 0.0) & (b == b)).to(tl.int32)
            bad_nan += of_nan.to(tl.int32)
            bad_inf += (bad & (of_nan == 0)).to(tl.int32)
        mismatched += wrong.to(tl.int32)
        shares = tl.maximum(shares, _ratio(gap, limit, IN_SINGLE))
        largest = tl.maximum(largest, gap)
        gaps += gap * gap
        golds += magnitude * magnitude
        if HAS_L2:
            unit = tl.load(parameters + 4)
            relative = tl.where(magnitude > tl.load(parameters + 5), gap / magnitude, gap / unit)
            relatives += relative * relative
    out = table + row
    tl.store(out, tl.sum(differing, 0).to(tl.float64))
    tl.store(out + rows, tl.sum(mismatched, 0).to(tl.float64))
    tl.store(out + 2 * rows, tl.max(shares, 0).to(tl.float64))
    tl.store(out + 3 * rows, tl.max(largest, 0))
    tl.store(out + 4 * rows, tl.sum(gaps, 0))
    tl.store(out + 5 * rows, tl.sum(golds, 0))
    tl.store(out + 6 * rows, tl.sum(relatives, 0))
    tl.store(out + 7 * rows, tl.sum(nan_one, 0).to(tl.float64))
    tl.store(out + 8 * rows, tl.sum(nan_two, 0).to(tl.float64))
    tl.store(out + 9 * rows, tl.sum(inf_one, 0).to(tl.float64))
    tl.store(out + 10 * rows, tl.sum(inf_two, 0).to(tl.float64))
    tl.store(out + 11 * rows, tl.sum(not_finite, 0).to(tl.float64))
    tl.store(out + 12 * rows, tl.sum(bad_nan, 0).to(tl.float64))
    tl.store(out + 13 * rows, tl.sum(bad_inf, 0).to(tl.float64))


@triton.jit
def _ulps(x, y, WIDTH: tl.constexpr):
    """Return how many floats lie between two: their bits as integers in the order of the floats, subtracted."""
    if WIDTH == 16:
        p, q = x.to(tl.int16, bitcast=True).to(tl.int32), y.to(tl.int16, bitcast=True).to(tl.int32)
        highest = 0x7FFF
    elif WIDTH == 32:
        p, q = x.to(tl.int32, bitcast=True), y.to(tl.int32, bitcast=True)
        highest = 0x7FFFFFFF
    else:
        p, q = x.to(tl.int64, bitcast=True), y.to(tl.int64, bitcast=True)
        highest = 0x7FFFFFFFFFFFFFFF
    crossed = (p < 0) != (q < 0)  # +0 and -0 are the same number
    first, second = tl.where(p < 0, p ^ highest, p), tl.where(q < 0, q ^ highest, q)
    apart = tl.maximum(first, second) - tl.minimum(first, second) - crossed.to(p.dtype)
    return apart.to(tl.uint64, bitcast=True) if WIDTH == 64 else apart.to(tl.uint32, bitcast=True)


@triton.jit
def _detail(
    one, two, table, mask, parameters, size, rows,
    ROW: tl.constexpr, TILE: tl.constexpr, ELEMENTWISE: tl.constexpr, HAS_MAX: tl.constexpr, EQUAL_NAN: tl.constexpr,
    LONG: tl.constexpr, SHIFTED: tl.constexpr, IN_SINGLE: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0)
    start = row.to(tl.int64) * ROW
    nothing = tl.zeros((TILE,), tl.float64)
    products, actuals = nothing, nothing
    ratios = nothing.to(tl.float32) if IN_SINGLE else nothing
    ulps = tl.zeros((TILE,), tl.uint64 if WIDTH == 64 else tl.uint32)
    for begin in range(0, ROW, TILE):
        at = start + begin + tl.arange(0, TILE)
        x, y, a, b = _load(one, two, parameters, at, size, SHIFTED)
        ours, gold, gap, magnitude, limit, aside = _judge(x, y, a, b, parameters, ELEMENTWISE, HAS_MAX, LONG)
        wrong = (gap > limit) | _is_bad(a, b, aside, EQUAL_NAN)
        tl.store(mask + at, wrong.to(tl.uint8), mask=at < size)
        products += ours * gold
        actuals += ours * ours
        ratios = tl.maximum(ratios, _ratio(gap, magnitude, IN_SINGLE))
        if WIDTH > 0:
            ulps = tl.maximum(ulps, tl.where(aside, 0, _ulps(x, y, WIDTH)))
    out = table + row
    tl.store(out, tl.sum(products, 0))
    tl.store(out + rows, tl.sum(actuals, 0))
    tl.store(out + 2 * rows, tl.max(ratios, 0).to(tl.float64))
    tl.store(out + 3 * rows, tl.max(ulps, 0).to(tl.float64))
