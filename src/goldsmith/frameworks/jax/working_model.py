"""A model that can run in any precision, with other weights, and is what it was afterwards.

It is always a copy, which costs nothing: arrays of JAX are never written over.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp

from goldsmith.errors.parity import BadWeights
from goldsmith.frameworks.framework import arrays_of
from goldsmith.frameworks.jax import arrays
from goldsmith.frameworks.jax.arrays import wide
from goldsmith.frameworks.jax.gradients import clear_gradients
from goldsmith.frameworks.jax.trees import (
    OWN,
    FunctionModel,
    LinenModel,
    array_names,
    holds_modules,
    is_equinox,
    is_nnx,
    overwrite,
    restored,
    write,
)

Change = Callable[[Any], Any]


class WorkingModel:
    """The model that runs: `module`. `note` says why it is not a copy, where one was asked for."""

    def __init__(self, model: Any, *, copied: bool) -> None:
        self.note = ""
        for name, array in array_names(model).items():
            refused = arrays.refusal(array) if isinstance(array, jax.Array) else None
            if refused is not None:
                raise BadWeights(name, *refused)
        try:
            self.module = _copy(model)
        except Exception as error:  # what a module of NNX holds may be something that it cannot take apart
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:120]
            self.note = f"cannot be split ({reason}), so it ran itself and was put back as it was"
            self.module = model
        if not is_nnx(model):
            object.__setattr__(self.module, OWN, True)

    def own_weights(self) -> None:
        """Do nothing: arrays are never written over."""

    @contextlib.contextmanager
    def running(
        self, dtype: str, *, train: bool, written: bool, change: Change | None = None, changes_all: bool = False
    ) -> Iterator[None]:
        """Run in `dtype`, or in its own if that is empty; `change` is applied to everything that is not a parameter, or
        to all if it `changes_all`."""
        from goldsmith.frameworks.jax.models import set_training, weight_facts

        constants = weight_facts(self.module).buffers
        with wide() if dtype == "float64" else contextlib.nullcontext(), restored(self.module):
            found = {}
            for name, array in array_names(self.module).items():
                if jnp.issubdtype(array.dtype, jnp.inexact):
                    made = arrays_of(array).cast(array, dtype) if dtype else array
                    found[name] = change(made) if change and (changes_all or name in constants) else made
            try:
                write(self.module, found)
                switched = set_training(self.module, train)
                if is_equinox(switched):
                    overwrite(self.module, switched)
                yield
            finally:
                clear_gradients(self.module)

    def close(self) -> None:
        """Forget what was kept beside it; the caller's own was never touched."""
        clear_gradients(self.module)


def _copy(model: Any) -> Any:
    if isinstance(model, LinenModel):
        return LinenModel(model.module, model.tree)
    if isinstance(model, FunctionModel):
        return type(model)(model.tree, model.function)
    if not is_nnx(model):
        return jax.tree_util.tree_map(lambda leaf: leaf, model)
    from flax import nnx

    made = nnx.clone(model)
    _reorder(model, made, set())
    return made


def _reorder(model: Any, copy: Any, seen: set[int]) -> None:
    """Give attributes the order in which they were assigned, which NNX forgets: weights are matched by it, too."""
    if id(copy) in seen or not hasattr(model, "__dict__") or type(model) is not type(copy):
        return
    seen.add(id(copy))
    own = vars(copy)
    ordered = {name: own[name] for name in vars(model) if name in own} | own
    own.clear()
    own.update(ordered)
    for name, value in vars(model).items():
        if name in own and holds_modules(value):
            _reorder(value, own[name], seen)
