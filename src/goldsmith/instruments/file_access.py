"""The course's files that a recipe read: modules it imported and data it opened, from Python's audit events."""

from __future__ import annotations

import os
import sys
from collections.abc import Container
from pathlib import Path
from typing import Any

_WRITING = os.O_WRONLY | os.O_RDWR


class Reads:
    """A recorder of files below `root` opened from `listen()` on, except those that are `left_out`. It misses reads by
    other processes and by native code."""

    def __init__(self, root: Path, left_out: Container[str] = ()) -> None:
        self._root = str(root).rstrip(os.sep) + os.sep
        self._left_out = left_out
        self._found: dict[str, tuple[int, int]] = {}
        self._busy = False

    def listen(self) -> None:
        sys.addaudithook(self._hear)

    def paths(self) -> tuple[str, ...]:
        """Return the paths of existing files, relative to the root and sorted."""
        here = (path for path in self._found if os.path.isfile(path))
        return tuple(sorted(Path(path).relative_to(self._root).as_posix() for path in here))

    def looks(self) -> dict[str, tuple[int, int]]:
        """Return the modification time and size that each file had when it was first opened, by its path."""
        return dict(self._found)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event != "open" or self._busy:
            return
        name, mode, flags = arguments
        if not isinstance(name, str | bytes) or _is_writing(mode, flags):
            return
        self._busy = True
        try:
            path = os.path.abspath(os.fsdecode(name))
            if path.startswith(self._root) and path not in self._found and path not in self._left_out:
                status = os.stat(path)
                self._found[path] = status.st_mtime_ns, status.st_size
        except OSError:
            pass  # opening it will fail, too
        finally:
            self._busy = False


def _is_writing(mode: object, flags: object) -> bool:
    if isinstance(mode, str):
        return bool(set(mode) & set("wax+"))
    return isinstance(flags, int) and bool(flags & _WRITING)
