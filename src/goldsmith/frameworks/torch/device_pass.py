"""Compare two large tensors on the device that they are on; results are those of `numeric_pass.py`."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from goldsmith.comparison import mismatch_location
from goldsmith.comparison.details import MARGIN, SMALL, ULPS_UP_TO, Details, cosine, smallest_rtol
from goldsmith.comparison.leaves import Array, DeviceLeaf, DeviceView
from goldsmith.comparison.limits import Limit
from goldsmith.comparison.mismatch_location import MismatchLocations
from goldsmith.comparison.numeric_pass import Pass, magnitude
from goldsmith.comparison.precision_paths import ComputePath
from goldsmith.frameworks.torch.device_statistics import ROW, Criteria, Rows, detail, summarise
from goldsmith.gold.tolerances import SMALLEST_LIMIT

# --- views, as far as explanations of a difference need them


class TensorView(DeviceView):
    """A tensor whose elements are copied to the host only where they are asked for, as float64.

    `flipped` is an axis that is read backwards; torch has no such views.
    """

    def __init__(self, tensor: Any, flipped: int | None = None) -> None:
        self.tensor = tensor
        self.shape: tuple[int, ...] = tuple(tensor.shape)
        self.ndim: int = tensor.ndim
        self.size = math.prod(self.shape)
        self._flipped = flipped
        self._samples: dict[int, tuple[Any, Array]] = {}

    def __getitem__(self, where: Any) -> Any:
        """Return a view of slices; copy elements at arrays of indices to the host."""
        if all(isinstance(part, slice) for part in where):
            return TensorView(self.tensor[where])
        if id(where) not in self._samples:
            prefetch([self], where)
        return self._samples[id(where)][1]

    @property
    def layout(self) -> _Layout:
        return _Layout(self.shape, self.tensor.stride(), self.tensor.storage_offset(), self._flipped)

    def keep(self, where: Any, sample: Array) -> None:
        """Keep the elements at `where`, which is kept, too: its identity is the key."""
        self._samples[id(where)] = where, sample

    def reshape(self, *shape: int) -> TensorView:
        return TensorView(self.tensor.reshape(*shape))

    def transpose(self, order: tuple[int, ...]) -> TensorView:
        return TensorView(self.tensor.permute(order))

    def flip(self, axis: int) -> TensorView:
        return TensorView(self.tensor, axis)

    def rows(self, order: Array) -> TensorView:
        """Return the entries of the first axis in another order."""
        return TensorView(self.tensor[torch.from_numpy(order).to(self.tensor.device)])

    def may_be_permuted(self, gold: TensorView, where: Any, allowed: float) -> bool:
        """Say whether some columns may hold gold's numbers in another order: sums are equal, and elements are not."""
        at = _on_device(_Indices(where[1:]), self.tensor.device)
        one, two = (view.tensor[(slice(None), *at)].to(torch.float64) for view in (self, gold))
        is_same = ((one - two).abs() <= allowed).all()
        has_same_sums = ((one.sum(0) - two.sum(0)).abs() <= allowed * len(one)).all()
        return bool(has_same_sums & ~is_same)

    def fits(self, gold: TensorView, factor: complex, offset: complex, allowed: float) -> bool:
        """Say whether every element is `factor` times gold's plus `offset`, up to `allowed`."""
        criteria = Criteria(Limit("given", 0.0, allowed), factor=factor.real, offset=offset.real)
        totals = summarise(self._flat(), gold._flat(), criteria).totals
        return totals["largest"] <= allowed and not totals["bad_nan"] and not totals["bad_inf"]

    def is_rounded(self, gold: TensorView, name: str, unit: float, smallest: float) -> bool:
        """Say whether every element is gold's, rounded to the dtype `name`."""
        found = summarise(self._flat(), gold._flat(), Criteria(Limit("given", unit, smallest))).totals
        rounded = self.tensor.to(getattr(torch, name)).to(self.tensor.dtype)
        return not found["mismatched"] and bool((rounded == self.tensor).all())

    def prefetch(self, others: Sequence[TensorView], where: Any) -> None:
        """Copy the elements at `where` of several views of this one's tensor, itself among them, at once."""
        prefetch(others, where)

    @property
    def is_contiguous(self) -> bool:
        return bool(self.tensor.is_contiguous())

    def _flat(self) -> Any:
        tensor = self.tensor if self._flipped is None else self.tensor.flip(self._flipped)
        return tensor.contiguous().reshape(-1)


def prefetch(views: Sequence[TensorView], where: Any) -> None:
    """Copy the elements at `where` of several views of one tensor to the host, in one transfer: each takes its time."""
    tensor = views[0].tensor
    places, size = _in_memory(tuple(view.layout for view in views), _Indices(where), tensor.device)
    samples = tensor.as_strided((size,), (1,), 0)[places].cpu().to(torch.float64).numpy()
    for view, sample in zip(views, samples, strict=True):
        view.keep(where, sample)


@dataclass(frozen=True)
class _Layout:
    """How a view's elements lie in memory."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    flipped: int | None

    def places(self, where: Any) -> Array:
        """Return where in memory the elements at arrays of indices are."""
        shape = np.broadcast_shapes(*(part.shape for part in where if isinstance(part, np.ndarray)))
        places: Any = np.full(shape, self.offset)
        for axis, (part, stride) in enumerate(zip(where, self.strides, strict=True)):
            is_all = isinstance(part, slice)
            indices = np.arange(self.shape[axis]) if is_all else part
            if axis == self.flipped:
                indices = self.shape[axis] - 1 - indices
            places = indices[:, None] * stride + places if is_all else places + indices * stride
        return np.asarray(places)


class _Indices:
    """Arrays of indices and slices of everything. Arrays are known by their identity: explanations look at the same
    places of every tensor of one shape."""

    def __init__(self, parts: Sequence[Any]) -> None:
        self.parts = tuple(parts)
        self._key = tuple(None if isinstance(part, slice) else id(part) for part in self.parts)

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Indices) and self._key == other._key


# On an H200, three of four milliseconds of a comparison that fails were spent on the host, a third of them on computing
# and copying these small arrays again and again.


@functools.lru_cache(maxsize=256)
def _in_memory(layouts: Sequence[_Layout], where: _Indices, device: Any) -> tuple[Any, int]:
    """Return, on the device, where in memory elements are; and how much memory there must be."""
    places = np.stack([layout.places(where.parts) for layout in layouts])
    return torch.from_numpy(places).to(device), int(places.max()) + 1


@functools.lru_cache(maxsize=64)
def _on_device(where: _Indices, device: Any) -> list[Any]:
    """Return arrays of indices on the device."""
    return [torch.from_numpy(part).to(device) for part in where.parts]


# --- the comparison


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
