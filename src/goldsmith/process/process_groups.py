"""Processes that lead a group of their own, and the end of such a group.

The system gives the number of a process to another once the first has ended and its parent has asked how. So a signal
is only sent to a number that is proven to be still ours: of a child that nobody has asked about yet, or of a process
that began when ours did.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Protocol

_GRACE_S = 0.3
_POLL_S = 0.002


class Process(Protocol):
    """What is needed of a running child. `why` is what it took too much of, if it was ended for that."""

    returncode: int | None
    why: str

    @property
    def pid(self) -> int: ...
    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def signal_group(self, number: int) -> None: ...


def end_group(process: Process) -> None:
    """End a process that leads a group, and everything in it: asked first, then made to."""
    if process.poll() is None:
        process.signal_group(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE_S)
    process.signal_group(signal.SIGKILL)
    process.wait()


class Leader:
    """A child of this process that leads a session. Its number stays taken until it is waited for without a limit."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.returncode: int | None = None
        self.why = ""
        self._process = process

    @property
    def pid(self) -> int:
        return self._process.pid

    def poll(self) -> int | None:
        """Look whether it has ended, and leave its number to it."""
        if self.returncode is None:
            if hasattr(os, "waitid"):
                how = os.WEXITED | os.WNOHANG | os.WNOWAIT
                ended = os.waitid(os.P_PID, self.pid, how)
                if ended is not None:
                    killed = ended.si_code in (os.CLD_KILLED, os.CLD_DUMPED)
                    self.returncode = -ended.si_status if killed else ended.si_status
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
    ends = time.monotonic() + timeout
    while process.poll() is None:
        if time.monotonic() > ends:
            raise subprocess.TimeoutExpired("child", timeout)
        time.sleep(_POLL_S)
    assert process.returncode is not None
    return process.returncode


def signal_group(leader: int, number: int) -> None:
    """Send a signal to the group of a process that is proven to be ours."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


def beginning_of(number: int) -> str | None:
    """Return when a process began, as the system counts it; None where there is none, or nothing to ask."""
    with contextlib.suppress(OSError, IndexError):
        return Path(f"/proc/{number}/stat").read_text(errors="replace").rpartition(")")[2].split()[19]
    return None


def leads_session(number: int) -> bool:
    """Say whether a process leads a session, as every child does that is ended with its group."""
    with contextlib.suppress(OSError):
        return os.getsid(number) == number
    return False
