"""What code changes in the libraries that others compute with, too: their settings, and their functions."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from goldsmith.frameworks.framework import Framework, active


class GlobalChanges:
    """What libraries were like before some code came, by which to tell what it has changed; of `functions`, only where
    that is asked for."""

    def __init__(self, *, functions: bool = True) -> None:
        self._libraries = active() if functions else []
        self._settings = [item.numerics.settings() for item in self._libraries]
        self._functions = [item.numerics.functions() for item in self._libraries]
        self._known: dict[str, None] = {}

    @contextlib.contextmanager
    def functions_kept(self) -> Iterator[None]:
        """Put the functions back that a run exchanges, once it has been found out which: others compute with them."""
        before = [item.numerics.functions() for item in self._libraries]
        try:
            yield
            self.found()
        finally:
            for library, functions in zip(self._libraries, before, strict=True):
                for name in _exchanged(library, functions):
                    place, _, last = name.rpartition(".")
                    setattr(_named(place), last, functions[name])

    def found(self, in_run: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Say what has changed so far, in words; a run says itself what it has changed of the settings, which were put
        back."""
        changed = list(in_run)
        for library, settings, functions in zip(self._libraries, self._settings, self._functions, strict=True):
            changed += library.numerics.settings_changed(settings)
            changed += [f"{name}, which is another function now" for name in _exchanged(library, functions)]
        self._known |= dict.fromkeys(changed)
        return tuple(self._known)


def _named(place: str) -> Any:
    """Return a module or class of a library by its name."""
    first, *parts = place.split(".")
    return functools.reduce(getattr, parts, sys.modules[first])


def _exchanged(library: Framework, before: Mapping[str, Any]) -> list[str]:
    """Name the functions that are others than before, but for those that the library has exchanged itself."""
    folder, now = str(Path(str(sys.modules[library.name].__file__)).parent), library.numerics.functions()

    def is_own(function: Any) -> bool:
        code = getattr(function, "__code__", None)
        return code is not None and str(code.co_filename).startswith(folder)

    return [name for name, item in before.items() if now.get(name) is not item and not is_own(now.get(name))]
