"""Notice calls of functions that draw random numbers, as those of `random` and `numpy.random`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any


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
