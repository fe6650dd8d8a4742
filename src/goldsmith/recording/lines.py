"""Which lines of an assignment's files run."""

from __future__ import annotations

import os
import sys
import threading
from types import FrameType
from typing import Any


class Lines:
    """Watches from its start to the end of the process. What runs before the first case, at import, counts for all."""

    def __init__(self, folder: str) -> None:
        self._folder = folder.rstrip(os.sep) + os.sep
        self._seen: set[tuple[str, int]] = set()
        self._before: set[tuple[str, int]] | None = None

    def start(self) -> None:
        threading.settrace(self._enter)
        sys.settrace(self._enter)

    def begin_case(self) -> None:
        if self._before is None:
            self._before = set(self._seen)
        self._seen = set(self._before)

    def by_file(self) -> dict[str, tuple[int, ...]]:
        found: dict[str, list[int]] = {}
        for file, line in sorted(self._seen):
            found.setdefault(file.removeprefix(self._folder), []).append(line)
        return {file: tuple(lines) for file, lines in found.items()}

    def _enter(self, frame: FrameType, event: str, argument: Any) -> Any:
        return self._line if frame.f_code.co_filename.startswith(self._folder) else None

    def _line(self, frame: FrameType, event: str, argument: Any) -> Any:
        self._seen.add((frame.f_code.co_filename, frame.f_lineno))
        return self._line
