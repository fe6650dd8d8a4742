"""Gradients as JAX has them: those of functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.interpreters.partial_eval import dce_jaxpr

from goldsmith.foundation.nested import leaves_in
from goldsmith.frameworks.jax.hooks import CALLS
from goldsmith.frameworks.jax.trees import with_arrays
from goldsmith.frameworks.shared.gradients import CutOffError, kept_gradients, weights_of
from goldsmith.gold.arrays import is_array, is_inexact
from goldsmith.instruments.own_calls import unwatched

_NOT_TRACEABLE = (jax.errors.JAXTypeError, jax.errors.JAXIndexError)
"""What is raised where code looks at its numbers, and there are none."""


def differentiated(function: Callable[..., Any], arrays: Sequence[Any]) -> tuple[Any, list[Any]]:
    """Return the number that a function makes of arrays, and its gradients, None where it does not depend on one."""
    values = [jnp.asarray(item) for item in arrays]
    switches = used(function, values)
    if not any(switches):
        raise CutOffError

    def both(*given: Any) -> Any:
        total, pull = jax.vjp(function, *given)
        return total, pull(jnp.ones_like(total))

    try:
        total, passed = jax.jit(both)(*values)  # in a fraction of the time that its operations take one by one
    except _NOT_TRACEABLE:
        total, passed = both(*values)
    passed = [item if switch else None for item, switch in zip(passed, switches, strict=True)]
    # of complex numbers, JAX's are the conjugates of everybody else's
    return total, [item.conj() if item is not None and jnp.iscomplexobj(item) else item for item in passed]


def used(function: Callable[..., Any], arrays: Sequence[Any]) -> list[bool]:
    """Return which arrays what a function returns is computed from; all, where that cannot be seen."""
    try:
        traced = jax.make_jaxpr(function)(*arrays)
        return list(dce_jaxpr(traced.jaxpr, [True] * len(traced.out_avals))[1])
    except CutOffError:
        raise
    except _NOT_TRACEABLE:
        return [True] * len(arrays)


class WeightUse:
    """An observer of which weights a model's outputs are computed from."""

    def __init__(self, model: Any) -> None:
        self._model, self._names = model, dict.fromkeys(weights_of(model), False)
        self._looks = False
        CALLS.on_leave(model, self._called)

    @unwatched
    def _called(self, module: Any, args: Any, kwargs: Any, output: Any) -> None:
        weights = weights_of(self._model)
        if self._looks or (self._names and all(self._names.values())) or not weights:
            return

        def run(*arrays: Any) -> Any:
            given = dict(zip(weights, arrays, strict=True))
            returned = leaves_in([with_arrays(self._model, given)(*args, **kwargs)])
            return [item for item in returned if is_array(item) and is_inexact(item)]

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
        taken = kept_gradients(self._model)
        return tuple(name for name, seen in self._names.items() if seen or taken.get(name) is not None)

    def __deepcopy__(self, memo: Any) -> WeightUse:
        return self
