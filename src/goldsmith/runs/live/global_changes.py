"""What code changes in the libraries that others compute with, too: their settings, and their functions."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from goldsmith.frameworks.framework import active


class GlobalChanges:
    """What libraries were like before some code came, by which to tell what it has changed; of `functions`, only where
    that is asked for."""

    def __init__(self, *, functions: bool = True) -> None:
        self._libraries = active() if functions else []
        self._settings = [item.numerics.settings() for item in self._libraries]
        self._functions = [item.numerics.functions() for item in self._libraries]
        self._known: dict[str, None] = {}

    def found(self, in_run: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Say what has changed so far, in words; a run says itself what it has changed of the settings, which were put
        back."""
        changed = list(in_run)
        for library, settings, functions in zip(self._libraries, self._settings, self._functions, strict=True):
            changed += library.numerics.settings_changed(settings)
            folder = str(Path(str(sys.modules[library.name].__file__)).parent)
            now = library.numerics.functions()
            changed += [
                f"{name}, which is another function now"
                for name, item in functions.items()
                if now.get(name) is not item and not _is_own(now.get(name), folder)
            ]
        self._known |= dict.fromkeys(changed)
        return tuple(self._known)


def _is_own(function: Any, folder: str) -> bool:
    """Say whether a library has exchanged a function itself: its code is the library's."""
    code = getattr(function, "__code__", None)
    return code is not None and str(code.co_filename).startswith(folder)
