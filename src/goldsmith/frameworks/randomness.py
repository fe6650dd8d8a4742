"""Global random states, of Python and of all libraries in use: compared, kept, and drawn from."""

from __future__ import annotations

import contextlib
import math
import random
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from goldsmith.frameworks.framework import active


def random_states() -> tuple[Any, ...]:
    """Return the state of every random source, to be compared with a later one; that has more, where a library or a
    device was first used in between."""
    return random.getstate(), *(state for framework in active() for state in framework.numerics.random_state())


@contextlib.contextmanager
def random_state_kept(seed: int | None = None) -> Iterator[None]:
    """Leave every random source as it was; within this context they are seeded, if there is a seed."""
    before = random.getstate()
    with contextlib.ExitStack() as stack:
        for framework in active():
            stack.enter_context(framework.numerics.random_state_kept(seed))
        if seed is not None:
            random.seed(seed)
        try:
            yield
        finally:
            random.setstate(before)


def fixed_direction(shape: tuple[int, ...], seed: int) -> Any:
    """Return random numbers of a shape whose squares sum to about one, the same for every library."""
    import numpy as np

    return np.asarray(np.random.default_rng(seed).standard_normal(shape)) / max(math.prod(shape), 1) ** 0.5


@contextlib.contextmanager
def noting_draws(module: ModuleType, on_draw: Callable[[], None]) -> Iterator[None]:
    """Tell of calls of a module's functions that draw, and the making of generators, whose seeds are nobody else's."""
    space = vars(module)
    before = {name: value for name, value in space.items() if _draws(name, value)}

    def noting(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            on_draw()
            return function(*args, **kwargs)

        return call

    space.update({name: noting(value) for name, value in before.items()})
    try:
        yield
    finally:
        space.update(before)


def _draws(name: str, value: Any) -> bool:
    if (
        name.startswith("_")
        or name in ("seed", "getstate", "setstate", "get_state", "set_state")
        or not callable(value)
    ):
        return False
    return name == "default_rng" or (not isinstance(value, type) and getattr(value, "__self__", None) is not None)
