"""Calls of forbidden functions, noticed during a replay. This is evidence only: the code that runs can hide them."""

from __future__ import annotations

import contextlib
import functools
import importlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

_MAX_USES, _MAX_DEPTH = 20, 200


class Sightings:
    """A recorder of calls of forbidden functions and classes, with the submission's line they come from. Names whose
    package is not imported by the time of `watch()` are not watched."""

    def __init__(self, names: Sequence[str], folder: str, recipe: str) -> None:
        self._names, self._folder, self._recipe = names, f"{Path(folder)}/", recipe
        self._found: dict[tuple[str, str], None] = {}

    def watch(self) -> None:
        for name in self._names:
            if name.partition(".")[0] in sys.modules:
                with contextlib.suppress(Exception):  # such as a class whose attributes are read-only
                    self._watch(name)

    def found(self) -> tuple[tuple[str, str], ...]:
        """Return forbidden names with the places they were called from, as `file:line`."""
        return tuple(self._found)

    def _watch(self, name: str) -> None:
        home, _, last = name.rpartition(".")
        owner: Any = importlib.import_module(home)
        thing = getattr(owner, last)
        if isinstance(thing, type):
            vars_of: Any = thing
            vars_of.__init__ = self._noted(name, thing.__init__)  # type: ignore[misc]
        elif callable(thing):
            setattr(owner, last, self._noted(name, thing))

    def _noted(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(call)
        def noted(*values: Any, **named: Any) -> Any:
            if len(self._found) < _MAX_USES:
                self._note(name, sys._getframe(1))
            return call(*values, **named)

        return noted

    def _note(self, name: str, frame: FrameType | None) -> None:
        for _ in range(_MAX_DEPTH):
            if frame is None:
                return
            file = frame.f_code.co_filename
            if file.startswith(self._folder) and file != self._recipe:
                self._found[name, f"{file.removeprefix(self._folder)}:{frame.f_lineno}"] = None
                return
            frame = frame.f_back
