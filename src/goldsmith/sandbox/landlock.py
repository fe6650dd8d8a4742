"""Landlock: irrevocable restriction of the files that a process can reach, made by the process itself.

It binds the calling thread and what that starts later, so the process must have only one thread when it does this.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import struct
from collections.abc import Iterable
from pathlib import Path

from goldsmith.foundation.kernel import machine, system_call

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION = 1
_PATH_BENEATH = 1

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
REMOVE_DIR, REMOVE_FILE = 1 << 4, 1 << 5
MAKE_DIR, MAKE_REG, MAKE_SYM = 1 << 7, 1 << 8, 1 << 12
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15

READ = READ_FILE | READ_DIR | EXECUTE
WRITE = READ_FILE | READ_DIR | WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | MAKE_SYM | REFER | TRUNCATE
"""Excludes making sockets, pipes or devices, and running what was written as a program."""
CONTROL = READ_FILE | WRITE_FILE | IOCTL_DEV
_OF_A_FILE = EXECUTE | READ_FILE | WRITE_FILE | TRUNCATE | IOCTL_DEV

_RIGHTS_SINCE = {1: 13, 2: 14, 3: 15, 5: 16}
"""How many rights on files each version knows: that many of the lowest bits."""
NETWORK_SINCE = 4
_TCP_BIND_AND_CONNECT = 0b11
SIGNALS_SINCE = 6
"""From this version on, signals and abstract Unix sockets cannot leave the sandbox."""
_ABSTRACT_SOCKETS_AND_SIGNALS = 0b11
TRUNCATION_SINCE = 3


def version() -> int:
    """Return the kernel's version of Landlock; `OSError` says why there is none."""
    if not machine():
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    return system_call(_CREATE_RULESET, None, 0, _ASK_VERSION)


def why_not(error: OSError) -> str:
    """Explain why there is no Landlock."""
    return {
        errno.ENOSYS: "no Landlock: it takes a Linux kernel of 5.13 or later that was built with it",
        errno.EOPNOTSUPP: "Landlock is switched off: add `landlock` to the `lsm=` of the kernel's command line",
        errno.EPERM: "Landlock is forbidden here, as older container engines do: allow the landlock_* system calls",
    }.get(error.errno or 0, f"no Landlock: {error.strerror}")


def restrict(
    abi: int,
    *,
    readable: Iterable[str] = (),
    listable: Iterable[str] = (),
    writable: Iterable[str] = (),
    devices: Iterable[str] = (),
    network: bool = False,
) -> None:
    """Restrict this process to these files and folders from now on; of `listable` folders, it can only list names.

    Those that do not exist are skipped. `devices` may also be controlled. With `network`, TCP is not restricted.
    """
    rights = (1 << max(bits for since, bits in _RIGHTS_SINCE.items() if since <= abi)) - 1
    ruleset = system_call(_CREATE_RULESET, *_attributes(abi, rights, network), 0)
    try:
        for paths, access in ((readable, READ), (listable, READ_DIR), (writable, WRITE), (devices, CONTROL)):
            for path in paths:
                _allow(ruleset, path, access & rights)
        system_call(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _attributes(abi: int, rights: int, network: bool) -> tuple[ctypes.Array[ctypes.c_char], int]:
    words = [rights]
    if abi >= NETWORK_SINCE:
        words.append(0 if network else _TCP_BIND_AND_CONNECT)
    if abi >= SIGNALS_SINCE:
        words.append(_ABSTRACT_SOCKETS_AND_SIGNALS)
    content = struct.pack(f"={len(words)}Q", *words)
    return ctypes.create_string_buffer(content, len(content)), len(content)


def _allow(ruleset: int, path: str, access: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return  # what this process cannot reach needs no rule
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            access &= _OF_A_FILE
        content = struct.pack("=Qi", access, descriptor)
        rule = ctypes.create_string_buffer(content, len(content))
        system_call(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0)
    finally:
        os.close(descriptor)


def threads() -> int:
    """Count this process's threads."""
    return sum(1 for _ in Path("/proc/self/task").iterdir())
