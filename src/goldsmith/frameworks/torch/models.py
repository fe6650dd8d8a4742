"""Models of torch: modules, their weights and hooks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.nn.parameter import is_lazy

from goldsmith.frameworks.torch.converted import ConvertedModule as ConvertedModule
from goldsmith.frameworks.torch.foreign import LoadedForeign as LoadedForeign
from goldsmith.frameworks.torch.foreign import across as across
from goldsmith.frameworks.torch.foreign import constructed as constructed
from goldsmith.frameworks.torch.hooks import ForwardCalls as ForwardCalls
from goldsmith.frameworks.torch.hooks import on_enter as on_enter
from goldsmith.frameworks.torch.hooks import on_leave as on_leave
from goldsmith.frameworks.torch.load import LoadedModule as LoadedModule
from goldsmith.frameworks.torch.load import kinds as kinds
from goldsmith.frameworks.torch.load import unregistered
from goldsmith.frameworks.torch.load import weight_facts as weight_facts
from goldsmith.frameworks.torch.stress import stress as stress
from goldsmith.frameworks.torch.weight_use import WeightUse as WeightUse
from goldsmith.frameworks.torch.weight_use import unused_parameters as unused_parameters
from goldsmith.frameworks.torch.working_model import WorkingModel as WorkingModel
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


def functional(model: Any) -> Any:
    """Return what a model computes as a function of its weights by name, and of its arguments."""

    def function(weights: Mapping[str, Any], *args: Any, **kwargs: Any) -> Any:
        buffers = {name: item.detach().clone() for name, item in model.named_buffers() if name not in weights}
        return torch.func.functional_call(model, {**buffers, **weights}, args, kwargs)

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


def clear_gradients(model: Any) -> None:
    model.zero_grad()


# --- a model as a whole


def place(model: Any, device: str) -> Any:
    return model.to(device)


def in_precision(model: Any, dtype: str) -> Any:
    return model.double() if dtype == "float64" else model.float()


def is_training(module: Any) -> bool:
    return bool(module.training)


def set_training(model: Any, training: bool) -> Any:
    return model.train(training)


def device(model: Any) -> Any:
    return next((item.device for item in (*model.parameters(), *model.buffers())), None)


def optimiser(model: Any, make: Callable[[Any], Any] | None = None) -> Any:
    learned = [item for item in model.parameters() if item.requires_grad]
    return torch.optim.SGD(learned, lr=PLAIN_LEARNING_RATE) if make is None else make(learned)
