"""Has a thread start a child by vfork that sleeps: the thread, and not the process, seems to wait for a disk."""

import ctypes
import threading

import kit


def _sleep():
    libc = ctypes.CDLL(None)
    if not libc.vfork():
        libc.sleep(600)


def answer(case, x, start=None):
    thread = threading.Thread(target=_sleep)
    thread.start()
    thread.join()
    return kit.guess(case, x, start)
