"""Take turns on a machine: submissions are judged beside others, or alone where neighbours had used up what it takes.

Locks on files, so that the workers of a cluster on one machine take turns, too. Where files cannot be locked, nobody
waits.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from goldsmith.process.device_memory import used_on_device

if sys.platform != "win32":
    import fcntl

_POLL_INTERVAL_S = 0.05
_CLEAN_WITHIN_S = 20.0
_QUEUE, _ROOM = "queue.lock", "room.lock"
"""Whoever wants to be alone stays at the head of the queue until the room is empty: nobody else comes in meanwhile."""


@contextlib.contextmanager
def beside_others(folder: Path, on_wait: Callable[[], None]) -> Iterator[None]:
    """Wait while somebody is alone, calling `on_wait`, which may raise."""
    with _locked(folder / _ROOM, folder / _QUEUE, on_wait, alone=False):
        yield


@contextlib.contextmanager
def alone(folder: Path, on_wait: Callable[[], None]) -> Iterator[None]:
    """Wait until nobody else is there, and keep others waiting."""
    with _locked(folder / _ROOM, folder / _QUEUE, on_wait, alone=True):
        yield


@contextlib.contextmanager
def on_device(folder: Path, turns: int, on_wait: Callable[[], None]) -> Iterator[None]:
    """Wait for one of so many turns on the device; 0 is for work that needs none. Whoever is alone there passes it on
    once its memory is as it was: the driver takes a while to take it back from a process that was killed."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            found = [stack.enter_context(_opened(folder / f"device-{number}.lock")) for number in range(turns)]
            while found and not any(_is_free(descriptor) for descriptor in found):
                on_wait()
                time.sleep(_POLL_INTERVAL_S)
        before = used_on_device() if turns == 1 else 0
        yield
        until = time.monotonic() + _CLEAN_WITHIN_S
        while turns == 1 and used_on_device() > before and time.monotonic() < until:
            on_wait()
            time.sleep(_POLL_INTERVAL_S)


def _is_free(descriptor: int) -> bool:
    """Lock a file if nobody has; say whether that was so."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextlib.contextmanager
def _locked(room: Path, queue: Path, on_wait: Callable[[], None], *, alone: bool) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            queue.parent.mkdir(parents=True, exist_ok=True)
            head, inside = stack.enter_context(_opened(queue)), stack.enter_context(_opened(room))
            _lock(head, fcntl.LOCK_EX, on_wait)
            _lock(inside, fcntl.LOCK_EX if alone else fcntl.LOCK_SH, on_wait)
            if not alone:
                fcntl.flock(head, fcntl.LOCK_UN)
        yield


@contextlib.contextmanager
def _opened(file: Path) -> Iterator[int]:
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        yield descriptor
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)  # closing is not enough while a fork of this process has it open
        os.close(descriptor)


def _lock(descriptor: int, kind: int, on_wait: Callable[[], None]) -> None:
    while True:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            on_wait()
            time.sleep(_POLL_INTERVAL_S)
        else:
            return
