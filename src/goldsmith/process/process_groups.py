"""Processes that lead a group of their own, and how to end such a group.

The kernel gives a process id to another process once the first has ended and its parent has waited for it. So a signal
is only sent to an id that is proven to be still ours: of a child that has not been waited for yet, or of a process that
started when ours did.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Protocol

_TERMINATE_TIMEOUT_S = 0.3
_POLL_INTERVAL_S = 0.002


class Process(Protocol):
    """A running child. `kill_reason` says what it used too much of, if it was killed for that."""

    returncode: int | None
    kill_reason: str

    @property
    def pid(self) -> int: ...
    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def signal_group(self, number: int) -> None: ...


def end_group(process: Process) -> None:
    """End a process that leads a group, and everything in it: SIGTERM first, then SIGKILL."""
    if process.poll() is None:
        process.signal_group(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_TERMINATE_TIMEOUT_S)
    process.signal_group(signal.SIGKILL)
    process.wait()


class Leader:
    """A child of this process that leads a session. Its process id stays its own until `wait` without a timeout."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.returncode: int | None = None
        self.kill_reason = ""
        self._process = process

    @property
    def pid(self) -> int:
        return self._process.pid

    def poll(self) -> int | None:
        """Check whether it has ended, without reaping it: its process id stays its own."""
        if self.returncode is None:
            if hasattr(os, "waitid"):
                status = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
                if status is not None:
                    by_signal = status.si_code in (os.CLD_KILLED, os.CLD_DUMPED)
                    self.returncode = -status.si_status if by_signal else status.si_status
            else:
                self.returncode = self._process.poll()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if timeout is None:
            self.returncode = self._process.wait()
            return self.returncode
        return wait_for(self, timeout)

    def signal_group(self, number: int) -> None:
        if self._process.returncode is None:
            signal_group(self.pid, number)


def wait_for(process: Process, timeout: float) -> int:
    """Wait until a process has ended, or raise `subprocess.TimeoutExpired`."""
    deadline = time.monotonic() + timeout
    while process.poll() is None:
        if time.monotonic() > deadline:
            raise subprocess.TimeoutExpired("child", timeout)
        time.sleep(_POLL_INTERVAL_S)
    assert process.returncode is not None
    return process.returncode


def signal_group(leader: int, number: int) -> None:
    """Send a signal to the group of a process that is proven to be ours."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


def start_of(pid: int) -> str | None:
    """Return when a process started, in the kernel's ticks; None where there is no such process, or no `/proc`."""
    with contextlib.suppress(OSError, IndexError):
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[19]
    return None


def leads_session(pid: int) -> bool:
    """Say whether a process leads a session, as every child does that is ended with its group."""
    with contextlib.suppress(OSError):
        return os.getsid(pid) == pid
    return False
