"""Models and functions of another framework as JAX's, so that a recipe in JAX runs on them as it stands.

The other side is known through the seam alone. Where JAX traces, as for `jit` and `vmap`, a call is one on the host.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from goldsmith.frameworks.framework import Framework, framework
from goldsmith.frameworks.jax.arrays import WHOLE
from goldsmith.frameworks.jax.operations import crossing as marked
from goldsmith.frameworks.jax.trees import FunctionModel, name_of
from goldsmith.weights.crossing import ForeignWeights, LoadedAcross, arrays_in, converted, with_arrays
from goldsmith.weights.crossing import across as crossing
from goldsmith.weights.models import signature_of


def across(other: Framework, function: Callable[[list[Any]], Any], arrays: Sequence[Any]) -> Any:
    """Call a function of another framework with arrays, and return what it returns with arrays of JAX in it."""
    returned: list[Any] = []

    def run(given: Sequence[Any]) -> list[Any]:
        with other.numerics.without_gradients():
            returned.append(function([converted(item, other, WHOLE) for item in given]))
        return [converted(item, framework("jax")) for item in arrays_in(returned[-1], other)]

    def on_host(*given: Any) -> list[Any]:
        with other.numerics.without_gradients():  # no arrays of JAX: it waits for this call, and may wait for ever
            found = arrays_in(function([converted(np.asarray(item), other, WHOLE) for item in given]), other)
        return [np.asarray(other.arrays.to_numpy(item)) for item in found]

    def call(*given: Any) -> list[Any]:
        if not any(isinstance(item, jax.core.Tracer) for item in given):
            return run(given)
        with jax.ensure_compile_time_eval():
            blank = run([jnp.zeros(item.shape, item.dtype) for item in given])
        shapes = [jax.ShapeDtypeStruct(item.shape, item.dtype) for item in blank]
        cast: Any = lambda *items: [  # noqa: E731
            np.asarray(found, shape.dtype) for found, shape in zip(on_host(*items), shapes, strict=True)
        ]
        return list(jax.pure_callback(marked(cast), shapes, *given, vmap_method="sequential"))

    def passed_back(given: Sequence[Any], directions: Sequence[Any]) -> tuple[Any, ...]:
        inexact = [item.dtype != jax.dtypes.float0 for item in directions]
        learns = [jnp.issubdtype(item.dtype, jnp.inexact) for item in given]

        def outputs(some: list[Any]) -> list[Any]:
            return [item for item, wanted in zip(arrays_in(function(some), other), inexact, strict=True) if wanted]

        def pull(items: list[Any]) -> list[Any]:
            found = other.numerics.vjp(outputs, items[: len(given)])[1](items[len(given) :])
            pairs = [pair for pair, wanted in zip(zip(found, items, strict=False), learns, strict=True) if wanted]
            return [0 * item if gradient is None else gradient for gradient, item in pairs]

        along = [item for item, wanted in zip(directions, inexact, strict=True) if wanted]
        found = iter(across(other, pull, [*given, *along]))
        return tuple(next(found) if wanted else None for wanted in learns)

    crossed: Any = jax.custom_vjp(call)
    crossed.defvjp(lambda *given: (call(*given), given), passed_back)
    results = crossed(*arrays)
    return with_arrays(returned[-1], other, results)


# --- models


def constructed(part: Any, args: Sequence[Any], kwargs: Mapping[str, Any], seed: int) -> Any:
    """Call a class or function with a key, or what holds keys, where it asks for that and gets none."""
    try:
        signature = signature_of(part)
        given = signature.bind_partial(*args, **kwargs).arguments
    except (TypeError, ValueError):  # it will say itself what is wrong
        return part(*args, **kwargs)
    wanted = {name for name, item in signature.parameters.items() if item.default is item.empty and name not in given}
    chance = {name: make(seed) for name, make in _CHANCE.items() if name in wanted}
    return part(*args, **kwargs, **chance)


def _streams(seed: int) -> Any:
    from flax import nnx

    return nnx.Rngs(seed)


_CHANCE: dict[str, Callable[[int], Any]] = {"rngs": _streams, "key": jax.random.key}


class _Node(dict[str, Any]):
    """Weights of one module, found by key, by number or as attributes."""

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(str(key))

    def __getattr__(self, name: str) -> Any:
        if name in self:
            return self[name]
        raise AttributeError(name)


class ForeignModel(FunctionModel):
    """Another framework's model as a tree of gold's own weights that can be called, as those of Equinox are."""

    def __init__(self, held: ForeignWeights, tree: _Node) -> None:
        super().__init__(tree, lambda weights, *args, **kwargs: _called(held, _flat(weights), args, kwargs))
        self._foreign = held

    def __getattr__(self, name: str) -> Any:
        if name in vars(self).get("tree", ()):
            return self.tree[name]
        raise AttributeError(name)


jax.tree_util.register_pytree_with_keys(
    _Node, lambda node: ([(jax.tree_util.DictKey(key), item) for key, item in node.items()], tuple(node)),
    lambda keys, items: _Node(zip(keys, items, strict=True)),
)  # fmt: skip
jax.tree_util.register_pytree_with_keys(
    ForeignModel, lambda model: ([(jax.tree_util.GetAttrKey("tree"), model.tree)], model._foreign),
    lambda held, items: ForeignModel(held, items[0]),
)  # fmt: skip


def _called(held: ForeignWeights, values: Mapping[str, Any], args: Any, kwargs: Any) -> Any:
    """Call the model with its own weights made of gold's."""
    held.build(framework("jax"), args, kwargs)
    function = held.other.models.functional(held.model)
    return crossing(across, held.other, framework("jax"), function)(held.made(values), *args, **kwargs)


