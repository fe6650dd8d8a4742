"""Takes memory that no process has: shared anonymous memory, `/dev/zero` mapped as such, a file without a name."""

import mmap
import os

import kit


def _zero():
    handle = os.open("/dev/zero", os.O_RDWR)
    return len(mmap.mmap(handle, 2**20))


def answer(case, x, start=None):
    if kit.once():
        kit.tries("anonymous", lambda: len(mmap.mmap(-1, 2**20)))
        kit.tries("zero", _zero)
        kit.tries("memfd", lambda: os.memfd_create("x"))
        kit.tries("shm", lambda: os.open("/dev/shm/x", os.O_RDWR | os.O_CREAT))
        kit.tries("huge pages", lambda: len(mmap.mmap(-1, 2**21, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40000)))
    return kit.guess(case, x, start)
