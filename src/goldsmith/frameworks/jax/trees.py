"""Models as trees of arrays by name: those of Flax NNX and Equinox, and the pairs that goldsmith makes callable.

Flax and Equinox are looked for among what has been imported, and never imported here.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
import numpy as np

from goldsmith.frameworks.jax.arrays import unobserved

_LEFT_OUT = ("params",)
"""The name of what is learned among linen's variables, with which no weight's name begins."""
_OWN_STATE = ("_pytree__", "_object__")
"""How attributes begin in which a module of NNX keeps what it knows of itself."""
_WRAPPED = "_fun"
"""Where `eqx.filter_vmap(model)` and `eqx.filter_jit(model)` hold the model."""

PART = "_goldsmith_part"
"""The attribute in which a module that was found inside a model of linen has that model and its own name."""

OWN = "_goldsmith_own"
"""The attribute of a model that nobody else has, which may be written into."""


class LinenModel:
    """A module of Flax linen with its variables, called as `module.apply(variables, …)` is; without any, its first call
    draws them. `parts` are the modules inside by name, as far as they have been called: they exist only while they
    are."""

    def __init__(self, module: Any, variables: Any = None, parts: Mapping[str, Any] | None = None) -> None:
        self.module, self.tree, self.is_built = module, variables or {}, variables is not None
        self.then: list[Callable[[], None]] = []
        self.parts: dict[str, Any] = {}
        for name, part in (parts or {"": module}).items():
            self.add(name, part)

    def add(self, name: str, module: Any) -> Any:
        """Take note of a module inside; return it without what binds it to a call."""
        part = self.parts[name] = module.clone(parent=None)
        object.__setattr__(part, PART, (self, name))
        return part

    def with_tree(self, tree: Any) -> LinenModel:
        return LinenModel(self.module, tree if self.is_built else None, self.parts)

    def build(self, args: Any, kwargs: Any) -> None:
        given = {name: item for name, item in kwargs.items() if name not in ("rngs", "mutable")}
        keys = dict.fromkeys(("params", "dropout"), jax.random.key(0))
        with unobserved(), jax.ensure_compile_time_eval():
            self.tree = self.module.init(
                keys, *jax.tree.map(_without_trace, args), **jax.tree.map(_without_trace, given)
            )
        self.is_built = True
        object.__setattr__(self, OWN, True)  # nobody else has these variables
        for call in self.then:
            call()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from goldsmith.frameworks.jax.hooks import telling_of_parts

        if not self.is_built:
            self.build(args, kwargs)
        with telling_of_parts(self):
            return self.module.apply(self.tree, *args, **kwargs)


class FunctionModel:
    """A function of parameters and inputs, with its parameters."""

    def __init__(self, parameters: Any, function: Callable[..., Any]) -> None:
        self.tree, self.function = parameters, function

    def with_tree(self, tree: Any) -> FunctionModel:
        return type(self)(tree, self.function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(self.tree, *args, **kwargs)


def _without_trace(value: Any) -> Any:
    """Return zeros for what has no numbers yet: a module is built of shapes."""
    return jax.numpy.zeros(value.shape, value.dtype) if isinstance(value, jax.core.Tracer) else value


def adopted(value: Any) -> Any:
    """Return a module of linen, with its variables or without, or a pair of parameters and a function of them, as a
    model; of `eqx.filter_jit(model)`, the model, whose weights that holds without their names."""
    while is_equinox(value) and hasattr(value, "_dynamic_fun") and is_equinox(getattr(value, "__wrapped__", None)):
        value = value.__wrapped__
    if isinstance(value, _kind("flax.linen", "Module")):
        return LinenModel(value)
    if type(value) is not tuple or len(value) != 2:
        return value
    one, two = value
    if isinstance(one, _kind("flax.linen", "Module")) and isinstance(two, Mapping):
        return LinenModel(one, two)
    if not callable(two) or callable(one) or isinstance(one, jax.Array | np.ndarray):
        return value
    leaves = jax.tree_util.tree_leaves(one)
    held = leaves and all(isinstance(leaf, jax.Array | np.ndarray | float | int) for leaf in leaves)
    return type(getattr(two, "__name__", "function"), (FunctionModel,), {})(one, two) if held else value


# --- kinds of models


def _kind(module: str, name: str) -> Any:
    """Return a class of a library that has been imported, for `isinstance`."""
    return getattr(sys.modules.get(module), name, ())


def is_nnx(value: Any) -> bool:
    return isinstance(value, _kind("flax.nnx", "Module"))


def is_equinox(value: Any) -> bool:
    return isinstance(value, _kind("equinox", "Module"))


class _AnyKind(type):
    def __instancecheck__(cls, value: object) -> bool:
        return cls.__subclasscheck__(type(value))

    def __subclasscheck__(cls, kind: type) -> bool:
        own = (LinenModel, FunctionModel)
        return issubclass(kind, own) or any(
            known and issubclass(kind, known) for known in (_kind("flax.nnx", "Module"), _kind("equinox", "Module"))
        )


class AnyModel(metaclass=_AnyKind):
    """Stands for every class of models, also those of libraries that are imported later."""


# --- arrays by name


def array_names(model: Any) -> dict[str, Any]:
    """Return the arrays of a model by name, what NNX shares under each of its names."""
    if is_nnx(model):
        return {name: value_of(value) for name, value, _ in variables(model)}
    tree = _tree(model)
    flat, _ = jax.tree_util.tree_flatten_with_path(tree)
    found = zip((_order(tree, path) for path, _ in flat), _named_leaves(tree), strict=True)
    return {name: leaf for _, (name, leaf) in sorted(found, key=lambda item: item[0]) if name is not None}


def _order(tree: Any, path: Any) -> list[int]:
    """Return where dictionaries have what a path leads to, which JAX sorts by name."""
    places = []
    for key in path:
        if not isinstance(tree, Mapping):
            break
        places.append(list(tree).index(key.key))
        tree = tree[key.key]
    return places


def with_arrays(model: Any, arrays: Mapping[str, Any]) -> Any:
    """Return another model with other arrays: it may be run with what JAX differentiates, and what it changes in itself
    is its own."""
    if is_nnx(model):
        made = copied(model)
        write(made, arrays)
        return made
    tree = _tree(model)
    leaves = [leaf if name is None else arrays.get(name, leaf) for name, leaf in _named_leaves(tree)]
    made = jax.tree_util.tree_unflatten(jax.tree_util.tree_structure(tree), leaves)
    return model.with_tree(made) if isinstance(model, LinenModel | FunctionModel) else made


def write(model: Any, arrays: Mapping[str, Any]) -> None:
    """Exchange arrays in their place. Of a model of Equinox that can only be done to one that is nobody else's."""
    if is_nnx(model):
        for name, _, put in variables(model):
            if name in arrays:
                put(arrays[name])
        return
    other = with_arrays(model, arrays)
    if isinstance(model, LinenModel | FunctionModel):
        model.tree = other.tree
    else:
        overwrite(model, other)


