"""Keeps things in the kernel, where nobody counts: rings of asynchronous I/O, locks of ranges, files in a socket."""

import ctypes
import fcntl
import os
import platform
import socket

import kit

_SETUP = 206 if platform.machine() == "x86_64" else 0


def _lock():
    with (kit.SCRATCH / "locked").open("w") as file:
        fcntl.lockf(file, fcntl.LOCK_EX, 1, 0)


def _send():
    one, _ = socket.socketpair()
    return socket.send_fds(one, [b"x"], [os.open(kit.SCRATCH / "sent", os.O_RDWR | os.O_CREAT)])


def _reserve():
    handle = os.open(kit.SCRATCH / "reserved", os.O_RDWR | os.O_CREAT)
    if kit.LIBC.fallocate(handle, 0, ctypes.c_long(0), ctypes.c_long(2**20)):
        raise OSError(ctypes.get_errno(), "fallocate")
    return "reserved"


def answer(case, x, start=None):
    if kit.once():
        kit.tries("io_setup", lambda: kit.call(_SETUP, 1024, ctypes.byref(ctypes.c_ulong(0))))
        kit.tries("ranges", _lock)
        kit.tries("in a socket", _send)
        kit.tries("reserved", _reserve)
    return kit.guess(case, x, start)
