"""Arguments as a recipe can write them: arrays by shape and distribution, plain values, objects by how they are built.

A spec is derived from an observed value, or guessed; it becomes a value again, or source text.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from goldsmith.frameworks.framework import is_module

NORMAL, UNIFORM, INTEGERS, BOOLEANS, ORDER, CAUSAL, SHARES = (
    "normal",
    "uniform",
    "integers",
    "booleans",
    "order",
    "causal",
    "shares",
)
RANGE, BINARY, PREFIX, ONE_HOT, LOG_SHARES, SYMMETRIC, SORTED, COUNTED = (
    "range",
    "binary",
    "prefix",
    "one-hot",
    "log-shares",
    "symmetric",
    "sorted",
    "counted",
)
"""Real numbers between two; ones and zeros; rows of ones up to a length of at least one, then zeros; rows with a single
one; logarithms of rows that sum to one; the same as its transpose; in ascending order; 0, 1, 2 and so on."""


@dataclass(frozen=True)
class Spec:
    """One argument. `parts` are the specs inside it."""

    def parts(self) -> tuple[Spec, ...]:
        return ()

    def with_parts(self, parts: tuple[Spec, ...]) -> Spec:
        return self


@dataclass(frozen=True)
class Array(Spec):
    """An array to be drawn. `low` and `high` bound integers and ranges; `scale` multiplies, `dtype` is written where it
    is not the default; `gradient` makes it require its gradient."""

    library: str
    shape: tuple[int, ...]
    draw: str = NORMAL
    low: float = 0
    high: float = 2
    scale: float = 1.0
    dtype: str = ""
    gradient: bool = False

    @property
    def is_free(self) -> bool:
        """Say whether its elements may change one by one, so that gradients have one meaning."""
        return self.draw in (NORMAL, UNIFORM, RANGE)

    @property
    def is_floating(self) -> bool:
        return self.draw in (NORMAL, UNIFORM, SHARES, RANGE, LOG_SHARES, SYMMETRIC, SORTED)

    def source(self) -> str:
        if self.library == "jax":  # whose keys would say no more: what is drawn is kept
            plain = dataclasses.replace(self, library="numpy", dtype="").source()
            return f"jnp.asarray({plain}{f', dtype=jnp.{self.dtype}' if self.dtype else ''})"
        return self._torch() if self.library == "torch" else self._numpy()

    def _torch(self) -> str:
        shape, sizes = _tuple(self.shape), ", ".join(map(str, self.shape)) or "()"
        last, rows = self.shape[-1] if self.shape else 1, _tuple((*self.shape[:-1], 1))
        grad = self.gradient and self.draw in (NORMAL, UNIFORM) and self.scale == 1.0 and not self.dtype
        options = ", requires_grad=True" if grad else ""
        text = {
            NORMAL: f"torch.randn({sizes}{options})",
            UNIFORM: f"torch.rand({sizes}{options})",
            INTEGERS: f"torch.randint({self.low}, {self.high}, {shape})",
            BOOLEANS: f"torch.rand({sizes}) < 0.6",
            ORDER: f"torch.randperm({sizes})",
            CAUSAL: f"torch.ones({sizes}).tril().bool()",
            SHARES: f"torch.randn({sizes}).softmax(dim=-1)",
            RANGE: f"torch.rand({sizes}) * {self.high - self.low:g} + {self.low:g}",
            BINARY: f"(torch.rand({sizes}) < 0.6).float()",
            PREFIX: f"(torch.arange({last}) < torch.randint(1, {last} + 1, {rows})).long()",
            ONE_HOT: f"torch.eye({last})[torch.randint(0, {last}, {_tuple(self.shape[:-1])})]",
            LOG_SHARES: f"torch.randn({sizes}).log_softmax(dim=-1)",
            SYMMETRIC: f"(lambda x: x + x.mT)(torch.randn({sizes}))",
            SORTED: f"torch.randn({sizes}).sort().values",
            COUNTED: f"torch.arange({sizes})",
        }[self.draw]
        return self._finished(
            text, f".to(torch.{self.dtype})", "" if grad or not self.gradient else ".requires_grad_()"
        )

    def _numpy(self) -> str:
        shape, sizes = _tuple(self.shape), ", ".join(map(str, self.shape))
        last, rows = self.shape[-1] if self.shape else 1, _tuple((*self.shape[:-1], 1))
        text = {
            NORMAL: f"np.random.randn({sizes})",
            UNIFORM: f"np.random.rand({sizes})",
            INTEGERS: f"np.random.randint({self.low}, {self.high}, {shape})",
            BOOLEANS: f"np.random.rand({sizes}) < 0.6",
            ORDER: f"np.random.permutation({sizes})",
            CAUSAL: f"np.tril(np.ones({shape}, dtype=bool))",
            SHARES: f"np.random.dirichlet(np.ones({last}), {_tuple(self.shape[:-1])})",
            RANGE: f"np.random.rand({sizes}) * {self.high - self.low:g} + {self.low:g}",
            BINARY: f"(np.random.rand({sizes}) < 0.6).astype(float)",
            PREFIX: f"(np.arange({last}) < np.random.randint(1, {last} + 1, {rows})).astype(int)",
            ONE_HOT: f"np.eye({last})[np.random.randint(0, {last}, {_tuple(self.shape[:-1])})]",
            LOG_SHARES: f"np.log(np.random.dirichlet(np.ones({last}), {_tuple(self.shape[:-1])}))",
            SYMMETRIC: f"(lambda x: x + np.swapaxes(x, -1, -2))(np.random.randn({sizes}))",
            SORTED: f"np.sort(np.random.randn({sizes}))",
            COUNTED: f"np.arange({sizes})",
        }[self.draw]
        return self._finished(text, f".astype(np.{self.dtype})", "")

    def _finished(self, text: str, cast: str, last: str) -> str:
        if self.scale != 1.0:
            text = f"{text} * {self.scale:g}"
        if (self.dtype or last) and (
            " " in text.partition("(")[0] or self.scale != 1.0 or self.draw in (BOOLEANS, RANGE)
        ):
            text = f"({text})"
        return f"{text}{cast if self.dtype else ''}{last}"


@dataclass(frozen=True)
class Literal(Spec):
    """A plain value that is written as it is."""

    value: Any

    def __hash__(self) -> int:
        return hash(repr(self.value))  # lists and dicts have no hash of their own


@dataclass(frozen=True)
class Group(Spec):
    """A list, tuple or dict; `keys` are a dict's."""

    kind: str
    items: tuple[Spec, ...]
    keys: tuple[Any, ...] = ()

    def parts(self) -> tuple[Spec, ...]:
        return self.items

    def with_parts(self, parts: tuple[Spec, ...]) -> Spec:
        return dataclasses.replace(self, items=parts)


