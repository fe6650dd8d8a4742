"""A real pseudo-terminal with an emulated screen, for what people see and type."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pyte

from courses import COMMAND


class Terminal:
    """Runs goldsmith as a person at a terminal would: `keys` are typed, `screen` is what stands there."""

    def __init__(self, arguments: Sequence[str], cwd: Path, columns: int = 110, lines: int = 70, **env: str) -> None:
        self._screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self._screen)
        self.seen = b""
        self._ours, theirs = pty.openpty()
        size = {"COLUMNS": str(columns), "LINES": str(lines), "TERM": "xterm-256color"}
        environment = {key: value for key, value in os.environ.items() if key != "NO_COLOR"} | size | env
        self._process = subprocess.Popen(
            [*COMMAND, *arguments],
            cwd=cwd,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=environment,
            start_new_session=True,
        )
        os.close(theirs)

    @property
    def screen(self) -> str:
        return "\n".join(line.rstrip() for line in self._screen.display).rstrip()

    def wait_for(self, text: str, seconds: float = 60) -> None:
        deadline = time.monotonic() + seconds
        while text not in self.screen:
            assert time.monotonic() < deadline, f"{text!r} never appeared:\n{self.screen}"
            assert self._read() or self._process.poll() is None, f"ended before {text!r}:\n{self.screen}"

    def keys(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def end(self, seconds: float = 120) -> int:
        deadline = time.monotonic() + seconds
        while self._read() or self._process.poll() is None:
            assert time.monotonic() < deadline, f"still running:\n{self.screen}"
        os.close(self._ours)
        return self._process.wait()

    def _read(self) -> bool:
        """Take what has arrived; False once nothing more will."""
        ready, _, _ = select.select([self._ours], [], [], 0.05)
        if not ready:
            return False
        try:
            data = os.read(self._ours, 65536)
        except OSError:
            return False
        self.seen += data
        self._stream.feed(data)
        return bool(data)
