"""Processes that children have started, seen from the process that forked those children. Linux only: `/proc`."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
from collections.abc import Collection, Iterator
from pathlib import Path

CROWD = 64
"""More processes than this in one child's session are a fork bomb."""
_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """From here on, whatever outlives its own parent below this process becomes a child of this process."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_strays(children: Collection[int]) -> None:
    """Kill daemons, which have left their session, and whole sessions that have grown into a crowd."""
    sessions: dict[int, int] = {}
    for number, parent, session in _processes():
        sessions[session] = sessions.get(session, 0) + 1
        if parent == os.getpid() and number not in children:
            _kill(number)
    for session, size in sessions.items():
        if session in children and size > CROWD:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(session, signal.SIGKILL)


def _processes() -> Iterator[tuple[int, int, int]]:
    """Number, parent and session of every process."""
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            fields = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
            yield int(entry.name), int(fields[1]), int(fields[3])


def _kill(number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(number, signal.SIGKILL)
