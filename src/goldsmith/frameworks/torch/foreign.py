"""Models and functions of another framework as torch's, so that a recipe in torch runs on them as it stands.

The other side is known through the seam alone: its weights by name, its function of these, and what that passes back.
A call is one operation of autograd's graph; what it passes back is computed when that is asked for, by another call.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import CodeType
from typing import Any

import torch

from goldsmith.frameworks.framework import Framework, framework, source_name
from goldsmith.frameworks.torch.arrays import unwrapped
from goldsmith.weights.crossing import ForeignWeights, LoadedAcross, NeedsOwnForm, arrays_in, converted, with_arrays
from goldsmith.weights.crossing import across as crossing

_CALLERS = ("torch", "goldsmith")
"""Packages that may look into a model that has no modules of torch: for them there is nothing in it."""
_HISTORY = frozenset(("requires_grad", "grad_fn", "is_leaf"))
_INSIDE = frozenset(("modules", "named_modules", "children", "named_children", "apply", "get_submodule"))


def across(other: Framework, function: Callable[[list[Any]], Any], tensors: Sequence[torch.Tensor]) -> Any:
    """Call a function of another framework with tensors, and return what it returns with tensors in it."""
    if any(unwrapped(item) is not item for item in tensors):
        raise NeedsOwnForm("it transforms a function by torch.func")
    call = _Call(other, function)
    results = call.results(tensors)
    return with_arrays(call.returned, other, results)


def constructed(part: Any, args: Sequence[Any], kwargs: Mapping[str, Any], seed: int) -> Any:
    """Call a class or function without what another framework draws random numbers from, such as keys; with None where
    it asks for that."""

    def given(*, stand_in: bool) -> tuple[list[Any], dict[str, Any]]:
        kept = [None if source_name(item) else item for item in args if stand_in or not source_name(item)]
        named = {key: item for key, item in kwargs.items() if stand_in or not source_name(item)}
        return kept, {key: None if source_name(item) else item for key, item in named.items()}

    plain, named = given(stand_in=False)
    if len(plain) + len(named) < len(args) + len(kwargs):
        try:
            inspect.signature(part).bind(*plain, **named)
        except (TypeError, ValueError):
            plain, named = given(stand_in=True)
    return part(*plain, **named)


class _Call:
    """A function of another framework, and what it returned last."""

    def __init__(self, other: Framework, function: Callable[[list[Any]], Any]) -> None:
        self.other, self.function = other, function
        self.returned: Any = None

    def results(self, tensors: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        """Make the call, and return the arrays in what it returned as tensors, with their history."""
        own = framework("torch")
        device = tensors[0].device if tensors else torch.device("cpu")
        wide = any(item.dtype in (torch.float64, torch.complex128) for item in tensors)
        with self.other.arrays.wide() if wide else contextlib.nullcontext():
            self.returned = self.function([converted(item, self.other) for item in tensors])
            found = [converted(item, own).to(device) for item in arrays_in(self.returned, self.other)]
        if not found or not torch.is_grad_enabled() or not any(item.requires_grad for item in tensors):
            return found
        cut = self._cut_off(tensors, found) if _recipe_reads_history() else []
        results = _Crossing.apply(self, found, *tensors)  # type: ignore[no-untyped-call]
        return [item.detach() if number in cut else item for number, item in enumerate(results)]

    def _cut_off(self, tensors: Sequence[torch.Tensor], results: Sequence[torch.Tensor]) -> list[int]:
        """Return the numbers of the results that pass nothing back."""
        inexact = [_is_inexact(item) for item in results]
        pulled = self.pulled(len(tensors), inexact)
        places = [number for number, wanted in enumerate(inexact) if wanted]
        cut = []
        for place in places:
            along = [torch.full_like(results[other], float(other == place)) for other in places]
            with torch.no_grad():
                pulled.results([*tensors, *along])
            passed = zip(tensors, pulled.returned, strict=True)
            if not any(item.requires_grad and gradient is not None for item, gradient in passed):
                cut.append(place)
        return cut

    def pulled(self, count: int, inexact: Sequence[bool]) -> _Call:
        """Return the call whose arrays are this one's, and then directions in its inexact results, and that returns
        gradients."""

        def pull(arrays: list[Any]) -> Any:
            def outputs(given: list[Any]) -> list[Any]:
                found = arrays_in(self.function(given), self.other)
                return [item for item, wanted in zip(found, inexact, strict=True) if wanted]

            return self.other.numerics.vjp(outputs, arrays[:count])[1](arrays[count:])

        return _Call(self.other, pull)


class _Crossing(torch.autograd.Function):
    """A call that has been made, as an operation of autograd's graph."""

    @staticmethod
    def forward(ctx: Any, call: _Call, results: list[torch.Tensor], *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        ctx.call = call
        ctx.save_for_backward(*tensors)
        ctx.set_materialize_grads(False)
        ctx.inexact = [_is_inexact(item) for item in results]
        ctx.results = [(item.shape, item.dtype, item.device) for item in results]
        ctx.mark_non_differentiable(*(item for item in results if not _is_inexact(item)))
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *directions: Any) -> Any:
        tensors = ctx.saved_tensors
        given = [
            torch.zeros(shape, dtype=dtype, device=device) if item is None else item.conj().resolve_conj()
            for item, (shape, dtype, device), wanted in zip(directions, ctx.results, ctx.inexact, strict=True)
            if wanted
        ]
        call = ctx.call.pulled(len(tensors), ctx.inexact)
        found = iter(call.results([*tensors, *given]))
        return (None, None, *(None if item is None else next(found).conj() for item in call.returned))


