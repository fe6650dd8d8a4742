"""Gradients in a library that differentiates functions: a model is one of its weights here, and what was taken is kept
beside it.

The library's `numerics.differentiated` makes a number of arrays, and returns it with its gradients, None where it does
not depend on an array.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from goldsmith.foundation.nested import leaves_in, map_tree
from goldsmith.frameworks.framework import Framework, arrays_of, library_of
from goldsmith.frameworks.protocols import Backward
from goldsmith.frameworks.randomness import fixed_direction
from goldsmith.gold.arrays import is_array, is_inexact, numbers_of
from goldsmith.gold.call_forms import rebuild

_kept: dict[int, dict[str, Any]] = {}
"""The gradients of models' weights that were taken last, by the identity of the model."""


class CutOffError(Exception):
    """There is nothing to take gradients of."""


def kept_gradients(model: Any) -> dict[str, Any]:
    return _kept.get(id(model), {})


def clear_gradients(model: Any) -> None:
    _kept.pop(id(model), None)


def take_gradients(library: Framework, model: Any, loss: Callable[[Any], Any]) -> Any:
    """Return the number that a function makes of a model; what changes in the model in the call changes once."""
    found: dict[str, Any] = {}
    with contextlib.suppress(CutOffError):
        run: Any = lambda own, _: loss(library.models.with_weights(model, own))  # noqa: E731
        _, found, _ = _differentiated(library, run, weights_of(model), [])
    _kept[id(model)] = found
    return loss(model)


def backward(
    library: Framework,
    call: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    total: Callable[[Any], Any],
) -> Backward:
    given = [list(args), dict(kwargs)]
    leaves = [leaf for leaf in leaves_in(given, _is_object) if _learns(leaf)]

    def run(weights: Mapping[str, Any], values: Sequence[Any]) -> Any:
        items = iter(values)
        positional, named = map_tree(lambda leaf: next(items) if _learns(leaf) else leaf, given, _is_object)
        found = total(_with_weights(library, call, weights)(*positional, **named))
        if found is None:
            raise CutOffError
        return found

    found: Any = None
    of_leaves: list[Any] = []
    with contextlib.suppress(CutOffError):
        found, of_weights, of_leaves = _differentiated(library, run, weights_of(call), leaves)
        if library_of(call) is not None:
            _kept[id(call)] = of_weights
    return Backward(call(*args, **kwargs), found, tuple(args), dict(kwargs), of_leaves)


def passed_back(
    library: Framework,
    call: Callable[..., Any],
    form: Any,
    tensors: Sequence[Any],
    weights: Callable[[], Mapping[str, Any]],
    frozen: Collection[str] = (),
) -> dict[str, Any]:
    """Return the gradients that `call` passes back to `tensors`, by number (`input.0`), and to its `weights`."""
    places = [number for number, item in enumerate(tensors) if _learns(item)]

    def run(own: Mapping[str, Any], values: Sequence[Any]) -> Any:
        given = dict(enumerate(tensors)) | dict(zip(places, values, strict=True))
        args, kwargs = rebuild(form, {str(number): item for number, item in given.items()})
        outputs = list(filter(_learns, leaves_in([_with_weights(library, call, own)(*args, **kwargs)])))
        if not outputs:
            raise CutOffError
        total = sum((item * made_like(_direction(item, number), item)).sum() for number, item in enumerate(outputs))
        return abs(total) if "complex" in str(total.dtype) else total

    try:
        given = [tensors[number] for number in places]
        _, of_weights, of_inputs = _differentiated(library, run, weights_of(call), given)
    except CutOffError:
        return {}
    if (model := _model_of(call)) is not None:
        _kept[id(model)] = of_weights
    found = {f"input.{number}": item for number, item in zip(places, of_inputs, strict=True)}
    found |= {f"{'thawed' if name in frozen else 'weight'}.{name}": item for name, item in weights().items()}
    return {name: numbers_of(item) for name, item in found.items() if item is not None}


def backward_total(
    returned: Any, values: Mapping[str, Any], outputs: Sequence[str], loss: Callable[[Any], Any] | None, seed: int
) -> Any:
    if loss is not None:
        total = loss(returned)
        return total if is_array(total) else None
    parts = []
    for number, path in enumerate(outputs):
        item: Any = values.get(path)
        if _learns(item):
            numbers = item.real + item.imag if "complex" in str(item.dtype) else item
            drawn = fixed_direction(item.shape, seed * 1000 + number)
            parts.append((numbers * made_like(drawn, numbers)).sum())
    return sum(parts) if parts else None


def weights_of(call: Any) -> dict[str, Any]:
    """Return what is learned of what is called: of a model all, of a module alone its own."""
    model = _model_of(call)
    if model is None:
        return {}
    library, prefix = library_of(model), "" if model is call else getattr(call, "name", "")
    assert library is not None
    found = library.models.parameters(model)
    return {name: item for name, item in found.items() if not prefix or name.startswith(f"{prefix}.")}


def _model_of(call: Any) -> Any:
    """Return the model that is called, whole or in part; None if it is a function."""
    if library_of(call) is not None:
        return call
    return call.model if hasattr(call, "with_weights") else None


def _with_weights(library: Framework, call: Any, weights: Mapping[str, Any]) -> Any:
    model = _model_of(call)
    if model is None:
        return call
    return library.models.with_weights(call, weights) if model is call else call.with_weights(weights)


def _differentiated(
    library: Framework, run: Callable[..., Any], weights: Mapping[str, Any], leaves: Sequence[Any]
) -> tuple[Any, dict[str, Any], list[Any]]:
    def flat(*arrays: Any) -> Any:
        return run(dict(zip(weights, arrays, strict=False)), arrays[len(weights) :])

    total, passed = library.numerics.differentiated(flat, [*weights.values(), *leaves])
    return total, dict(zip(weights, passed, strict=False)), passed[len(weights) :]


def _direction(output: Any, number: int) -> Any:
    steps = np.arange(1, output.size + 1, dtype=np.float64)
    return np.cos(steps * 1.7 + number).reshape(output.shape)


def made_like(numbers: Any, template: Any) -> Any:
    """Return numbers of NumPy as an array of the template's library and dtype."""
    arrays = arrays_of(template)
    return arrays.from_numpy(numbers, arrays.dtype(template))


def _learns(value: Any) -> bool:
    return is_array(value) and is_inexact(value)


def _is_object(value: Any) -> bool:
    """Say whether a container is of a class of its own, which is passed as it is."""
    return type(value) not in (dict, list, tuple) and not hasattr(value, "_fields")
