"""Models of a case: building them, recording their settings, choosing and storing weights, reading gradients.

A torch module's weights are its state dict and the parameters that it keeps in lists. Any other object's weights are
the arrays that it holds, so that a class written in plain NumPy can be a model.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from goldsmith.errors.recipe import RecipeMisuse
from goldsmith.frameworks.framework import adopted, arrays_of, is_module, library_of, models_of, reseeded, source_name
from goldsmith.frameworks.randomness import random_states
from goldsmith.gold.arrays import is_array
from goldsmith.weights.object_weights import find_slots, has_objects
from goldsmith.weights.values import snapshot

T = TypeVar("T")
PROFILES = ("init", "stress")
_PLAIN = (bool, int, float, str, type(None))


@dataclass(frozen=True)
class WeightAccess:
    """A recipe's own functions that read a model's weights, as arrays by name, and put such arrays into a model."""

    get: Callable[[Any], Any]
    set: Callable[[Any, Any], Any]


def draws_while(make: Callable[[], T]) -> tuple[T, bool]:
    """Call `make`; return its result and whether the call drew random numbers."""
    before = random_states()
    made = make()
    return made, random_states() != before


def unstored(model: Any, drew: bool) -> tuple[str, ...]:
    """Return the names of an object's weights that cannot be replaced, or `*` if building the object drew random
    numbers and no weights were found in it."""
    if is_module(model):
        return ()
    slots = find_slots(model)
    refused = [name for name, slot in slots.items() if not slot.is_writable()]
    return tuple(refused) or (("*",) if drew and not slots else ())


def build(
    factory: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    device: str,
    seed: int | None = None,
) -> Any:
    """Build a model, from a `seed` if there is one: what arguments draw from, such as a key, has that seed then."""
    if seed is not None:
        args = tuple(item if type(item) in _PLAIN else reseeded(item, seed) for item in args)
        kwargs = {name: item if type(item) in _PLAIN else reseeded(item, seed) for name, item in kwargs.items()}
    if is_module(factory):
        name = type(factory).__name__
        raise RecipeMisuse(f"case.model takes the class and its arguments, not a finished model: case.model({name}, …)")
    model = factory(*args, **kwargs)
    model = model if is_module(model) else adopted(model)
    if model is None:
        raise RecipeMisuse(f"{_name(factory)}(…) returned None, not a model")
    models = models_of(model)
    return models.place(model, device) if models is not None else model


def compile_model(model: Any) -> None:
    """Have a model's calls compiled, as long as such conditions are held."""
    library = library_of(model)
    if library is not None:
        library.numerics.compiled(model)


def choose_weights(model: Any, profile: str, seed: int) -> Any:
    """Return the model with the weights of a profile."""
    if profile not in PROFILES:
        raise RecipeMisuse(f"weights={profile!r} is not a profile; there are {', '.join(PROFILES)}")
    if profile == "stress":
        models = models_of(model)
        if models is not None:
            return models.stress(model, seed)
        moved: list[str] = []
        _stress_arrays(getattr(model, "__dict__", {}), seed, moved)
        if not moved:
            kind = type(model).__name__
            raise RecipeMisuse(f"weights='stress' finds nothing to move: {kind} has no array among its attributes")
    return model


def weights_of(model: Any, label: str) -> dict[str, Any]:
    """Return independent copies of parameters and persistent buffers, by name."""
    return read_weights(model, None, label)


def _weights_in(model: Any, label: str) -> dict[str, Any]:
    models = models_of(model)
    if models is not None:
        state = models.weights(model)
        lazy = models.unbuilt(model)
        if lazy:
            raise RecipeMisuse(
                f"{label}: {lazy} has no shape yet; give case.model a function that builds the model and calls it once"
                ", or returns (module, variables)"
            )
    else:
        own = vars(model) if hasattr(model, "__dict__") else {}
        state = _only_arrays({name: value for name, value in own.items() if not has_objects(value)})
        state |= {name: slot.read() for name, slot in find_slots(model).items() if name.partition(".")[0] not in state}
    return state


def read_weights(model: Any, settled: Any, label: str, *, copied: bool = True) -> dict[str, Any]:
    """Return a model's weights, under gold's names where it is `settled` with gold's; unless `copied`, where they
    are."""
    found: dict[str, Any] = _weights_in(model, label) if settled is None else settled.weights()
    if copied:
        found = snapshot(found, label)
    return found


def _only_arrays(value: Any) -> Any:
    """Return the arrays in nested attributes, empty where there are none."""
    if isinstance(value, dict):
        kept = {key: _only_arrays(item) for key, item in value.items()}
        return {key: item for key, item in kept.items() if is_array(item) or item}
    if isinstance(value, list | tuple) and any(is_array(item) or isinstance(item, dict) for item in value):
        return [_only_arrays(item) for item in value]
    return value if is_array(value) else {}


def _stress_arrays(weights: Any, seed: int, moved: list[str], name: str = "") -> Any:
    """Redraw the arrays in nested dicts and lists, and note their names; others take the place of immutable ones."""
    if isinstance(weights, dict):
        for key, item in list(weights.items()):
            found = _stress_arrays(item, seed, moved, f"{name}.{key}")
            if found is not item:
                weights[key] = found
    elif isinstance(weights, list | tuple) and any(is_array(item) or isinstance(item, dict) for item in weights):
        items = [_stress_arrays(item, seed, moved, f"{name}.{at}") for at, item in enumerate(weights)]
        if any(one is not two for one, two in zip(items, weights, strict=True)):
            fields = hasattr(weights, "_fields")
            return type(weights)(*items) if fields else type(weights)(items)
    elif is_array(weights):
        found = arrays_of(weights).stressed(weights, name, seed)
        if found is not None:
            moved.append(name)
            return found
    return weights


def gradients_of(model: Any, label: str) -> dict[str, Any]:
    """Return each parameter's gradient itself, by name, None where it has none."""
    models = models_of(model)
    if models is None:
        raise RecipeMisuse(f"{label}: gradients can be read from a torch.nn.Module, not {type(model).__name__}")
    gradients = models.gradients(model)
    if all(gradient is None for gradient in gradients.values()):
        raise RecipeMisuse(f"{label}: no parameter has a gradient; call backward() first")
    return gradients


def settings_of(factory: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments by name, so that `factory(**settings)` builds the same model; without what random numbers
    are drawn from."""
    args = tuple(item for item in args if type(item) in _PLAIN or not source_name(item))
    kwargs = {name: item for name, item in kwargs.items() if type(item) in _PLAIN or not source_name(item)}
    if not args:
        return dict(kwargs)
    try:
        signature = signature_of(factory)
        bound = signature.bind_partial(*args, **kwargs)
    except (TypeError, ValueError):
        return {"args": list(args), **kwargs}
    settings: dict[str, Any] = {}
    for name, value in bound.arguments.items():
        kind = signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            settings.update(value)
        else:
            settings[name] = value
    return settings


def signature_of(factory: Any) -> inspect.Signature:
    """Return the signature of a factory; of a class whose metaclass hides it, that of its constructor."""
    found = inspect.signature(factory)
    kinds = [item.kind for item in found.parameters.values()]
    if not isinstance(factory, type) or kinds != [inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD]:
        return found
    kind: Any = factory
    own = inspect.signature(kind.__init__)
    return own.replace(parameters=list(own.parameters.values())[1:])


def _name(factory: Any) -> str:
    return getattr(factory, "__name__", type(factory).__name__)