def _nested(values: Mapping[str, Any], leaf: Callable[[str, Any], Any]) -> _Node:
    found = _Node()
    for name, value in values.items():
        *path, last = name.split(".")
        node = found
        for key in path:
            node = node.setdefault(key, _Node())
        node.setdefault(last, leaf(name, value))
    return found


def _flat(tree: Any) -> dict[str, Any]:
    return {name_of(path): item for path, item in jax.tree_util.tree_flatten_with_path(tree)[0]}


def _module_of_nnx(held: ForeignWeights, values: Mapping[str, Any]) -> Any:
    """Return the model as a module of NNX, whose parts hold gold's own variables."""
    from flax import nnx

    def variable(name: str, value: Any) -> Any:
        return (nnx.Param if name in held.learned else nnx.BatchStat)(value)

    def part(node: _Node, kind: Any) -> Any:
        made = {key: part(item, Part) if isinstance(item, _Node) else item for key, item in node.items()}
        if made and all(key.isdecimal() for key in made):
            return nnx.List(list(made.values()))
        found = kind()
        for key, item in made.items():
            setattr(found, key, item)
        return found

    def read(module: Any, name: str) -> Any:
        for key in name.split("."):
            module = module[int(key)] if key.isdecimal() else getattr(module, key)
        return module[...]

    class Part(nnx.Module):  # type: ignore[misc]
        pass

    class Foreign(Part):
        _foreign = held

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return _called(held, {name: read(self, name) for name in own}, args, kwargs)

        def train(self, **attributes: Any) -> None:
            held.set_training(True)

        def eval(self, **attributes: Any) -> None:
            held.set_training(False)

    own = [name for name in values if held.learned.get(name, name) == name]
    Foreign.__name__ = Foreign.__qualname__ = type(held.model).__name__
    return part(_nested({name: values[name] for name in own}, variable), Foreign)


class LoadedForeign(LoadedAcross):
    """Another framework's model with gold's weights in it, as a model of JAX that has gold's own."""

    def _modelled(self, held: ForeignWeights) -> Any:
        own = framework("jax")
        values = {name: converted(item, own) for name, item in held.values.items()}
        if any(name.partition(".")[0] == "flax" for name in _imported_by_recipe()):
            return _module_of_nnx(held, values)
        return ForeignModel(held, _nested(values, lambda name, value: value))


def _imported_by_recipe() -> Iterator[str]:
    for value in vars(sys.modules["__main__"]).values():
        name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        if isinstance(name, str):
            yield name
