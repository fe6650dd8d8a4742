"""Start children from a fork server, which has imported torch already: tens of milliseconds instead of seconds.

The server itself is `worker/fork_server.py`: this module only talks to it.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from goldsmith.process.priority import real_time_priority
from goldsmith.process.process_groups import Process, leads_session, signal_group, start_of
from goldsmith.process.untrusted_files import UntrustedFolder, exit_status_file
from goldsmith.sandbox.interpreter import command as interpreter_command
from goldsmith.sandbox.readable_paths import Reach

_log = logging.getLogger(__name__)
_SHUTDOWN_TIMEOUT_S = 1.0
_WAIT_TIMEOUT_S = 3600.0
_POLL_INTERVAL_S = 0.002
_SERVER_MODULE = "goldsmith.worker.fork_server"
STRANGERS, NO_OPTIMISERS = "strangers", "no-optimisers"
"""What the server is told besides the names of libraries."""
_KILLED = -9
"""The return code of a child whose server has ended, which ends all that it forked."""


class ForkClient:
    """A connection to a fork server, which is started when it is first needed and again if it dies. Close it at the
    end; several threads may share it.

    preload:         libraries that the server imports before it forks
    optimisers:      import what those need for their optimisers, too, which takes as long again
    environment:     of the server and its children; by default the first job's. With one of its own nothing of this
                     process's environment is in their memory
    command_prefix:  starts the server, as bubblewrap does
    reach:           import only from there; the children are strangers to each other
    """

    def __init__(
        self,
        *,
        preload: Collection[str] = (),
        optimisers: bool = True,
        environment: dict[str, str] | None = None,
        command_prefix: Sequence[str] = (),
        reach: Reach | None = None,
    ) -> None:
        self._preload, self._environment, self._command_prefix, self._reach = (
            preload,
            environment,
            command_prefix,
            reach,
        )
        self._options = [] if optimisers else [NO_OPTIMISERS]
        self._server: subprocess.Popen[bytes] | None = None
        self._files: list[str] = []
        self._has_answered = False
        self._lock = threading.Lock()

    def prestart(self, environment: dict[str, str]) -> None:
        """Start the server before it is needed, without waiting for its imports."""
        with self._lock:
            self._ensure_server(environment)

    def is_ready(self, environment: dict[str, str], *, timeout: float, on_wait: Callable[[], None]) -> bool:
        """Start the server if need be and wait until it can fork, calling `on_wait` meanwhile.

        Return False if it dies or is not ready within `timeout` seconds.
        """
        with self._lock:
            try:
                server = self._ensure_server(environment)
                if not self._has_answered:
                    assert server.stdout is not None
                    self._send({"import": []})
                    deadline = time.monotonic() + timeout
                    while not select.select([server.stdout], [], [], 0)[0] and time.monotonic() < deadline:
                        on_wait()
                    if time.monotonic() < deadline:
                        self._receive()
            except OSError:
                self._has_answered = False
            if not self._has_answered:
                self.close()
            return self._has_answered

    def preload_modules(self, packages: Sequence[str]) -> None:
        """Let the server import what children will import.

        If that starts a thread, which would not survive a fork, end the server: the next one starts without them.
        """
        with self._lock:
            if self._server is None or self._server.poll() is not None:
                return
            if not self._request({"import": list(packages)}):
                self.close()

    def preload_files(self, files: Sequence[Path]) -> None:
        """Let the server, and every later one, read once the files that all children read and none changes."""
        with self._lock:
            self._files = list(map(str, files))
            if self._server is not None:
                with contextlib.suppress(OSError):  # a server that is gone is noticed at the next fork
                    self._request({"read": self._files})

    def start(self, job: Path, log: Path, folder: str, environment: dict[str, str]) -> Process:
        """Fork a child that runs `job`."""
        request = {
            "job": str(job),
            "log": str(log),
            "scratch": str(job.parent),
            "folder": folder,
            "temporary": environment["TMPDIR"],
        }
        status_file = exit_status_file(job.parent)
        status_folder = UntrustedFolder(status_file.parent)
        with self._lock:
            try:
                server = self._ensure_server(environment)
                pid = self._request(request)
            except OSError:  # another child may have killed the server just now: retry with a new one
                self.close()
                server = self._ensure_server(environment)
                pid = self._request(request)
        return _ForkedProcess(pid, status_folder, status_file.name, server)

    def _request(self, request: dict[str, Any]) -> int:
        self._send(request)
        return self._receive()

    def _send(self, request: dict[str, Any]) -> None:
        assert self._server is not None
        assert self._server.stdin is not None
        try:
            self._server.stdin.write(json.dumps(request).encode() + b"\n")
            self._server.stdin.flush()
        except (OSError, ValueError):
            raise OSError("the fork server does not listen") from None

    def _receive(self) -> int:
        assert self._server is not None
        assert self._server.stdout is not None
        try:
            answer = int(self._server.stdout.readline())
        except (OSError, ValueError):
            raise OSError("the fork server did not answer") from None
        self._has_answered = True
        return answer

    def _ensure_server(self, environment: dict[str, str]) -> subprocess.Popen[bytes]:
        if self._server is None or self._server.poll() is not None:
            self._has_answered = False
            program, options = [sys.executable, "-P", "-m", _SERVER_MODULE], [*self._preload, *self._options]
            if self._reach is not None:
                reach = self._reach
                program = interpreter_command(_SERVER_MODULE, reach.folders, reach.packages, reach.absent)
                options.append(STRANGERS)
            with real_time_priority():
                self._server = subprocess.Popen(
                    [*self._command_prefix, *program, *options],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    env=environment if self._environment is None else self._environment,
                    cwd="/",
                    start_new_session=True,
                )
            _log.debug("fork server started: process %d", self._server.pid)
            if self._files:
                self._request({"read": self._files})
        return self._server

    def close(self) -> None:
        """End the server, which kills what its children left running, by closing its standard input; else kill it."""
        if self._server is None:
            return
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        with contextlib.suppress(OSError):
            self._server.stdin.close()
        try:
            self._server.wait(_SHUTDOWN_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._server.kill()
            self._server.wait()
        self._server.stdout.close()
        self._server = None


@contextlib.contextmanager
def fork_server(
    *, preload: Collection[str] = (), optimisers: bool = True, environment: dict[str, str] | None = None
) -> Iterator[ForkClient]:
    """Open a fork server, and close it at the end."""
    server = ForkClient(preload=preload, optimisers=optimisers, environment=environment)
    try:
        yield server
    finally:
        server.close()


class _ForkedProcess:
    """A child of the fork server, which writes the child's exit status into a file."""

    def __init__(self, pid: int, folder: UntrustedFolder, status_file: str, server: subprocess.Popen[bytes]) -> None:
        self.returncode: int | None = None
        self.kill_reason = ""
        self._pid, self._folder, self._status_file, self._server = pid, folder, status_file, server
        self._start = start_of(pid)

    @property
    def pid(self) -> int:
        return self._pid

    def poll(self) -> int | None:
        if self.returncode is None:
            if self._folder.has(self._status_file):
                with contextlib.suppress(OSError, ValueError):
                    code, _, self.kill_reason = self._folder.read(self._status_file).decode().partition(" ")
                    self.returncode = int(code)
            if self.returncode is None and self._server.poll() is not None:
                self.returncode = _KILLED
        return self.returncode

    def signal_group(self, number: int) -> None:
        """Send a signal while the process id still belongs to the child.

        The fork server kills the rest of a group together with its leader.
        """
        if start_of(self._pid) == self._start and leads_session(self._pid):
            signal_group(self._pid, number)

    def wait(self, timeout: float | None = None) -> int:
        deadline = time.monotonic() + (_WAIT_TIMEOUT_S if timeout is None else timeout)
        while self.poll() is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("child", timeout or 0.0)
            if timeout is None and not _is_alive(self._pid):
                self.returncode = _KILLED
            time.sleep(_POLL_INTERVAL_S)
        assert self.returncode is not None
        return self.returncode


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
