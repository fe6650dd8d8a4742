"""Building the models of a case: settings kept, weights chosen and kept, gradients read.

A torch module's weights are its state dict. Of any other object they are the arrays among its attributes,
so that a class written in plain NumPy is as good a model as any.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeGuard

from goldsmith.gold import is_array
from goldsmith.recording.misuse import RecipeMisuse
from goldsmith.recording.stress import apply_stress, apply_stress_to_arrays
from goldsmith.recording.values import snapshot

if TYPE_CHECKING:
    import torch

PROFILES = ("init", "stress")


def is_module(value: object) -> TypeGuard[torch.nn.Module]:
    loaded = sys.modules.get("torch")
    return loaded is not None and isinstance(value, loaded.nn.Module)


def build(factory: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any], device: str) -> Any:
    if is_module(factory):
        name = type(factory).__name__
        raise RecipeMisuse(f"case.model takes the class and its arguments, not a finished model: case.model({name}, …)")
    model = factory(*args, **kwargs)
    if model is None:
        raise RecipeMisuse(f"{_name(factory)}(…) returned None, not a model")
    return model.to(device) if is_module(model) else model


def choose_weights(model: Any, profile: str, seed: int) -> None:
    if profile not in PROFILES:
        raise RecipeMisuse(f"weights={profile!r} is no profile; there are {', '.join(PROFILES)}")
    if profile == "stress":
        if is_module(model):
            apply_stress(model, seed)
        elif not apply_stress_to_arrays(_only_arrays(vars(model)) if hasattr(model, "__dict__") else {}, seed):
            kind = type(model).__name__
            raise RecipeMisuse(f"weights='stress' finds nothing to move: {kind} has no array among its attributes")


def weights_of(model: Any, label: str) -> dict[str, Any]:
    """Parameters and persistent buffers as independent copies, by name."""
    if is_module(model):
        state = {name: value for name, value in model.state_dict().items() if is_array(value)}
        _refuse_lazy(state, label)
    else:
        state = _only_arrays(vars(model)) if hasattr(model, "__dict__") else {}
    copies: dict[str, Any] = snapshot(state, label)
    return copies


def _only_arrays(value: Any) -> Any:
    """The arrays in nested attributes, empty where there are none."""
    if isinstance(value, dict):
        kept = {key: _only_arrays(item) for key, item in value.items()}
        return {key: item for key, item in kept.items() if is_array(item) or item}
    if isinstance(value, list | tuple) and any(is_array(item) or isinstance(item, dict) for item in value):
        return [_only_arrays(item) for item in value]
    return value if is_array(value) else {}


def _refuse_lazy(state: Mapping[str, Any], label: str) -> None:
    from torch.nn.parameter import is_lazy

    lazy = [name for name, value in state.items() if is_lazy(value)]
    if lazy:
        raise RecipeMisuse(
            f"{label}: {lazy[0]} has no shape yet; give case.model a function that builds the model and calls it once"
        )


def gradients_of(model: Any, label: str) -> dict[str, Any]:
    """Each parameter's gradient by name, None where it has none."""
    if not is_module(model):
        raise RecipeMisuse(f"{label}: gradients can be read from a torch.nn.Module, not {type(model).__name__}")
    gradients = {name: parameter.grad for name, parameter in model.named_parameters()}
    if all(gradient is None for gradient in gradients.values()):
        raise RecipeMisuse(f"{label}: no parameter has a gradient; call backward() first")
    copies: dict[str, Any] = snapshot(gradients, label)
    return copies


def settings_of(factory: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments by name, so that `factory(**settings)` builds the same model."""
    if not args:
        return dict(kwargs)
    try:
        bound = inspect.signature(factory).bind(*args, **kwargs)
    except (TypeError, ValueError):
        return {"args": list(args), **kwargs}
    settings: dict[str, Any] = {}
    for name, value in bound.arguments.items():
        kind = inspect.signature(factory).parameters[name].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            settings.update(value)
        else:
            settings[name] = value
    return settings


def _name(factory: Any) -> str:
    return getattr(factory, "__name__", type(factory).__name__)
