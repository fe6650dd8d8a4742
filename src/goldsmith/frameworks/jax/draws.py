"""Random numbers in a run in float64: those that the code draws in float32, so that it computes the same thing.

JAX's functions draw in float64 where that is enabled, from other bits: a dropout would drop other numbers.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
from jax._src import random

from goldsmith.frameworks.jax.arrays import cast, wide

_module = sys.modules.get("jax._src.random.core", random)
_COMPILED = frozenset(name for name, item in vars(_module).items() if name[:1] == "_" and hasattr(item, "lower"))
_IS_OLD = jax.__version_info__ < (0, 7)
"""Where what is compiled cannot have both float32 and float64 of this kind: numbers that are drawn there are others."""
_NOT_WIDER = frozenset(("bits", "categorical", "choice", "clone", "fold_in", "permutation", "split"))
"""Functions of keys, and those that draw by others alone."""


def is_draw(params: Any, given: Iterable[Any]) -> bool:
    """Say whether something compiled, with these settings, is one of JAX's own that draws from a key."""
    return params.get("name") in _COMPILED and any(map(_is_key, given))


def _is_key(item: Any) -> bool:
    return bool(jax.dtypes.issubdtype(getattr(item, "dtype", None), jax.dtypes.prng_key))


@contextlib.contextmanager
def drawn_narrow() -> Iterator[None]:
    """Let functions that draw do so as where float64 is not enabled, within this context."""
    places = [(place, name) for place in {jax.random, random, _module} for name in _drawing() if hasattr(place, name)]
    with wrapped(places, _narrow):
        yield


@contextlib.contextmanager
def wrapped(places: Iterable[tuple[Any, str]], wrap: Callable[[Any], Any]) -> Iterator[None]:
    """Exchange functions of modules for what `wrap` makes of each, within this context."""
    before = [(place, name, getattr(place, name)) for place, name in places]
    try:
        for place, name, function in before:
            setattr(place, name, wrap(function))
        yield
    finally:
        for place, name, function in before:
            setattr(place, name, function)


@functools.cache
def _drawing() -> tuple[str, ...]:
    found = ((name, item) for name, item in vars(jax.random).items() if inspect.isfunction(item))
    names = [
        name for name, item in found if name[:1] != "_" and next(iter(inspect.signature(item).parameters)) == "key"
    ]
    return tuple(name for name in names if name not in _NOT_WIDER)


def _narrow(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        traced = any(isinstance(item, jax.core.Tracer) for item in (*args, *kwargs.values()))
        if not jax.config.jax_enable_x64 or (_IS_OLD and traced):
            return function(*args, **kwargs)  # inside another that draws
        with wide(False), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # where float64 is asked for
            found = function(*map(_rounded, args), **{name: _rounded(item) for name, item in kwargs.items()})
        return cast(found, "float64") if jnp.issubdtype(found.dtype, jnp.floating) else found

    return call


def _rounded(value: Any) -> Any:
    return value.astype(jnp.float32) if isinstance(value, jax.Array) and value.dtype == jnp.float64 else value
