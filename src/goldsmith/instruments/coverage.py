"""Coverage of an assignment's files, by instruction instead of line: half of a line may never be reached."""

from __future__ import annotations

import os
import sys
import threading
from types import CodeType, FrameType
from typing import Any

from goldsmith.runs.run import Place


class Coverage:
    """A tracer that runs from `start()` to the end of the process. What runs at import, before the first case, counts
    for every case.

    `forked` says that some of the work may have been done in a process that was not traced.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder.rstrip(os.sep) + os.sep
        self._files: dict[str, str] = {}
        self._seen: dict[CodeType, set[int]] = {}
        self._before: dict[CodeType, set[int]] | None = None
        self.forked = False

    def start(self) -> None:
        os.register_at_fork(before=self._fork)
        threading.settrace(self._enter)
        sys.settrace(self._enter)

    def begin_case(self) -> None:
        if self._before is None:
            self._before = {code: set(places) for code, places in self._seen.items()}
        self._seen = {code: set(places) for code, places in self._before.items()}

    def by_file(self) -> dict[str, tuple[tuple[Place, ...], tuple[Place, ...]]]:
        """Return, by file, the positions of instructions that ran, and of those in the same functions that did not."""
        ran: dict[str, set[Place]] = {}
        missed: dict[str, set[Place]] = {}
        for code, seen in self._seen.items():
            file = self._file_of(code)
            for number, (line, _, column, _) in enumerate(code.co_positions()):
                if line is not None and column is not None:
                    where = ran if 2 * number in seen else missed
                    where.setdefault(file, set()).add((line, column))
        return {file: (tuple(sorted(places)), tuple(sorted(missed.get(file, ())))) for file, places in ran.items()}

    def _fork(self) -> None:
        self.forked = True

    def _enter(self, frame: FrameType, event: str, argument: Any) -> Any:
        if not self._file_of(frame.f_code):
            return None
        frame.f_trace_opcodes = True
        self._seen.setdefault(frame.f_code, set()).add(frame.f_lasti)
        return self._step

    def _file_of(self, code: CodeType) -> str:
        """Return the code's file in the folder, empty if it is elsewhere. A relative path is resolved against the
        working directory at the time it is first seen."""
        name = code.co_filename
        found = self._files.get(name)
        if found is None:
            plain = os.path.abspath(name)
            found = plain.removeprefix(self._folder) if plain.startswith(self._folder) else ""
            self._files[name] = found
        return found

    def _step(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "opcode":
            self._seen.setdefault(frame.f_code, set()).add(frame.f_lasti)
        return self._step
