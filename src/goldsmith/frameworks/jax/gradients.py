"""Gradients of what a model or function returns, with respect to its weights and inputs, for a fixed direction.

JAX differentiates functions, so that a model is one of its weights here, and its gradients are kept beside it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.interpreters.partial_eval import dce_jaxpr

from goldsmith.foundation.nested import leaves_in, map_tree
from goldsmith.frameworks.jax.hooks import Alone, on_leave
from goldsmith.frameworks.jax.trees import AnyModel, with_arrays
from goldsmith.frameworks.protocols import Backward
from goldsmith.frameworks.randomness import fixed_direction
from goldsmith.gold.call_forms import rebuild
from goldsmith.instruments.own_calls import unwatched
from goldsmith.weights.crossing import PartAcross

_kept: dict[int, dict[str, Any]] = {}
"""The gradients of models' weights that were taken last, by the identity of the model."""


def gradients(model: Any) -> dict[str, Any]:
    from goldsmith.frameworks.jax.models import parameters

    return {**dict.fromkeys(parameters(model)), **_kept.get(id(model), {})}


def clear_gradients(model: Any) -> None:
    _kept.pop(id(model), None)


def take_gradients(model: Any, loss: Callable[[Any], Any]) -> Any:
    """Return the number that a function makes of a model, and keep its gradients; what changes in the model in the
    call changes once."""
    found: dict[str, Any] = {}
    with contextlib.suppress(_CutOffError):
        _, found, _ = _differentiated(lambda own, _: loss(with_arrays(model, own)), _weights_of(model), [])
    _kept[id(model)] = found
    return loss(model)


_NOT_TRACEABLE = (jax.errors.JAXTypeError, jax.errors.JAXIndexError)
"""What is raised where code looks at its numbers, and there are none."""


class _CutOffError(Exception):
    """There is nothing to take gradients of."""


def backward(
    call: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], total: Callable[[Any], Any]
) -> Backward:
    given = [list(args), dict(kwargs)]
    leaves = [leaf for leaf in leaves_in(given, _is_object) if _is_inexact(leaf)]

    def rebuilt(values: Sequence[Any]) -> Any:
        items = iter(values)
        return map_tree(lambda leaf: next(items) if _is_inexact(leaf) else leaf, given, _is_object)

    def run(weights: Mapping[str, Any], values: Sequence[Any]) -> Any:
        positional, named = rebuilt(values)
        found = total(_with_weights(call, weights)(*positional, **named))
        if found is None:
            raise _CutOffError
        return found

    found = None
    with contextlib.suppress(_CutOffError):
        found, of_weights, of_leaves = _differentiated(run, _weights_of(call), leaves)
        if isinstance(call, AnyModel):
            _kept[id(call)] = of_weights
    returned = call(*args, **kwargs)
    return Backward(returned, found, tuple(args), dict(kwargs), of_leaves if found is not None else [])


def passed_back(
    call: Callable[..., Any],
    form: Any,
    tensors: Sequence[Any],
    weights: Callable[[], Mapping[str, Any]],
    frozen: Collection[str] = (),
) -> dict[str, Any]:
    """Return the gradients that `call` passes back to `tensors`, by number (`input.0`), and to its `weights`."""
    places = [number for number, item in enumerate(tensors) if _is_inexact(item)]

    def run(own: Mapping[str, Any], values: Sequence[Any]) -> Any:
        given = dict(enumerate(tensors)) | dict(zip(places, values, strict=True))
        args, kwargs = rebuild(form, {str(number): item for number, item in given.items()})
        outputs = list(filter(_is_inexact, leaves_in([_with_weights(call, own)(*args, **kwargs)])))
        if not outputs:
            raise _CutOffError
        total = sum(jnp.sum(item * _direction(item, number)) for number, item in enumerate(outputs))
        return jnp.abs(total) if jnp.iscomplexobj(total) else total

    try:
        _, of_weights, of_inputs = _differentiated(run, _weights_of(call), [tensors[number] for number in places])
    except _CutOffError:
        return {}
    if model := getattr(call, "model", call if isinstance(call, AnyModel) else None):
        _kept[id(model)] = of_weights
    found = {f"input.{number}": item for number, item in zip(places, of_inputs, strict=True)}
    found |= {f"{'thawed' if name in frozen else 'weight'}.{name}": item for name, item in weights().items()}
    return {name: _as_numbers(item) for name, item in found.items() if item is not None}


def _weights_of(call: Any) -> dict[str, Any]:
    """Return what is learned of what is called: of a model all, of a module alone its own."""
    from goldsmith.frameworks.jax.models import parameters

    if isinstance(call, Alone):
        prefix = f"{call.name}." if call.name else ""
        return {name: item for name, item in parameters(call.model).items() if name.startswith(prefix)}
    if isinstance(call, PartAcross):
        return parameters(call.model)
    return parameters(call) if isinstance(call, AnyModel) else {}


