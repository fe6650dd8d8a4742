"""The course's files that a recipe read: modules it imported and data it opened, from Python's audit events."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

_WRITING = os.O_WRONLY | os.O_RDWR


class Reads:
    """A recorder of files opened from `listen()` on. It misses reads by other processes and by native code."""

    def __init__(self, root: Path) -> None:
        self._root = f"{root}{os.sep}"
        self._found: set[str] = set()
        self._busy = False

    def listen(self) -> None:
        sys.addaudithook(self._hear)

    def paths(self) -> tuple[str, ...]:
        """Return the paths of existing files, relative to the root and sorted."""
        here = (path for path in self._found if os.path.isfile(path))
        return tuple(sorted(Path(path).relative_to(self._root).as_posix() for path in here))

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event != "open" or self._busy:
            return
        name, mode, flags = arguments
        if not isinstance(name, str | bytes) or _is_writing(mode, flags):
            return
        self._busy = True
        try:
            path = os.path.abspath(os.fsdecode(name))
        finally:
            self._busy = False
        if path.startswith(self._root):
            self._found.add(path)


def _is_writing(mode: object, flags: object) -> bool:
    if isinstance(mode, str):
        return bool(set(mode) & set("wax+"))
    return isinstance(flags, int) and bool(flags & _WRITING)
