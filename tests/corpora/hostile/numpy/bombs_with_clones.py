"""A bomb of processes that share one memory and sleep: nothing is copied for them, so each takes microseconds."""

import ctypes
import mmap
import os

import kit

_SHARED_MEMORY, _SIGCHLD = 0x100, 17


def answer(case, x, start=None):
    kit.only_inside()
    kit.mark()
    if case == "centred":
        kit.tries("clone", _bomb)
    return kit.guess(case, x, start)


def _bomb():
    stack = mmap.mmap(-1, 2**16, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    top = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(stack)) + 2**16)
    while kit.LIBC.clone(kit.LIBC.pause, top, _SHARED_MEMORY | _SIGCHLD, None) > 0:
        pass
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
