"""Compare two large tensors on the device that they are on; results are those of `numeric_pass.py`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from goldsmith.comparison import mismatch_location
from goldsmith.comparison.details import MARGIN, SMALL, ULPS_UP_TO, Details, cosine, smallest_rtol
from goldsmith.comparison.leaves import Array, DeviceLeaf
from goldsmith.comparison.limits import Limit
from goldsmith.comparison.mismatch_location import MismatchLocations
from goldsmith.comparison.numeric_pass import Pass, magnitude
from goldsmith.comparison.precision_paths import ComputePath
from goldsmith.frameworks.torch.device_statistics import ROW, Criteria, Rows, detail, summarise
from goldsmith.frameworks.torch.device_views import TensorView
from goldsmith.gold.tolerances import SMALLEST_LIMIT

_UNSUPPORTED = ("uint16", "uint32", "uint64")
"""Dtypes for which torch lacks operations on devices."""
_MAX_SETTLED_ROWS = 64
_SMALLEST_SUM = 1e-280
"""A sum of squares below this has lost digits, as one that is not finite has; the host scales such numbers."""
_MORE_THAN_ALL = math.nextafter(1.0, 2.0)
_SPAN = 4096


def compare(
    ours: DeviceLeaf, gold: DeviceLeaf, by_parts: bool, route: ComputePath, limit: Limit, equal_nan: bool
) -> tuple[Pass, tuple[int, ...] | None] | None:
    """Compare two leaves, complex ones by their parts if so asked; return None if the host has to, else what came of it
    and the order of axes in which it was done."""
    is_known = ours.form.name not in _UNSUPPORTED and gold.form.name not in _UNSUPPORTED
    if not is_known or ours.tensor.device != gold.tensor.device:
        return None
    one, two = ours.tensor, gold.tensor
    if by_parts:
        one, two = (torch.view_as_real(part.resolve_conj()) for part in (one, two))
    order = _memory_order(two)
    if order is not None:
        one, two = one.permute(order), two.permute(order)
    found = DevicePass(route, limit, equal_nan)
    try:
        return (found, order) if found.run_on_device(one.contiguous(), two.contiguous()) else None
    except torch.OutOfMemoryError:
        return None


def view(tensor: Any) -> TensorView:
    """Return a view for explanations of a difference."""
    return TensorView(tensor)


def _memory_order(gold: Any) -> tuple[int, ...] | None:
    """Return a tensor's axes from largest to smallest stride, or None if that is their own order."""
    if gold.ndim < 2 or gold.is_contiguous():
        return None
    order = tuple(sorted(range(gold.ndim), key=lambda axis: -gold.stride(axis)))
    return order if order != tuple(range(gold.ndim)) else None


class DevicePass(Pass):
    """The comparison of one leaf on its device."""

    def run_on_device(self, one: Any, two: Any) -> bool:
        """Compare two tensors of one shape. Return False if the host has to: float64 cannot hold a sum of squares."""
        self.shape = tuple(one.shape)
        if self.limit.is_tiny:
            return False
        criteria = Criteria(self.limit, self.equal_nan)
        x, y = one.reshape(-1), two.reshape(-1)
        rows = summarise(x, y, criteria)
        totals = rows.totals
        sums = [totals["gaps"], totals["golds"], totals["relative"]]
        if not all(value == 0 or _SMALLEST_SUM < value < math.inf for value in sums):
            return False
        if (not totals["gaps"] and totals["largest"]) or (not totals["golds"] and bool(y.any())):
            return False
        if totals["gaps"] and self.limit.rtol and self.limit.atol < SMALLEST_LIMIT and _has_tiny(y, self.limit.rtol):
            return False
        self._take(totals)
        if not self.identical:
            self._locate_largest(x, y, rows, totals["largest"])
        if self.bad_nan or self.bad_inf:
            self._locate_bad(x, y, rows)
        if not self.agrees:
            self._take_details(x, y, criteria, totals)
        return True

    def _take(self, totals: dict[str, float]) -> None:
        self.identical = not totals["differing"]
        self.mismatched = int(totals["mismatched"])
        self.counted = math.prod(self.shape) - int(totals["aside"])
        self.share = min(totals["share"], 1.0) if not self.mismatched else max(totals["share"], _MORE_THAN_ALL)
        self.gaps.total, self.golds.total = totals["gaps"], totals["golds"]
        if self.relative is not None:
            self.relative.total = totals["relative"]
        for name in ("nan_actual", "nan_gold", "inf_actual", "inf_gold"):
            setattr(self, name, int(totals[name]))
        self.bad_nan, self.bad_inf = bool(totals["bad_nan"]), bool(totals["bad_inf"])

    def _locate_largest(self, x: Any, y: Any, rows: Rows, largest: float) -> None:
        start = ROW * _first(rows["largest"] == largest)
        one, two = _row(x, y, start)
        finite = np.isfinite(one) & np.isfinite(two)
        place = int(np.where(finite, np.abs(np.where(finite, one - two, 0)), -1.0).argmax())
        self.spot = start + place
        if self.route.is_whole:
            ours, theirs = int(x[self.spot]), int(y[self.spot])  # exact for integers of any size
        else:
            ours, theirs = one[place].item(), two[place].item()
        self.values, self.largest = (ours, theirs), magnitude(ours - theirs)

    def _locate_bad(self, x: Any, y: Any, rows: Rows) -> None:
        """Find the first element that is NaN on one side only; if there is none, the first other infinity."""
        start = ROW * _first(rows["bad_nan" if self.bad_nan else "bad_inf"] > 0)
        one, two = _row(x, y, start)
        nan = np.isnan(one), np.isnan(two)
        if self.bad_nan:
            bad = nan[0] ^ nan[1] if self.equal_nan else nan[0] | nan[1]
        else:
            bad = ~(np.isfinite(one) & np.isfinite(two)) & ~(nan[0] | nan[1]) & (one != two)
        self.bad_spot = start + int(bad.argmax())

    def _take_details(self, x: Any, y: Any, criteria: Criteria, totals: dict[str, float]) -> None:
        rows, mask = detail(x, y, criteria)
        found = rows.totals
        self.details = details = Details(self.route)
        size = math.sqrt(found["actuals"]) * math.sqrt(totals["golds"])
        details.cosine = cosine(found["product"], size)
        if details.ulps is not None:
            is_rounding = x.numel() <= SMALL or found["ratio"] <= ULPS_UP_TO
            details.ulps = int(found["ulps"]) if is_rounding else None
        if not (self.bad_nan or self.bad_inf):
            details.atol_alone = float(self.largest)
            details.rtol_alone = _rtol_alone(x, y, rows["ratio"], found["ratio"])
        if self.mismatched:
            self.places = _places(mask.reshape(self.shape), self.mismatched)


