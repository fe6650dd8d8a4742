"""System calls that Python has no function for. No other module of this folder calls C."""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import sys
from typing import Any

PR_SET_PDEATHSIG = 1
PR_CAPBSET_READ = 23
PR_CAPBSET_DROP = 24
PR_SET_SECUREBITS = 28
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT = 47


@functools.cache
def _libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)


def machine() -> str:
    """Return the processor's name if its system calls are known (x86_64, aarch64 on Linux), else ""."""
    name = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine().lower())
    known = sys.platform == "linux" and name in ("x86_64", "aarch64") and ctypes.sizeof(ctypes.c_void_p) == 8
    return name if known else ""


def system_call(number: int, *arguments: int | ctypes.Array[ctypes.c_char] | None) -> int:
    """Make a system call and return its result; raise `OSError` if the kernel refuses. Buffers are passed by
    address."""
    ctypes.set_errno(0)
    answer = int(_libc().syscall(ctypes.c_long(number), *(_word(argument) for argument in arguments)))
    if answer < 0:
        raise _refusal()
    return answer


def process_control(option: int, *arguments: int) -> int:
    """Call `prctl`; raise `OSError` if the kernel refuses."""
    words = [ctypes.c_ulong(argument) for argument in (*arguments, 0, 0, 0, 0)[:4]]
    ctypes.set_errno(0)
    answer = int(_libc().prctl(ctypes.c_int(option), *words))
    if answer < 0:
        raise _refusal()
    return answer


def _word(argument: int | ctypes.Array[ctypes.c_char] | None) -> Any:
    if argument is None:
        return ctypes.c_void_p(None)
    if isinstance(argument, int):
        return ctypes.c_long(argument)
    return ctypes.cast(argument, ctypes.c_void_p)


def _refusal() -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number))
