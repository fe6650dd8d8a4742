"""Views of a tensor on a device, as far as explanations of a difference need them."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from goldsmith.comparison.leaves import Array, DeviceView
from goldsmith.comparison.limits import Limit
from goldsmith.frameworks.torch.device_statistics import Criteria, summarise


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
    places, size = _places(tuple(view.layout for view in views), _Indices(where), tensor.device)
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
def _places(layouts: Sequence[_Layout], where: _Indices, device: Any) -> tuple[Any, int]:
    """Return, on the device, where in memory elements are; and how much memory there must be."""
    places = np.stack([layout.places(where.parts) for layout in layouts])
    return torch.from_numpy(places).to(device), int(places.max()) + 1


@functools.lru_cache(maxsize=64)
def _on_device(where: _Indices, device: Any) -> list[Any]:
    """Return arrays of indices on the device."""
    return [torch.from_numpy(part).to(device) for part in where.parts]
