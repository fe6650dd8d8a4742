"""A model that can run in any precision, with other weights, and is what it was afterwards.

It is a copy of the caller's where that can be made and is asked for, else the caller's own. Tensors are never written
over: they are exchanged for others while the model runs, and put back.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.parameter import is_lazy

from goldsmith.weights.object_weights import slots_beside

Change = Callable[[Any], Any]


@dataclass(frozen=True)
class _Parameter:
    """Where a parameter keeps its numbers."""

    parameter: Any
    is_constant = False

    def get(self) -> Any:
        return self.parameter.data

    def set(self, value: Any) -> None:
        self.parameter.grad = None  # its dtype must be the parameter's
        self.parameter.data = value


@dataclass(frozen=True)
class _Entry:
    """Where a buffer, or a tensor that a module keeps as an attribute, is found."""

    owner: MutableMapping[str, Any]
    name: str
    is_constant = True

    def get(self) -> Any:
        return self.owner[self.name]

    def set(self, value: Any) -> None:
        self.owner[self.name] = value


class WorkingModel:
    """The model that runs: `module`. `note` says why it is not a copy, where one was asked for."""

    def __init__(self, model: torch.nn.Module, *, copied: bool) -> None:
        self.note = ""
        self.module = model
        if copied:
            try:
                self.module = copy.deepcopy(model)
            except Exception as error:  # a model may hold anything, such as a lock or a file
                reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:120]
                self.note = f"cannot be copied ({reason}), so it ran itself and was put back as it was"
        self._places = list(_places(self.module))
        self._originals = [place.get() for place in self._places]
        self._gradients = [(item, item.grad) for item in _parameters(self.module)]
        self._modes = [(item, item.training) for item in self.module.modules()]

    def own_weights(self) -> None:
        """Give the model tensors of its own, which may be written over."""
        for place in self._places:
            place.set(place.get().detach().clone())

    @contextlib.contextmanager
    def running(
        self, dtype: str, *, train: bool, written: bool, change: Change | None = None, changes_all: bool = False
    ) -> Iterator[None]:
        """Run in `dtype`, or in its own if that is empty. `written` says that weights will be written over; `change` is
        applied to everything that is not a parameter, or to all if it `changes_all`."""
        before = [place.get() for place in self._places]
        kind = getattr(torch, dtype) if dtype else None
        try:
            for place, value in zip(self._places, before, strict=True):
                kept = written or place.is_constant
                place.set(
                    _converted(value, kind, kept=kept, change=change if changes_all or place.is_constant else None)
                )
            self.module.train(train)
            yield
        finally:
            for item in _parameters(self.module):
                item.grad = None
            for place, value in zip(self._places, before, strict=True):
                place.set(value)

    def close(self) -> None:
        """Put everything back, if the model is the caller's own."""
        for place, value in zip(self._places, self._originals, strict=True):
            place.set(value)
        for item, gradient in self._gradients:
            item.grad = gradient
        for module, training in self._modes:
            module.training = training


def _converted(value: Any, dtype: Any, *, kept: bool, change: Change | None) -> Any:
    floating = value.is_floating_point() or value.is_complex()
    found = value
    if floating and dtype is not None:
        wide = {torch.float64: torch.complex128, torch.float32: torch.complex64}.get(dtype, value.dtype)
        found = value.detach().to(wide if value.is_complex() else dtype)
    if change is not None and floating:
        found = change(found.detach())
    return found.detach().clone() if kept and found is value else found


def _parameters(model: torch.nn.Module) -> list[Any]:
    beside = [slot.value for slot in slots_beside(model).values()]
    return list({id(item): item for item in (*model.parameters(), *beside)}.values())


def _places(model: torch.nn.Module) -> Iterator[_Parameter | _Entry]:
    parameters = [item for item in _parameters(model) if isinstance(item, torch.Tensor) and not is_lazy(item)]
    known = {id(item) for item in parameters}
    yield from map(_Parameter, parameters)
    for module in model.modules():
        for owner in (module._buffers, vars(module)):
            for name, value in list(owner.items()):
                if isinstance(value, torch.Tensor) and id(value) not in known and not is_lazy(value):
                    yield _Entry(owner, name)
