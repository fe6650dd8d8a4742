"""Facts about a model that has been built: its weights and their kinds, dtype, device and number of heads."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from goldsmith.frameworks.framework import Framework, arrays_of, framework_of, modelling, models_of, undisturbed
from goldsmith.gold.arrays import dtype_name, is_array
from goldsmith.gold.call_forms import tensors_in
from goldsmith.gold.facts import WeightFacts
from goldsmith.runs.implementation import Described
from goldsmith.runs.live.configurations import built_with_of
from goldsmith.runs.live.returned_values import InputSet
from goldsmith.weights.placement import Placed

_HEADS = ("num_heads", "n_heads", "n_head", "heads", "nhead", "num_attention_heads")
_LONGEST = 200
DTYPES = ("float64", "float32", "float16", "bfloat16")
"""Floating dtypes, the coarsest last."""


def described(model: Any, library: Framework, note: str) -> Described:
    """Describe a model of a library."""
    models = library.models
    state = models.state(model)
    modules = {name: type(item).__name__ for name, item in models.modules(model).items()}
    return msgspec.structs.replace(
        built_with_of(model),
        name=modules[""],
        is_module=True,
        library=library.name,
        unseen=models.UNSEEN,
        waits=not state and bool(models.unbuilt(model)),
        dtype=coarsest_dtype(state.values()),
        weights=shapes_of(state),
        kinds=models.kinds(model),
        facts=models.weight_facts(model),
        modules=modules,
        places=places_of(model),
        made=places_of(model, "__init__"),
        settings=shown_settings(model),
        notes=(note,) if note else (),
    )


def described_function(target: Any) -> Described:
    """Describe what is no model."""
    library = modelling()
    name = library.name if library is not None else ""
    return msgspec.structs.replace(built_with_of(target), name=name_of(target), library=name)


def shapes_of(weights: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    return {name: tuple(item.shape) for name, item in weights.items()}


def name_of(target: Any) -> str:
    """Return the name of a model's class, or of a function."""
    models = models_of(target)
    if models is not None:
        return type(models.modules(target)[""]).__name__
    own = getattr(target, "__qualname__", None)
    return (own if isinstance(own, str) else type(target).__name__).replace("<locals>.", "")


def kind_of(value: Any) -> str:
    """Say what something is that cannot be called."""
    if value is None:
        return "None"
    if type(value) is tuple and len(value) == 2:
        return "a pair, but not of a module and its variables, or of parameters that are arrays and a function of them"
    return f"the class {value.__name__}" if isinstance(value, type) else f"of type {type(value).__name__}"


def places_of(model: Any, method: str = "") -> dict[str, str]:
    """Return where a method of each class of modules is, if not the one that calls it: the file, as seen from here if
    it is below, and line. An `__init__` of a library's makes nothing that anybody can change."""
    models = models_of(model)
    assert models is not None
    kinds = {type(item).__name__: type(item) for item in models.modules(model).values()}
    codes = {
        name: getattr(getattr(kind, method or models.CALLED, None), "__code__", None)
        for name, kind in kinds.items()
        if not method or not models.is_library_class(kind)
    }
    here = f"{os.getcwd()}{os.sep}"
    return {
        name: f"{code.co_filename.removeprefix(here)}:{code.co_firstlineno}" for name, code in codes.items() if code
    }


def shown_settings(model: Any) -> dict[str, str]:
    """Return how each module was made: as torch shows it, else its numbers, texts and switches."""
    found = {}
    models = models_of(model)
    assert models is not None
    for name, item in models.modules(model).items():
        try:
            shown = item.extra_repr()
        except Exception:  # it may be the user's own
            shown = ""
        own = {key: value for key, value in vars(item).items() if key[0] != "_" and key != "training"}
        plain = (f"{key}={value!r}" for key, value in own.items() if type(value) in (bool, int, float, str))
        found[name] = (shown or ", ".join(plain))[:_LONGEST]
    return {name: text for name, text in found.items() if text}


def settings_of(model: Any) -> dict[str, Any]:
    """Return the number of heads, where all of the model's modules and settings agree on it."""
    models = models_of(model)
    assert models is not None
    places = [vars(item) for item in models.modules(model).values()]
    config = getattr(model, "config", None)
    places += [vars(config)] if hasattr(config, "__dict__") else []
    heads = {place[name] for place in places for name in _HEADS if type(place.get(name)) is int}
    return {"num_heads": heads.pop()} if len(heads) == 1 else {}


def dtype_of(model: Any) -> str:
    models = models_of(model)
    assert models is not None
    return coarsest_dtype(models.parameters(model).values())


def coarsest_dtype(tensors: Any) -> str:
    names = {dtype_name(item) for item in tensors} & set(DTYPES)
    return max(names, key=DTYPES.index, default="")


def device_of(model: Any) -> Any:
    models = models_of(model)
    return None if models is None else models.device(model)


def in_library(array: Any, library: Framework | None) -> Any:
    """Return an array as one of a model's own library, if it is another library's; NumPy's stay what they are."""
    held = tensor_library(array)
    if library is None or held is None or held.name == library.name:
        return array
    return received(arrays_of(array).to_numpy(array), library)


def received(values: Any, library: Framework) -> Any:
    """Return numbers of the host as an array of a library; that is nothing that the model computes."""
    with undisturbed():
        return library.arrays.received(values)


def tensor_library(array: Any) -> Framework | None:
    """Return the library that an array is of; None for NumPy's."""
    found = framework_of(array)
    return None if found is None or found.name == "numpy" else found


def detached(array: Any) -> Any:
    return arrays_of(array).detached(array) if is_array(array) else array


def arrays_in(given: InputSet) -> dict[str, Any]:
    """Return every array among the arguments by name."""
    found: dict[str, Any] = {}
    for name, value in given.named().items():
        arrays = tensors_in([value])
        found |= {name if len(arrays) == 1 else f"{name}.{number}": item for number, item in enumerate(arrays)}
    return found


def row_orders(placed: Sequence[Placed], weights: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Return, for weights of the reference's whose rows are in another order here, which of its rows each row is."""
    found: dict[str, tuple[int, ...]] = {}
    for item in placed:
        if item.sizes and len(item.gold) == len(item.theirs) == 1:
            own = weights[item.gold[0]]
            count = len(own)
            order = [int(number) for number in item.carry([arrays_of(own).like(np.arange(count), own)])[0]]
            if order != list(range(count)):
                found[item.gold[0]] = tuple(order)
    return found


def generator_of(seed: int) -> Any:
    return np.random.default_rng(seed)


def weights_to_place(
    weights: Mapping[str, Any], facts: WeightFacts, module: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the weights of both that are learned, each once; one that is tied by the name that both have."""
    left_out = {*facts.buffers, *(name for names in facts.tied for name in names[1:])}
    names: dict[int, str] = {}
    models = models_of(module)
    assert models is not None
    for name, item in models.named_parameters(module).items():
        if id(item) not in names or name in weights:
            names[id(item)] = name
    own = models.state(module)
    mine = {name: item for name, item in weights.items() if name not in left_out}
    return mine, {name: own[name] for name in names.values() if name in own}
