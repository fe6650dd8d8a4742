"""A real pseudo-terminal with an emulated screen, for what people see and type."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import subprocess
import termios
import time
from collections.abc import Sequence
from pathlib import Path

import pyte

from support import fork_cli
from support.course import COMMAND
from support.fork_cli_client import ForkedCommand


class Terminal:
    """Run goldsmith as a person at a terminal would: `keys` are typed, `screen` is what is shown, as plain text."""

    def __init__(
        self,
        arguments: Sequence[str],
        cwd: Path,
        columns: int = 110,
        lines: int = 70,
        command: Sequence[str] = COMMAND,
        **env: str,
    ) -> None:
        self.emulator = pyte.Screen(columns, lines)
        self.emulator.write_process_input = self.keys  # a terminal that is asked where its cursor is says so
        self._stream = pyte.ByteStream(self.emulator)
        self.seen = b""
        self._ours, theirs = pty.openpty()
        termios.tcsetwinsize(self._ours, (lines, columns))
        self.modes_before = self.modes
        ours = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "COLUMNS", "LINES")}
        environment = ours | {"TERM": "xterm-256color"} | env
        self._process: subprocess.Popen[bytes] | ForkedCommand
        if command is COMMAND:
            self._process = fork_cli.start_on_terminal(arguments, cwd, environment, theirs)
        else:
            self._process = subprocess.Popen(
                [*command, *arguments],
                cwd=cwd,
                stdin=theirs,
                stdout=theirs,
                stderr=theirs,
                env=environment,
                start_new_session=True,
                preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            )
        os.close(theirs)

    @property
    def screen(self) -> str:
        return "\n".join(line.rstrip() for line in self.emulator.display).rstrip()

    def wait_for(self, text: str, seconds: float = 60) -> None:
        deadline = time.monotonic() + seconds
        while text not in self.screen:
            assert time.monotonic() < deadline, f"{text!r} never appeared:\n{self.screen}"
            assert self._read() or self._process.poll() is None, f"ended before {text!r}:\n{self.screen}"

    def keys(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def resize(self, columns: int, lines: int) -> None:
        """As when a person drags the window's corner; the kernel tells the program."""
        self.emulator.resize(lines, columns)
        termios.tcsetwinsize(self._ours, (lines, columns))

    def close(self, seconds: float = 30) -> int:
        """As when a person closes the window."""
        os.close(self._ours)
        return self._process.wait(seconds)

    @property
    def modes(self) -> list[object]:
        """What the terminal does with keys: echo them, wait for whole lines, and so on."""
        return termios.tcgetattr(self._ours)

    @property
    def pid(self) -> int:
        return self._process.pid

    def end(self, seconds: float = 120) -> int:
        deadline = time.monotonic() + seconds
        while self._read() or self._process.poll() is None:
            assert time.monotonic() < deadline, f"still running:\n{self.screen}"
        self.modes_left = self.modes
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
