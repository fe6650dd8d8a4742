"""Compile what a recipe calls: the models that it builds are compiled as they are built, functions here."""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

from goldsmith.frameworks.framework import modelling
from goldsmith.instruments.own_files import OwnFiles
from goldsmith.process.messages import Job

_MADE_LATER = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


@contextlib.contextmanager
def compiling_functions(job: Job) -> Iterator[None]:
    """Exchange the functions of an implementation for compiled ones, in its modules and in the recipe, within this
    context."""
    library, own = modelling(), OwnFiles.of(job)
    made: dict[int, Callable[..., Any]] = {}
    exchanged: list[tuple[dict[str, Any], str, Any]] = []
    for name, module in list(sys.modules.items()):
        space = vars(module)
        if library is None or (name != "__main__" and str(space.get("__file__") or "") not in own):
            continue
        for known, value in list(space.items()):
            if isinstance(value, FunctionType) and value.__code__.co_filename in own and not _is_made_later(value):
                compiled = made.get(id(value)) or library.numerics.compiled(value)
                made[id(value)] = space[known] = compiled
                exchanged.append((space, known, value))
    try:
        yield
    finally:
        for space, known, value in exchanged:
            space[known] = value


def _is_made_later(function: FunctionType) -> bool:
    return bool(function.__code__.co_flags & _MADE_LATER)