def _has_tiny(gold: Any, rtol: float) -> bool:
    """Say whether a limit relative to an element is too small for float64 to hold."""
    if gold.element_size() < 8 or not (gold.is_floating_point() or gold.is_complex()):
        return False
    size = gold.abs()
    return bool(((size < SMALLEST_LIMIT / rtol) & (size > 0)).any())


def _first(hits: Any) -> int:
    """Return the index of the first true element of a small tensor."""
    return int(hits.nonzero()[0])


def _row(x: Any, y: Any, start: int) -> tuple[Array, Array]:
    """Copy a row of elements of both tensors to the host, as float64 or complex128."""
    wide = torch.complex128 if x.is_complex() or y.is_complex() else torch.float64
    one, two = torch.stack([part[start : start + ROW].to(wide) for part in (x, y)]).cpu().numpy()
    return one, two


def _rtol_alone(x: Any, y: Any, ratios: Any, largest: float) -> float:
    """Return the smallest rtol that alone would pass; rounded up if too many rows are equally far off."""
    if largest in (0.0, math.inf):
        return largest
    near = (ratios >= largest * (1 - MARGIN)).nonzero().reshape(-1)
    if len(near) > _MAX_SETTLED_ROWS:
        return largest * (1 + MARGIN)
    found = 0.0
    for row in near.tolist():
        one, two = _row(x, y, row * ROW)
        with np.errstate(all="ignore"):
            found = max(found, smallest_rtol(np.abs(one - two), np.abs(two)))
    return found


def _places(mask: Any, count: int) -> MismatchLocations:
    """Say which indices of each axis hold an element beyond its limit."""
    places = MismatchLocations(tuple(mask.shape))
    places.count = count
    if places.mask is not None:
        places.mask = mask.cpu().numpy()
    for axis in range(mask.ndim):
        others = tuple(other for other in range(mask.ndim) if other != axis)
        hits = _eightfold(mask, axis).any(dim=others) if others else mask
        if hits.numel() <= mismatch_location.MAX_AXIS:
            places.mark(axis, 0, hits.cpu().numpy())
        else:
            for start in _ends(hits):
                places.mark(axis, start, hits[start : start + _SPAN].cpu().numpy())
    return places


def _eightfold(mask: Any, axis: int) -> Any:
    """View eight elements of the last axis as one number, where that axis is reduced: an eighth is left to do."""
    if axis == mask.ndim - 1 or mask.shape[-1] % 8 or not mask.is_contiguous():
        return mask
    return mask.view(torch.int64)


def _ends(hits: Any) -> list[int]:
    """Return where the first and the last span begin that hold a true element: a long axis is not copied whole."""
    missing = -hits.numel() % _SPAN
    spans = torch.cat([hits, hits.new_zeros(missing)]).reshape(-1, _SPAN).any(1).nonzero().reshape(-1)
    return [int(spans[0]) * _SPAN, int(spans[-1]) * _SPAN]
