"""A multiprocessing that works inside the sandbox, without shared files in `/dev/shm` and without sockets.

Nothing here protects anything; it keeps data loaders with workers, pools and queues working.
"""

from __future__ import annotations

import importlib
import os
import select
import sys
import threading
import time
from typing import Any

_RECURSIVE_MUTEX = 0
_MAX_COUNT = 2**31 - 1


class Semaphore:
    """A replacement for `SemLock`, the base of multiprocessing's locks, on an eventfd that only forks of this process
    share.

    The kernel's named semaphores are files in `/dev/shm`, where other submissions would see them.
    """

    SEM_VALUE_MAX = _MAX_COUNT

    def __init__(self, kind: int, value: int, maxvalue: int, name: str, unlink: bool) -> None:
        self.kind = kind
        self.maxvalue = maxvalue
        self.name = None
        self.handle = os.eventfd(value, os.EFD_SEMAPHORE | os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._taken = 0
        self._owner = 0

    def acquire(self, block: bool = True, timeout: float | None = None) -> bool:
        if self.kind == _RECURSIVE_MUTEX and self._is_mine():
            self._taken += 1
            return True
        ends = None if timeout is None else time.monotonic() + max(timeout, 0.0)
        while not self._take():
            if not block or not self._wait(ends):
                return False
        self._owner = threading.get_ident()
        self._taken += 1
        return True

    __enter__ = acquire

    def __exit__(self, *details: object) -> None:
        self.release()

    def release(self) -> None:
        if self.kind == _RECURSIVE_MUTEX:
            if not self._is_mine():
                raise AssertionError("attempt to release recursive lock not owned by thread")
            if self._taken > 1:
                self._taken -= 1
                return
        elif self.maxvalue == 1 and not self._is_zero():
            raise ValueError("semaphore or lock released too many times")
        self._taken -= 1
        os.eventfd_write(self.handle, 1)

    def _take(self) -> bool:
        try:
            os.eventfd_read(self.handle)
        except BlockingIOError:
            return False
        return True

    def _wait(self, ends: float | None) -> bool:
        """Wait for a release; return false after the timeout."""
        left = None if ends is None else (ends - time.monotonic()) * 1000
        if left is not None and left <= 0:
            return False
        poll = select.poll()
        poll.register(self.handle, select.POLLIN)
        poll.poll(left)
        return True

    def _is_zero(self) -> bool:
        poll = select.poll()
        poll.register(self.handle, select.POLLIN)
        return not poll.poll(0)

    def _is_mine(self) -> bool:
        return self._taken > 0 and self._owner == threading.get_ident()

    def _count(self) -> int:
        return self._taken

    def _get_value(self) -> int:
        raise NotImplementedError("the value of this semaphore cannot be asked for")

    def _after_fork(self) -> None:
        self._taken = 0

    def __del__(self) -> None:
        os.close(self.handle)


def do_without_sockets() -> None:
    """Patch this process's multiprocessing: forked workers, `Semaphore` for locks, tensors sent as bytes."""
    if sys.platform != "linux":
        return
    import multiprocessing
    from multiprocessing import heap, reduction

    vars(importlib.import_module("_multiprocessing"))["SemLock"] = Semaphore
    multiprocessing.set_start_method("fork", force=True)  # a fork server needs a socket
    vars(heap.Arena).get("_dir_candidates", []).clear()  # otherwise shared values would be in /dev/shm
    pickler: Any = reduction.ForkingPickler
    for kind in [kind for kind in pickler._extra_reducers if _is_of_torch(kind)]:
        del pickler._extra_reducers[kind]
    register = pickler.register

    def register_others(kind: type, reduce: Any) -> None:
        if _is_of_torch(kind):
            _do_not_share()  # torch is being imported
        else:
            register(kind, reduce)

    vars(reduction)["register"] = pickler.register = register_others
    _do_not_share()


def _is_of_torch(kind: type) -> bool:
    """Return whether a type is torch's: it would share tensors by sending a descriptor through a named socket."""
    return kind.__module__.partition(".")[0] == "torch"


def _do_not_share() -> None:
    """Make a loader's workers collect a batch in ordinary memory."""
    storage: Any = getattr(sys.modules.get("torch.storage"), "UntypedStorage", None)
    if storage is not None:
        storage._new_shared = classmethod(lambda cls, size, *, device="cpu": cls(size, device=device))
