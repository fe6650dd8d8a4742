"""Views of a tensor on a device, as far as explanations of a difference need them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from goldsmith.comparison.device_statistics import Criteria, summarise
from goldsmith.comparison.leaves import Array
from goldsmith.comparison.limits import Limit


class DeviceView:
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
            return DeviceView(self.tensor[where])
        if id(where) not in self._samples:
            prefetch([self], where)
        return self._samples[id(where)][1]

    def places(self, where: Any) -> Array:
        """Return where in the tensor's memory the elements at arrays of indices are."""
        shape = np.broadcast_shapes(*(part.shape for part in where if isinstance(part, np.ndarray)))
        places: Any = np.full(shape, self.tensor.storage_offset())
        for axis, (part, stride) in enumerate(zip(where, self.tensor.stride(), strict=True)):
            is_all = isinstance(part, slice)
            indices = np.arange(self.shape[axis]) if is_all else part
            if axis == self._flipped:
                indices = self.shape[axis] - 1 - indices
            places = indices[:, None] * stride + places if is_all else places + indices * stride
        return np.asarray(places)

    def keep(self, where: Any, sample: Array) -> None:
        """Keep the elements at `where`, which is kept, too: its identity is the key."""
        self._samples[id(where)] = where, sample

    def reshape(self, *shape: int) -> DeviceView:
        return DeviceView(self.tensor.reshape(*shape))

    def transpose(self, order: tuple[int, ...]) -> DeviceView:
        return DeviceView(self.tensor.permute(order))

    def flip(self, axis: int) -> DeviceView:
        return DeviceView(self.tensor, axis)

    def rows(self, order: Array) -> DeviceView:
        """Return the entries of the first axis in another order."""
        import torch

        return DeviceView(self.tensor[torch.from_numpy(order).to(self.tensor.device)])

    def may_be_permuted(self, gold: DeviceView, where: Any, allowed: float) -> bool:
        """Say whether some columns may hold gold's numbers in another order: sums are equal, and elements are not."""
        import torch

        at = [torch.from_numpy(part).to(self.tensor.device) for part in where[1:]]
        one, two = (view.tensor[(slice(None), *at)].to(torch.float64) for view in (self, gold))
        is_same = ((one - two).abs() <= allowed).all()
        has_same_sums = ((one.sum(0) - two.sum(0)).abs() <= allowed * len(one)).all()
        return bool(has_same_sums & ~is_same)

    def fits(self, gold: DeviceView, factor: complex, offset: complex, allowed: float) -> bool:
        """Say whether every element is `factor` times gold's plus `offset`, up to `allowed`."""
        criteria = Criteria(Limit("given", 0.0, allowed), factor=factor.real, offset=offset.real)
        totals = summarise(self._flat(), gold._flat(), criteria).totals
        return totals["largest"] <= allowed and not totals["bad_nan"] and not totals["bad_inf"]

    def is_rounded(self, gold: DeviceView, name: str, unit: float, smallest: float) -> bool:
        """Say whether every element is gold's, rounded to the dtype `name`."""
        import torch

        found = summarise(self._flat(), gold._flat(), Criteria(Limit("given", unit, smallest))).totals
        rounded = self.tensor.to(getattr(torch, name)).to(self.tensor.dtype)
        return not found["mismatched"] and bool((rounded == self.tensor).all())

    def _flat(self) -> Any:
        tensor = self.tensor if self._flipped is None else self.tensor.flip(self._flipped)
        return tensor.contiguous().reshape(-1)


def prefetch(views: Sequence[DeviceView], where: Any) -> None:
    """Copy the elements at `where` of several views of one tensor to the host, in one transfer: each takes its time."""
    import torch

    tensor = views[0].tensor
    places = np.stack([view.places(where) for view in views])
    memory = tensor.as_strided((int(places.max()) + 1,), (1,), 0)
    samples = memory[torch.from_numpy(places).to(tensor.device)].to(torch.float64).cpu().numpy()
    for view, sample in zip(views, samples, strict=True):
        view.keep(where, sample)