def overwrite(model: Any, other: Any) -> Any:
    """Give every module of Equinox in a tree the attributes of the one in another tree, and return the tree."""
    if is_equinox(model):
        for name, value in list(vars(model).items()):
            new = overwrite(value, vars(other).get(name, value))
            if new is not value:
                object.__setattr__(model, name, new)
        return model
    if type(model) in (list, tuple) and type(other) is type(model) and len(model) == len(other):
        items = [overwrite(one, two) for one, two in zip(model, other, strict=True)]
        return model if all(one is two for one, two in zip(items, model, strict=True)) else type(model)(items)
    if type(model) is dict and type(other) is dict and model.keys() == other.keys():
        values = {key: overwrite(value, other[key]) for key, value in model.items()}
        return model if all(values[key] is model[key] for key in model) else values
    return other


def _tree(model: Any) -> Any:
    return model.tree if isinstance(model, LinenModel | FunctionModel) else model


def _named_leaves(tree: Any) -> list[tuple[str | None, Any]]:
    """Return the leaves of a tree with their names; of what is no array or cannot be compared, None."""
    flat, _ = jax.tree_util.tree_flatten_with_path(tree)
    names = [name_of(path) if is_number(leaf) else None for path, leaf in flat]
    short = [None if name is None else name.partition(".")[2] for name in names]
    if isinstance(tree, Mapping) and "params" in tree and len(set(short)) == len(short):
        names = short
    return [(name, leaf) for name, (_, leaf) in zip(names, flat, strict=True)]


def name_of(path: Any) -> str:
    parts = [str(getattr(key, "name", getattr(key, "key", getattr(key, "idx", key)))) for key in path]
    while parts and parts[0] == _WRAPPED:
        del parts[0]
    return ".".join(parts)


def collections(model: LinenModel) -> dict[str, str]:
    """Return in which of linen's collections each array is."""
    flat, _ = jax.tree_util.tree_flatten_with_path(model.tree)
    return {name: str(flat[number][0][0].key) for number, (name, _) in enumerate(_named_leaves(model.tree)) if name}


