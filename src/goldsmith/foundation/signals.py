"""Interruption by Ctrl-C, SIGTERM or a closing terminal, held back during critical sections."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

from goldsmith.foundation.platforms import SIGNALS

_depth = 0
_pending = False
_PIPE_BYTES = 2**16
"""What a pipe holds."""


def install_handlers() -> None:
    """Let these signals raise `KeyboardInterrupt`, held back while in `uninterrupted`.

    Called once by the command line; a library user keeps Python's own handling. SIGCHLD is reset, since some
    supervisors start commands with it ignored: then the exit status of a child would be lost.
    """
    if hasattr(signal, "SIGCHLD"):
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number in SIGNALS:
        hung_up = number not in (signal.SIGINT, signal.SIGTERM)
        if (
            not hung_up or signal.getsignal(number) is not signal.SIG_IGN
        ):  # under nohup, a closing terminal must not interrupt
            signal.signal(number, _interrupt)


def remove_handlers() -> None:
    """Ignore these signals until the process ends: the outcome is decided and must not change any more."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold interruptions back until this block ends, then raise them.

    Signals reach the main thread only; in any other this does nothing.
    """
    global _depth, _pending
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _depth += 1
    try:
        yield
    finally:
        _depth -= 1
        if _pending and not _depth:
            _pending = False
            raise KeyboardInterrupt


def pause(seconds: float, wake: int | None = None) -> bool:
    """Sleep in an `uninterrupted` block, and raise a pending interruption here, where nothing is half done. Return
    whether a byte arrived in the pipe `wake`, which ends the sleep.

    A signal that raises wherever it happens to arrive can leave a lock of the standard library taken for ever:
    `subprocess` holds one for a moment in every `poll`.
    """
    global _pending
    woken = False
    if wake is None:
        time.sleep(seconds)
    else:
        woken = _wait_for_byte(wake, seconds)
    if _pending and _depth <= 1 and threading.current_thread() is threading.main_thread():
        _pending = False
        raise KeyboardInterrupt
    return woken


def _wait_for_byte(pipe: int, seconds: float) -> bool:
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    if not poll.poll(seconds * 1000):
        return False
    with contextlib.suppress(BlockingIOError):  # somebody else at this pipe has read it
        os.read(pipe, _PIPE_BYTES)
    return True


def _interrupt(number: int, frame: Any) -> None:
    global _pending
    if not _depth:
        raise KeyboardInterrupt
    _pending = True
