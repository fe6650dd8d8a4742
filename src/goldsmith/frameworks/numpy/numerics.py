"""How NumPy computes. Nothing can watch or disturb its operations, so only memory is marked."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from goldsmith.frameworks.framework import CannotCompile, Watch
from goldsmith.frameworks.randomness import noting_draws

disturbs_operations = False


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


def disturb(array: Any, generator: np.random.Generator, least: float = 0.0) -> Any:
    drawn = generator.uniform(-1, 1, tuple(array.shape))
    moved = (array * (1 + drawn * max(np.finfo(array.dtype).eps, least))).astype(array.dtype)
    return np.where(array == np.round(array), array, moved)


def undisturbed() -> Any:
    return contextlib.nullcontext()


setting_up = contextlib.nullcontext


def source_name(value: Any) -> str:
    return ""


def reseeded(value: Any, seed: int) -> Any:
    return value


def without_gradients() -> Any:
    return contextlib.nullcontext()


def with_gradients() -> Any:
    return contextlib.nullcontext()


def records_gradients() -> bool:
    return True


# --- randomness


def seed(seed: int, *, threads: int | None = None, device: str = "") -> None:
    np.random.seed(seed)


def tolerate_nondeterminism() -> None:
    """Do nothing: NumPy is deterministic."""


def compiled(target: Any) -> Any:
    raise CannotCompile("nothing compiles code of NumPy")


def settings() -> dict[str, Any]:
    return {}


def settings_changed(before: Mapping[str, Any]) -> tuple[str, ...]:
    return ()


def functions() -> dict[str, Any]:
    return {f"numpy.{name}": item for name, item in vars(np).items() if callable(item)}


def initial_seed() -> int | None:
    return None  # NumPy does not tell


def random_state() -> tuple[Any, ...]:
    state: Any = np.random.get_state()
    kind, keys, *rest = state
    return kind, keys.tobytes(), *rest


def draw_watch() -> Callable[[], bool]:
    before = random_state()
    return lambda: before != random_state()


@contextlib.contextmanager
def random_state_kept(seed: int | None = None) -> Iterator[None]:
    before = np.random.get_state()
    try:
        if seed is not None:
            np.random.seed(seed % 2**32)
        yield
    finally:
        np.random.set_state(before)