def is_number(value: Any) -> bool:
    """Say whether a value is an array with numbers, and not a random key."""
    if isinstance(value, np.ndarray):
        return True
    return isinstance(value, jax.Array) and not jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key)


# --- modules


def modules_in(model: Any) -> dict[str, Any]:
    """Return the modules of a tree by name, each once; the model's own is empty."""
    if isinstance(model, LinenModel):
        return dict(model.parts)
    if isinstance(model, FunctionModel):
        return {"": model}
    while is_equinox(model) and is_equinox(getattr(model, _WRAPPED, None)):
        model = getattr(model, _WRAPPED)
    found: dict[int, tuple[str, Any]] = {}
    for name, value, _ in _walk(model, "", None, ()):
        if (is_nnx(value) or is_equinox(value)) and callable(value):
            found.setdefault(id(value), (name, value))
    return dict(found.values())


def variables(model: Any) -> Iterator[tuple[str, Any, Callable[[Any], None]]]:
    """Yield variables and arrays of a model of NNX by all of their names, and what exchanges their numbers; not its
    random states."""
    left_out = (_kind("flax.nnx", "RngState"), _kind("flax.nnx", "Intermediate"))
    for name, value, put in _walk(model, "", None, ()):
        if isinstance(value, _kind("flax.nnx", "Variable")):
            if not isinstance(value, left_out) and is_number(value_of(value)):
                yield name, value, _put_value(value)
        elif is_number(value) and put is not None:
            yield name, value, put


def value_of(variable: Any) -> Any:
    if not isinstance(variable, _kind("flax.nnx", "Variable")):
        return variable
    return variable.get_value() if hasattr(variable, "get_value") else variable.value


def _walk(
    value: Any, name: str, put: Callable[[Any], None] | None, above: tuple[int, ...]
) -> Iterator[tuple[str, Any, Callable[[Any], None] | None]]:
    """Yield everything in a model by all of its names, in the order in which it was assigned."""
    items: Mapping[Any, Any] = {}
    if isinstance(value, dict):
        items = value
    elif isinstance(value, list | tuple):
        items = dict(enumerate(value))
    elif is_equinox(value) or holds_modules(value):
        items = {key: item for key, item in vars(value).items() if not key.startswith(_OWN_STATE)}
    if id(value) in above:
        return
    yield name, value, put
    for key, item in items.items():
        yield from _walk(item, f"{name}.{key}" if name else str(key), _setter(value, key), (*above, id(value)))


def holds_modules(value: Any) -> bool:
    """Say whether a value is a module of NNX, or one of its lists and dictionaries."""
    return isinstance(value, _kind("flax.nnx", "Pytree") or _kind("flax.nnx", "Module"))


def states(model: Any) -> list[tuple[Callable[[Any], None], Any]]:
    """Return everything that calls of a model may change, random states too, with what puts each back."""
    if isinstance(model, LinenModel | FunctionModel):
        return [(_setter(model, "tree"), model.tree)] if getattr(model, "is_built", True) else []
    if not is_nnx(model):
        return [(functools.partial(write, model), array_names(model))]
    held = _kind("flax.nnx", "Variable")
    found = [(value, put) for _, value, put in _walk(model, "", None, ())]
    arrays = [(put, value) for value, put in found if put is not None and is_number(value)]
    return [(_put_value(value), value_of(value)) for value, _ in found if isinstance(value, held)] + arrays


@contextlib.contextmanager
def restored(model: Any) -> Iterator[None]:
    """Put everything that calls of a model may change, and its weights, back as they were."""
    before = states(model)
    try:
        yield
    finally:
        for put, value in before:
            put(value)


def _put_value(variable: Any) -> Callable[[Any], None]:
    return variable.set_value if hasattr(variable, "set_value") else _setter(variable, "value")


def _setter(owner: Any, key: Any) -> Callable[[Any], None]:
    def put(value: Any) -> None:
        if isinstance(owner, dict | list):
            owner[key] = value
        else:
            setattr(owner, key, value)

    return put


# --- copies


def copied(model: Any) -> Any:
    """Return a copy that may be written into; raise whatever Flax raises where it cannot take a module apart."""
    if is_nnx(model):
        from flax import nnx

        made = nnx.clone(model)
        _reorder(model, made, set())
        return made
    held = isinstance(model, LinenModel | FunctionModel)
    made = model.with_tree(model.tree) if held else jax.tree_util.tree_map(lambda leaf: leaf, model)
    object.__setattr__(made, OWN, True)
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