def _recipe_reads_history() -> bool:
    """Say whether the recipe's functions that are running ask whether gradients are recorded for something."""
    frame: Any = sys._getframe()
    while frame is not None:
        if frame.f_globals.get("__name__") == "__main__" and not _HISTORY.isdisjoint(_names_in(frame.f_code)):
            return True
        frame = frame.f_back
    return False


def _names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for item in code.co_consts:
        if isinstance(item, CodeType):
            yield from _names_in(item)


def _is_inexact(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


class ForeignModule(torch.nn.Module):
    """Another framework's model as a module with gold's own parameters, of which the model's are made in each call. It
    has no submodules."""

    def __init__(self, held: ForeignWeights) -> None:
        super().__init__()
        vars(self)["_foreign"] = held
        for name, array in held.values.items():
            tensor = converted(array, framework("torch"))
            if name not in held.learned:
                self._buffers[name] = tensor
            elif held.learned[name] == name:
                self._parameters[name] = torch.nn.Parameter(tensor)
            else:
                self._parameters[name] = self._parameters[held.learned[name]]  # tied

    @classmethod
    def of(cls, held: ForeignWeights) -> ForeignModule:
        """Return the model as a module whose class has its class's name, by which it is known in traces."""
        kind = type(held.model)
        named = type(kind.__name__, (cls,), {"__module__": kind.__module__, "__doc__": kind.__doc__})
        made: ForeignModule = named(held)
        return made

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        held = self._foreign
        held.build(framework("torch"), args, kwargs)
        if self.training and held.state:
            raise NeedsOwnForm(f"it trains a model that keeps {held.state[0]} up to date besides what it learns")
        function = held.other.models.functional(held.model)
        return crossing(across, held.other, framework("torch"), function)(self._made(), *args, **kwargs)

    def _made(self) -> dict[str, torch.Tensor]:
        """Return the model's own weights, by its own names."""
        made: dict[str, torch.Tensor] = self._foreign.made({**self._buffers, **self._parameters})
        return made

    def train(self, mode: bool = True) -> ForeignModule:
        super().train(mode)
        self._foreign.set_training(mode)
        return self

    def __getattribute__(self, name: str) -> Any:
        if name in _INSIDE and sys._getframe(1).f_globals.get("__name__", "").partition(".")[0] not in _CALLERS:
            raise NeedsOwnForm(f"it looks for modules of torch inside of the model, by `{name}`")
        return super().__getattribute__(name)

    def __getattr__(self, name: str) -> Any:
        weights: dict[str, Any] = {**vars(self).get("_buffers", {}), **vars(self).get("_parameters", {})}
        if name in weights or name.startswith("__"):
            return super().__getattr__(name)
        if any(other.startswith(f"{name}.") for other in weights):
            return _Part(weights, name)
        own = getattr(self._foreign.model, name, None)
        if own is None or type(own) in (bool, int, float, str):
            return super().__getattr__(name) if own is None else own
        raise NeedsOwnForm(f"it uses `{name}` of the model, and not only what the model returns")


class _Part:
    """Where a module would be, of which there are only the weights."""

    def __init__(self, weights: Mapping[str, Any], path: str) -> None:
        self._weights, self._path = weights, path

    def _refuse(self, *args: Any, **kwargs: Any) -> Any:
        raise NeedsOwnForm(f"it uses {self._path} of the model by itself")

    __call__ = __iter__ = __len__ = _refuse

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        path = f"{self._path}.{name}"
        if path in self._weights:
            return self._weights[path]
        inside = any(item.startswith(f"{path}.") for item in self._weights)
        return _Part(self._weights, path) if inside else self._refuse()

    def __getitem__(self, index: Any) -> Any:
        return getattr(self, str(index))


class LoadedForeign(LoadedAcross):
    """Another framework's model with gold's weights in it, as a module that has gold's own parameters."""

    def _modelled(self, held: ForeignWeights) -> Any:
        return ForeignModule.of(held)

    def weights(self, model: Any = None) -> dict[str, Any]:
        if model is not None and model is not self.model:
            own = framework("torch")
            return {name: converted(item, own) for name, item in self.inner.weights(model).items()}
        held = self.model.state_dict()
        return {name: held[name] for name in self.held.values if name not in self.extra}

    def weights_in_use(self) -> dict[str, Any]:
        return {**self.model._buffers, **self.model._parameters}

    def gradients(self) -> dict[str, Any]:
        named = dict(self.model.named_parameters())
        return {name: item.grad for name, item in named.items() if name not in self.extra}

    def put(self, values: Mapping[str, Any]) -> None:
        held = self.model.state_dict()
        with torch.no_grad():
            for name, value in values.items():
                if name in held and held[name].shape == value.shape:
                    held[name].copy_(value)
