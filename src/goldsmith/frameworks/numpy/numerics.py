"""How NumPy computes. Nothing can watch or disturb its operations, so only memory is marked."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from goldsmith.frameworks.framework import Watch
from goldsmith.frameworks.randomness import noting_draws


@contextlib.contextmanager
def conditions(
    watch: Watch, *, marked_memory: bool | None = None, on_draw: Callable[[], None] | None = None, **others: Any
) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        if marked_memory:
            stack.enter_context(_marked_memory())
        if on_draw is not None:
            stack.enter_context(noting_draws(np.random, on_draw))
        yield


@contextlib.contextmanager
def _marked_memory() -> Iterator[None]:
    """Make `np.empty` and `np.empty_like` return NaN, or the maximum of an integer dtype, within this context: code
    that reads what it has not written shows it in its results."""
    space = vars(np)
    before = {name: space[name] for name in ("empty", "empty_like")}

    def mark(array: Any) -> Any:
        if array.dtype.kind in "fc":
            array.fill(np.nan)
        elif array.dtype.kind in "iu":
            array.fill(np.iinfo(array.dtype).max)
        return array

    def marking(make: Any) -> Any:
        return lambda *args, **kwargs: mark(make(*args, **kwargs))

    space.update({name: marking(make) for name, make in before.items()})
    try:
        yield
    finally:
        space.update(before)


def widened(array: Any) -> Any:
    return array.astype({"f": "float64", "c": "complex128"}[array.dtype.kind])


# --- randomness


def seed(seed: int, *, threads: int | None = None, device: str = "") -> None:
    np.random.seed(seed)


def functions() -> dict[str, Any]:
    return {f"numpy.{name}": item for name, item in vars(np).items() if callable(item)}


def random_state() -> tuple[Any, ...]:
    state: Any = np.random.get_state()
    kind, keys, *rest = state
    return kind, keys.tobytes(), *rest


@contextlib.contextmanager
def random_state_kept(seed: int | None = None) -> Iterator[None]:
    before = np.random.get_state()
    try:
        if seed is not None:
            np.random.seed(seed % 2**32)
        yield
    finally:
        np.random.set_state(before)
