"""Starting children from a warm process, which has imported torch already: tens of milliseconds instead of seconds."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from goldsmith.process.process_groups import Process, beginning_of, leads_session, signal_group
from goldsmith.process.untrusted_files import UntrustedFolder, exit_status_file
from goldsmith.sandbox.interpreter import command as interpreter_command
from goldsmith.sandbox.readable_paths import Reach

_GRACE = 1.0
_MODULE = "goldsmith.worker.fork_server"


class ForkServer:
    """The warm process, started when it is first needed and again should it die. Use it as a context; several threads
    may. With an `environment` of its own, nothing of this process's is in its memory, nor in its children's. What
    stands `before` its command line starts it, as bubblewrap does. With a `reach` it imports from there only."""

    def __init__(
        self,
        *,
        torch: bool,
        environment: dict[str, str] | None = None,
        before: Sequence[str] = (),
        reach: Reach | None = None,
    ) -> None:
        self._torch, self._environment, self._before, self._reach = torch, environment, before, reach
        self._server: subprocess.Popen[bytes] | None = None
        self._read: list[str] = []
        self._has_answered = False
        self._asking = threading.Lock()

    def begin(self, environment: dict[str, str]) -> None:
        """Start already: what it imports takes a while, in which there is something else to do."""
        with self._asking:
            self._running(environment)

    def is_ready(self, environment: dict[str, str], *, timeout: float, meanwhile: Callable[[], None]) -> bool:
        """Start it if need be and wait, doing something `meanwhile`, until it can fork; False if it dies or is late."""
        with self._asking:
            try:
                server = self._running(environment)
                if not self._has_answered:
                    assert server.stdout is not None
                    self._send({"import": []})
                    ends = time.monotonic() + timeout
                    while not select.select([server.stdout], [], [], 0)[0] and time.monotonic() < ends:
                        meanwhile()
                    if time.monotonic() < ends:
                        self._receive()
            except OSError:
                self._has_answered = False
            if not self._has_answered:
                self.close()
            return self._has_answered

    def preload_modules(self, packages: Sequence[str]) -> None:
        """What children will import is imported once, if that starts no thread; if it does, all is as it was before."""
        with self._asking:
            if self._server is None or self._server.poll() is not None:
                return
            if not self._ask({"import": list(packages)}):
                self.close()

    def read(self, files: Sequence[Path]) -> None:
        """What every child will be given, and nobody changes any more, is read once for all of them."""
        with self._asking:
            self._read = list(map(str, files))
            if self._server is not None:
                with contextlib.suppress(OSError):  # should it be gone, that shows when it is to fork
                    self._ask({"read": self._read})

    def start(self, job: Path, log: Path, folder: str, environment: dict[str, str]) -> Process:
        """A child that does `job`, forked from the warm process."""
        request = {
            "job": str(job),
            "log": str(log),
            "scratch": str(job.parent),
            "folder": folder,
            "temporary": environment["TMPDIR"],
        }
        ended = exit_status_file(job.parent)
        around = UntrustedFolder(ended.parent)
        with self._asking:
            try:
                server = self._running(environment)
                number = self._ask(request)
            except OSError:  # another child may have ended it just now: that is no trouble of this one's
                self.close()
                server = self._running(environment)
                number = self._ask(request)
        return _Forked(number, around, ended.name, server)

    def _ask(self, request: dict[str, Any]) -> int:
        self._send(request)
        return self._receive()

    def _send(self, request: dict[str, Any]) -> None:
        assert self._server is not None
        assert self._server.stdin is not None
        try:
            self._server.stdin.write(json.dumps(request).encode() + b"\n")
            self._server.stdin.flush()
        except (OSError, ValueError):
            raise OSError("the warm process does not listen") from None

    def _receive(self) -> int:
        assert self._server is not None
        assert self._server.stdout is not None
        try:
            answer = int(self._server.stdout.readline())
        except (OSError, ValueError):
            raise OSError("the warm process did not answer") from None
        self._has_answered = True
        return answer

    def _running(self, environment: dict[str, str]) -> subprocess.Popen[bytes]:
        if self._server is None or self._server.poll() is not None:
            self._has_answered = False
            program = [sys.executable, "-P", "-m", _MODULE]
            if self._reach is not None:
                here = self._reach
                program = interpreter_command(_MODULE, here.folders, here.packages, here.absent)
            self._server = subprocess.Popen(
                [*self._before, *program, *(["torch"] if self._torch else [])],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment if self._environment is None else self._environment,
                cwd="/",
                start_new_session=True,
            )
            if self._read:
                self._ask({"read": self._read})
        return self._server

    def close(self) -> None:
        """Its standard input ends, whereupon it ends whatever its children have left running; else it is ended."""
        if self._server is None:
            return
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        with contextlib.suppress(OSError):
            self._server.stdin.close()
        try:
            self._server.wait(_GRACE)
        except subprocess.TimeoutExpired:
            self._server.kill()
            self._server.wait()
        self._server.stdout.close()
        self._server = None


@contextlib.contextmanager
def fork_server(*, torch: bool, environment: dict[str, str] | None = None) -> Iterator[ForkServer]:
    warm = ForkServer(torch=torch, environment=environment)
    try:
        yield warm
    finally:
        warm.close()


class _Forked:
    """A child of the warm process, which writes down how it ended."""

    def __init__(self, number: int, around: UntrustedFolder, ended: str, server: subprocess.Popen[bytes]) -> None:
        self.returncode: int | None = None
        self.why = ""
        self._number, self._around, self._ended, self._server = number, around, ended, server
        self._began = beginning_of(number)

    @property
    def pid(self) -> int:
        return self._number

    def poll(self) -> int | None:
        if self.returncode is None:
            with contextlib.suppress(OSError, ValueError):
                code, _, self.why = self._around.read(self._ended).decode().partition(" ")
                self.returncode = int(code)
            if self.returncode is None and self._server.poll() is not None:
                self.returncode = -9
        return self.returncode

    def signal_group(self, number: int) -> None:
        """Send a signal while the child's number is its own. The warm process ends what is left of a group together
        with its leader."""
        if beginning_of(self._number) == self._began and leads_session(self._number):
            signal_group(self._number, number)

    def wait(self, timeout: float | None = None) -> int:
        ends = time.monotonic() + (3600.0 if timeout is None else timeout)
        while self.poll() is None:
            if time.monotonic() > ends:
                raise subprocess.TimeoutExpired("child", timeout or 0.0)
            if timeout is None and not _alive(self._number):
                self.returncode = -9
            time.sleep(0.002)
        assert self.returncode is not None
        return self.returncode


def _alive(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
