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

from goldsmith.foundation.nested import leaves_in, map_tree
from goldsmith.frameworks.jax.hooks import Alone
from goldsmith.frameworks.jax.trees import AnyModel, with_arrays
from goldsmith.frameworks.protocols import Backward
from goldsmith.frameworks.randomness import fixed_direction
from goldsmith.gold.call_forms import rebuild, tensors_in

_kept: dict[int, dict[str, Any]] = {}
"""The gradients of models' weights that were taken last, by the identity of the model."""


def gradients(model: Any) -> dict[str, Any]:
    from goldsmith.frameworks.jax.models import parameters

    return {**dict.fromkeys(parameters(model)), **_kept.get(id(model), {})}


def clear_gradients(model: Any) -> None:
    _kept.pop(id(model), None)


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
        outputs = [item for item in tensors_in([_with_weights(call, own)(*args, **kwargs)]) if _is_inexact(item)]
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
    return parameters(call) if isinstance(call, AnyModel) else {}


def _with_weights(call: Any, weights: Mapping[str, Any]) -> Any:
    if isinstance(call, Alone):
        return call.with_weights(weights)
    return with_arrays(call, weights) if isinstance(call, AnyModel) else call


def _differentiated(
    run: Callable[..., Any], weights: Mapping[str, Any], leaves: Sequence[Any]
) -> tuple[Any, dict[str, Any], list[Any]]:
    """Return a number and its gradients, None where it does not depend on what they are of."""
    values = {name: jnp.asarray(item) for name, item in weights.items()}, [jnp.asarray(item) for item in leaves]
    used = _used(run, *values)
    if not any(used):
        raise _CutOffError
    total, pull = jax.vjp(run, *values)
    (of_weights, of_leaves) = pull(jnp.ones_like(total))
    found = [*of_weights.values(), *of_leaves]  # of complex numbers, JAX's are the conjugates of everybody else's
    found = [item.conj() if jnp.iscomplexobj(item) else item for item in found]
    switches = iter(used)
    named = {name: next(switches) for name in sorted(values[0])}
    switches = [*(named[name] for name in of_weights), *switches]
    found = [item if switch else None for item, switch in zip(found, switches, strict=True)]
    return total, dict(zip(of_weights, found, strict=False)), found[len(of_weights) :]


def _used(run: Callable[..., Any], weights: Mapping[str, Any], leaves: Sequence[Any]) -> Sequence[bool]:
    """Return which of the weights, by name, and of the inputs a number is computed from."""
    from jax.interpreters.partial_eval import dce_jaxpr

    count = len(weights) + len(leaves)
    try:
        traced = jax.make_jaxpr(run)(weights, leaves)
        return dce_jaxpr(traced.jaxpr, [True] * len(traced.out_avals))[1]
    except _CutOffError:
        raise
    except Exception:  # it looks at its values, which it cannot there
        return [True] * count


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
        item = values.get(path)
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
