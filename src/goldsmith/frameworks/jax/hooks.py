"""Calls of modules: classes of NNX and Equinox are patched, linen is intercepted.

What is told are arrays with numbers. Inside of `vmap` they are those of all items, with the batch as their first axis;
inside of `jit`, `scan` and what is differentiated there are none, and nothing is told.
"""

from __future__ import annotations

import contextlib
import functools
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax

from goldsmith.foundation.nested import leaves_in, map_tree
from goldsmith.frameworks.jax.arrays import unwrapped
from goldsmith.frameworks.jax.trees import PART, LinenModel, is_number, modules_in, overwrite, with_arrays
from goldsmith.frameworks.shared.calls import Calls

Batches = tuple[tuple[bool, ...], ...]
"""For each array of a call, whether it is one of a batch: of all `vmap`s around the call, the outermost first."""
_last_calls: dict[int, tuple[Callable[[], Any], Batches, dict[str, Any]]] = {}
"""In which batches a module was called last, and with which random keys by name, which no form of a call holds; with a
reference that says whether it is still that module."""


def _note_call(module: Any, args: Any, kwargs: Any) -> None:
    with contextlib.suppress(TypeError):
        keys = {name: item for name, item in kwargs.items() if isinstance(item, jax.Array) and not is_number(item)}
        _last_calls[id(module)] = weakref.ref(module), _batches_of([args, kwargs]), keys


def is_heard(model: Any) -> bool:
    """Say whether anybody listens to calls of a model's modules."""
    return any(map(CALLS.hears, modules_in(model).values()))


# --- linen


def telling_of_parts(model: LinenModel) -> contextlib.AbstractContextManager[Any]:
    """Tell of calls of the modules inside a model of linen within this context, and note which there are."""
    from flax import linen

    def tell(call: Callable[..., Any], args: Any, kwargs: Any, context: Any) -> Any:
        own = jax.tree_util.tree_leaves(context.module.variables)
        # below `linen.vmap` weights are of all items, and no module could be called alone
        if context.method_name != "__call__" or any(isinstance(leaf, jax.core.Tracer) for leaf in own):
            return call(*args, **kwargs)
        name = ".".join(context.module.path)
        part = model.parts[name] if name in model.parts else model.add(name, context.module)
        return CALLS.told(part, context.module, call, args, kwargs)

    found: contextlib.AbstractContextManager[Any] = linen.intercept_methods(tell)
    return found


# --- modules alone


class Alone:
    """One module of a model, that can be called as it was called in the model's last call that was listened to."""

    def __init__(
        self, model: Any, name: str, method: str = "", called: tuple[Batches, dict[str, Any]] | None = None
    ) -> None:
        self.model, self.name, self.method = model, name, method
        self.module = modules_in(model)[name]
        reference, batches, keys = _last_calls.get(id(self.module), (None, (), {}))
        known = (batches, keys) if reference is not None and reference() is self.module else ((), {})
        self._batches, self._keys = called or known

    def with_weights(self, weights: Any) -> Alone:
        return Alone(with_arrays(self.model, weights), self.name, self.method, (self._batches, self._keys))

    def set_training(self, training: bool) -> Alone:
        from goldsmith.frameworks.jax.models import set_training

        switched = set_training(self.module, training)
        if switched is not self.module:
            overwrite(self.module, switched)
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        call = getattr(self.module, self.method) if self.method else self.module
        if isinstance(self.model, LinenModel):
            options = {"method": self.method} if self.method else {}
            call = functools.partial(self.module.apply, _inside(self.model.tree, self.name), **options)
        return _in_batches(call, self._batches, args, self._keys | kwargs)


def _inside(tree: Any, name: str) -> Any:
    """Return the variables of a part of a model of linen."""
    found = {}
    for collection, items in tree.items():
        for key in name.split(".") if name else ():
            items = items.get(key, {})
        found[collection] = items
    return found


def _in_batches(call: Callable[..., Any], batches: Batches, args: Any, kwargs: Any) -> Any:
    leaves = [leaf for leaf in leaves_in([args, kwargs]) if isinstance(leaf, jax.Array)]
    depth = max((len(switches) for switches in batches), default=0)
    if not depth or len(leaves) != len(batches):
        return call(*args, **kwargs)

    def on_arrays(arrays: Sequence[Any]) -> Any:
        items = iter(arrays)
        given, named = map_tree(lambda leaf: next(items) if isinstance(leaf, jax.Array) else leaf, [args, kwargs])
        return call(*given, **named)

    for level in reversed(range(depth)):
        on_arrays = jax.vmap(on_arrays, in_axes=([0 if switches[level] else None for switches in batches],))
    return on_arrays(leaves)


# --- what is inside of transformations


def _with_numbers(value: Any) -> Any:
    """Return nested values with arrays in place of what code sees inside of `vmap`; None if one has no numbers."""
    inside = (item for leaf in leaves_in(value) for item in _levels(leaf))
    return map_tree(unwrapped, value) if all(type(item).__name__ == "BatchTracer" for item in inside) else None


def _levels(leaf: Any) -> Iterator[Any]:
    """Yield what code sees inside of each transformation, the innermost first."""
    while isinstance(leaf, jax.core.Tracer):
        yield leaf
        leaf = getattr(leaf, "val", None)


def _traces(leaf: Any) -> list[Any]:
    """Return the `vmap`s that an array is one of a batch in, the outermost first."""
    return [item._trace for item in _levels(leaf) if item.batch_dim is not None][::-1]


def _batches_of(value: Any) -> Batches:
    of_leaves = [_traces(leaf) for leaf in leaves_in(value) if isinstance(leaf, jax.Array)]
    all_traces = {id(trace): trace for traces in of_leaves for trace in traces}
    ordered = sorted(all_traces.values(), key=_depth)
    return tuple(tuple(any(trace is item for item in traces) for trace in ordered) for traces in of_leaves)


def _depth(trace: Any) -> int:
    depth = 0
    while (trace := getattr(trace, "parent_trace", None)) is not None:
        depth += 1
    return depth


CALLS = Calls(_with_numbers, _note_call, lambda module: getattr(module, PART, None))
