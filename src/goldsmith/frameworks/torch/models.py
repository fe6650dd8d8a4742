"""Models of torch: modules, their weights, and a model that can run in any precision."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.parameter import is_lazy

from goldsmith.frameworks.torch.foreign import LoadedForeign as LoadedForeign
from goldsmith.frameworks.torch.foreign import across as across
from goldsmith.frameworks.torch.foreign import constructed as constructed
from goldsmith.frameworks.torch.load import ConvertedModule as ConvertedModule
from goldsmith.frameworks.torch.load import LoadedModule as LoadedModule
from goldsmith.frameworks.torch.load import kinds as kinds
from goldsmith.frameworks.torch.load import stress as stress
from goldsmith.frameworks.torch.load import unregistered
from goldsmith.frameworks.torch.load import weight_facts as weight_facts
from goldsmith.frameworks.torch.observers import ForwardCalls as ForwardCalls
from goldsmith.frameworks.torch.observers import WeightUse as WeightUse
from goldsmith.frameworks.torch.observers import on_enter as on_enter
from goldsmith.frameworks.torch.observers import on_leave as on_leave
from goldsmith.frameworks.torch.observers import unused_parameters as unused_parameters
from goldsmith.gold.arrays import is_array
from goldsmith.runs.implementation import PLAIN_LEARNING_RATE
from goldsmith.weights.object_weights import slots_beside

TYPES = (torch.nn.Module,)
CALLED = "forward"
IN_STEP = True
UNSEEN = ""
OPTIMISERS = (torch.optim.Optimizer,)


def adopted(value: Any) -> Any:
    return value


def modules(model: Any) -> dict[str, Any]:
    return dict(model.named_modules())


def alone(model: Any, name: str) -> Any:
    return model.get_submodule(name)


def is_library_class(kind: type) -> bool:
    return kind.__module__.startswith("torch.")


# --- weights

USUAL_GAIN = 1 / 3


def usual_draw(module: Any) -> tuple[float, int] | None:
    layers = (torch.nn.Linear, torch.nn.modules.conv._ConvNd)
    return (
        (USUAL_GAIN, module.weight[0].numel())
        if type(module).__module__.startswith("torch.") and isinstance(module, layers)
        else None
    )


def weights(model: Any) -> dict[str, Any]:
    found = {name: value for name, value in model.state_dict().items() if is_array(value)}
    return found | unregistered(model)


def unbuilt(model: Any) -> str:
    return next((name for name, value in weights(model).items() if is_lazy(value)), "")


def state(module: Any) -> dict[str, Any]:
    """Return parameters and persistent buffers by name, not copied."""
    state = {name: item.detach() for name, item in module.state_dict().items() if isinstance(item, torch.Tensor)}
    return state | {name: slot.value.detach() for name, slot in slots_beside(module).items()}


def put(model: Any, weights: Mapping[str, Any]) -> Any:
    model.load_state_dict(dict(weights), strict=False)
    return model


class _Inside(torch.nn.Module):
    """A module of a model, or a method of it, as a module that has all of the model's weights."""

    def __init__(self, model: Any, name: str, method: str) -> None:
        super().__init__()
        self.model, self._name, self._method = model, name, method or CALLED

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        module = self.model.get_submodule(self._name)
        return module(*args, **kwargs) if self._method == CALLED else getattr(module, self._method)(*args, **kwargs)


def functional(model: Any, name: str = "", method: str = "") -> Any:
    """Return what a model computes, or one of its modules, as a function of its weights by name, and of its
    arguments."""

    def function(weights: Mapping[str, Any], *args: Any, **kwargs: Any) -> Any:
        buffers = {name: item.detach().clone() for name, item in model.named_buffers() if name not in weights}
        values = {f"model.{name}": item for name, item in {**buffers, **weights}.items()}
        return torch.func.functional_call(_Inside(model, name, method), values, args, kwargs)

    return function


def put_back(module: Any, before: Mapping[str, Any]) -> None:
    """Write weights into a module again, as `state_of` gave them."""
    with torch.no_grad():
        for name, item in state(module).items():
            if name in before:
                item.copy_(before[name])


def parameters(model: Any) -> dict[str, Any]:
    return dict(model.named_parameters())


def named_parameters(model: Any) -> dict[str, Any]:
    return dict(model.named_parameters(remove_duplicate=False)) | unregistered(model)


def frozen(model: Any) -> set[str]:
    return {name for name, item in model.named_parameters() if not item.requires_grad}


def gradients(model: Any) -> dict[str, Any]:
    return {name: item.grad for name, item in (parameters(model) | unregistered(model)).items()}


def take_gradients(model: Any, loss: Callable[[Any], Any]) -> Any:
    clear_gradients(model)
    with torch.enable_grad():
        total = loss(model)
        total.backward()
    return total


def clear_gradients(model: Any) -> None:
    model.zero_grad()


# --- a model as a whole


def place(model: Any, device: str) -> Any:
    return model.to(device)


def in_precision(model: Any, dtype: str) -> Any:
    return model.to(getattr(torch, dtype))


def is_training(module: Any) -> bool:
    return bool(module.training)


def set_training(model: Any, training: bool) -> Any:
    return model.train(training)


def device(model: Any) -> Any:
    return next((item.device for item in (*model.parameters(), *model.buffers())), None)


def optimiser(model: Any, make: Callable[[Any], Any] | None = None) -> Any:
    learned = [item for item in model.parameters() if item.requires_grad]
    return torch.optim.SGD(learned, lr=PLAIN_LEARNING_RATE) if make is None else make(learned)


# --- a model that runs in any precision


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
    """A model that can run in any precision, with other weights, and is what it was afterwards: `module`.

    It is a copy of the caller's where that can be made and is asked for, else the caller's own; then `note` says why.
    Tensors are never written over: they are exchanged for others while the model runs, and put back.
    """

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