@dataclass(frozen=True)
class Named(Spec):
    """Something that can be imported by name."""

    module: str
    name: str


@dataclass(frozen=True)
class Code(Spec):
    """Source text that needs no import."""

    text: str


@dataclass(frozen=True)
class Built(Spec):
    """An object of a class of the course, and the arguments that it is built with."""

    module: str
    name: str
    arguments: tuple[tuple[str, Spec], ...]
    is_model: bool = False
    holds_array: bool = False

    def parts(self) -> tuple[Spec, ...]:
        return tuple(spec for _, spec in self.arguments)

    def with_parts(self, parts: tuple[Spec, ...]) -> Spec:
        named = zip((name for name, _ in self.arguments), parts, strict=True)
        return dataclasses.replace(self, arguments=tuple(named))


@dataclass(frozen=True)
class Steps(Spec):
    """A torch optimiser over the parameters of the model that goes into the same call."""

    name: str
    options: tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Unknown(Spec):
    """A value that cannot be written down, and its description."""

    what: str


Arguments = Mapping[str, Spec]


def walk(spec: Spec) -> Iterator[Spec]:
    """Yield a spec and all specs inside it."""
    yield spec
    for part in spec.parts():
        yield from walk(part)


def arrays_in(arguments: Arguments) -> list[Array]:
    return [item for spec in arguments.values() for item in walk(spec) if isinstance(item, Array)]


def map_spec(spec: Spec, change: Callable[[Spec], Spec]) -> Spec:
    """Return the spec with `change` applied to every innermost one."""
    parts = spec.parts()
    return spec.with_parts(tuple(map_spec(item, change) for item in parts)) if parts else change(spec)


def build(arguments: Arguments) -> dict[str, Any]:
    """Return the values themselves; an optimiser gets the parameters of the first model among them."""
    made = {name: value_of(spec) for name, spec in arguments.items() if not isinstance(spec, Steps)}
    for name, spec in arguments.items():
        if isinstance(spec, Steps):
            model = next(value for value in made.values() if is_module(value))
            made[name] = value_of(Named("torch.optim", spec.name))(model.parameters(), **dict(spec.options))
    return {name: made[name] for name in arguments}


def value_of(spec: Spec) -> Any:
    if isinstance(spec, Array | Code):
        return eval(spec.source() if isinstance(spec, Array) else spec.text, _libraries())
    if isinstance(spec, Literal):
        return eval(repr(spec.value)) if isinstance(spec.value, list | dict | set) else spec.value
    if isinstance(spec, Group):
        items = [value_of(item) for item in spec.items]
        return (
            dict(zip(spec.keys, items, strict=True))
            if spec.kind == "dict"
            else {"list": list, "tuple": tuple}[spec.kind](items)
        )
    if isinstance(spec, Named):
        return getattr(importlib.import_module(spec.module), spec.name)
    if isinstance(spec, Built):
        made = getattr(importlib.import_module(spec.module), spec.name)
        model = made(**build(dict(spec.arguments)))
        evaluating = model.eval() if spec.is_model and hasattr(model, "eval") else None
        return model if evaluating is None else evaluating
    raise TypeError(f"{getattr(spec, 'what', spec)} cannot be written down")


def _libraries() -> dict[str, Any]:
    import sys

    import numpy

    known = {"torch": "torch", "jax": "jax", "jnp": "jax.numpy", "nnx": "flax.nnx"}
    return {"np": numpy} | {name: sys.modules.get(module) for name, module in known.items()}


def _tuple(shape: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"