def _with_weights(call: Any, weights: Mapping[str, Any]) -> Any:
    if isinstance(call, Alone | PartAcross):
        return call.with_weights(weights)
    return with_arrays(call, weights) if isinstance(call, AnyModel) else call


def _differentiated(
    run: Callable[..., Any], weights: Mapping[str, Any], leaves: Sequence[Any]
) -> tuple[Any, dict[str, Any], list[Any]]:
    """Return a number and its gradients, None where it does not depend on what they are of."""
    values = [jnp.asarray(item) for item in (*weights.values(), *leaves)]

    def flat(*arrays: Any) -> Any:
        return run(dict(zip(weights, arrays, strict=False)), arrays[len(weights) :])

    switches = used(flat, values)
    if not any(switches):
        raise _CutOffError

    def both(*arrays: Any) -> Any:
        total, pull = jax.vjp(flat, *arrays)
        return total, pull(jnp.ones_like(total))

    try:
        total, passed = jax.jit(both)(*values)  # in a fraction of the time that its operations take one by one
    except _NOT_TRACEABLE:
        total, passed = both(*values)
    passed = [item if switch else None for item, switch in zip(passed, switches, strict=True)]
    # of complex numbers, JAX's are the conjugates of everybody else's
    passed = [item.conj() if item is not None and jnp.iscomplexobj(item) else item for item in passed]
    return total, dict(zip(weights, passed, strict=False)), passed[len(weights) :]


def used(function: Callable[..., Any], arrays: Sequence[Any]) -> list[bool]:
    """Return which arrays what a function returns is computed from; all, where that cannot be seen."""
    try:
        traced = jax.make_jaxpr(function)(*arrays)
        return list(dce_jaxpr(traced.jaxpr, [True] * len(traced.out_avals))[1])
    except _CutOffError:
        raise
    except _NOT_TRACEABLE:
        return [True] * len(arrays)


def backward_total(
    returned: Any,
    values: Mapping[str, Any],
    outputs: Sequence[str],
    loss: Callable[[Any], Any] | None,
    seed: int,
) -> Any:
    if loss is not None:
        total = loss(returned)
        return total if _is_array(total) else None
    parts = []
    for number, path in enumerate(outputs):
        item: Any = values.get(path)
        if not _is_inexact(item):
            continue
        drawn = fixed_direction(item.shape, seed * 1000 + number)
        numbers = item.real + item.imag if jnp.iscomplexobj(item) else item
        parts.append(jnp.sum(numbers * jnp.asarray(drawn).astype(numbers.dtype)))
    return sum(parts) if parts else None


def _direction(output: Any, number: int) -> Any:
    steps = np.arange(1, output.size + 1, dtype=np.float64)
    return jnp.asarray(np.cos(steps * 1.7 + number).reshape(output.shape)).astype(output.dtype)


def _as_numbers(gradient: Any) -> Any:
    """Convert to float64, with complex numbers as pairs."""
    values = np.asarray(gradient)
    return np.stack([values.real, values.imag], -1) if np.iscomplexobj(values) else values.astype(np.float64)


def _is_object(value: Any) -> bool:
    """Say whether a container is of a class of its own, which is passed as it is."""
    return type(value) not in (dict, list, tuple) and not hasattr(value, "_fields")


def _is_array(value: Any) -> bool:
    return isinstance(value, jax.Array | np.ndarray)


def _is_inexact(value: Any) -> bool:
    return _is_array(value) and bool(jnp.issubdtype(value.dtype, jnp.inexact))


class WeightUse:
    """An observer of which weights a model's outputs are computed from."""

    def __init__(self, model: Any) -> None:
        self._model, self._names = model, dict.fromkeys(_weights_of(model), False)
        self._looks = False
        on_leave(model, self._called)

    @unwatched
    def _called(self, module: Any, args: Any, kwargs: Any, output: Any) -> None:
        weights = _weights_of(self._model)
        if self._looks or all(self._names.values()) or not weights:
            return

        def run(*arrays: Any) -> Any:
            given = dict(zip(weights, arrays, strict=True))
            return list(filter(_is_inexact, leaves_in([with_arrays(self._model, given)(*args, **kwargs)])))

        self._looks = True  # what is called here would be told of, too
        try:
            switches = used(run, list(weights.values()))
        except Exception:  # such as of one example at a time, inside of `vmap`, where all of them are shown
            switches = [True] * len(weights)
        finally:
            self._looks = False
        for name, switch in zip(weights, switches, strict=True):
            self._names[name] = self._names.get(name, False) or switch

    def names(self) -> tuple[str, ...]:
        """Return the parameters that an output was computed from, or that have a gradient."""
        taken = gradients(self._model)
        return tuple(name for name, seen in self._names.items() if seen or taken.get(name) is not None)

    def __deepcopy__(self, memo: Any) -> WeightUse:
        return self
