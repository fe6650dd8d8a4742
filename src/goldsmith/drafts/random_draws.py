"""Notice random numbers that the course's own code draws while it runs: nobody else draws the same ones."""

from __future__ import annotations

import contextlib
import os
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any


class Draws:
    """Whether random numbers were drawn by code in a folder, other than to construct an object."""

    def __init__(self, folder: Path) -> None:
        self.found = False
        self._folder = f"{folder}{os.sep}"

    def note(self) -> None:
        """Note a draw, if code in the folder asked for it."""
        frame: Any = sys._getframe(2)
        inside = False
        while frame is not None:
            code = frame.f_code
            if code.co_filename == "<draft>":
                self.found = self.found or inside
                return
            if code.co_name == "__init__":
                return
            if code.co_filename.startswith(self._folder):
                if code.co_name == "<module>":
                    return
                inside = True
            frame = frame.f_back


@contextlib.contextmanager
def watch_draws(folder: Path) -> Iterator[Draws]:
    """Watch torch's operations, and the functions of `random` and `numpy.random`."""
    draws = Draws(folder)
    with contextlib.ExitStack() as stack:
        torch = sys.modules.get("torch")
        if torch is not None:
            stack.enter_context(_mode(torch, draws))
        numpy = sys.modules.get("numpy")
        for module in (random, *([numpy.random] if numpy is not None else [])):  # which numpy imports only now
            stack.enter_context(_noting(module, draws))
        yield draws


def _mode(torch: Any, draws: Draws) -> Any:
    from torch.utils._python_dispatch import TorchDispatchMode

    class Watch(TorchDispatchMode):  # type: ignore[no-untyped-call]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            if torch.Tag.nondeterministic_seeded not in func.tags:
                return func(*args, **kwargs)
            before = torch.get_rng_state()
            result = func(*args, **kwargs)
            # attention without dropout has the tag, too
            if kwargs.get("generator") is not None or not torch.equal(before, torch.get_rng_state()):
                draws.note()
            return result

    return Watch()  # type: ignore[no-untyped-call]


@contextlib.contextmanager
def _noting(module: ModuleType, draws: Draws) -> Iterator[None]:
    """Note calls of a module's functions that draw, and the making of generators, whose seeds are nobody else's."""
    space = vars(module)
    before = {name: value for name, value in space.items() if _draws(name, value)}

    def noting(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            draws.note()
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
