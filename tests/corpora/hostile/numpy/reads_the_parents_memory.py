"""Reads its parent's memory, at the very address where a secret lies."""

import ctypes
import os

import kit
import target


def _by_file():
    with open(f"/proc/{target.PARENT}/mem", "rb", buffering=0) as file:
        file.seek(target.ADDRESS)
        return file.read(64)


def _by_call(process):
    class Piece(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]

    buffer = ctypes.create_string_buffer(64)
    mine, theirs = Piece(ctypes.addressof(buffer), 64), Piece(target.ADDRESS, 64)
    kit.call(310, process, ctypes.byref(mine), 1, ctypes.byref(theirs), 1, 0)
    return buffer.raw


def answer(case, x, start=None):
    kit.tries("by file", _by_file)
    kit.tries("by call", lambda: _by_call(target.PARENT))
    kit.tries("of the warm process, by call", lambda: _by_call(os.getppid()))
    kit.tries("its own, written", lambda: open("/proc/self/mem", "r+b").close())
    kit.tries("/dev/mem", lambda: open("/dev/mem", "rb").close())
    return kit.guess(case, x, start)
