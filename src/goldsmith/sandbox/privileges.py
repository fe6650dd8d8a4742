"""Giving up what an ordinary process does not need: new privileges, capabilities, outliving its parent."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import signal
import struct
from pathlib import Path

from goldsmith.foundation.kernel import (
    PR_CAP_AMBIENT,
    PR_CAPBSET_DROP,
    PR_CAPBSET_READ,
    PR_SET_NO_NEW_PRIVS,
    PR_SET_PDEATHSIG,
    PR_SET_SECUREBITS,
    machine,
    process_control,
    system_call,
)
from goldsmith.sandbox.syscall_numbers import NUMBERS

_CAPABILITY_VERSION = 0x20080522
_CLEAR_ALL_AMBIENT = 4
_SETPCAP = 8
_NO_PRIVILEGES_FOR_ROOT = 0b11101111
"""Securebits: user 0 gains nothing from being user 0, neither by exec nor by a change of user; all of it locked."""


def no_new_privileges() -> None:
    """Keep programs started from now on from gaining privileges, whatever their files say (setuid, capabilities)."""
    process_control(PR_SET_NO_NEW_PRIVS, 1)


def end_with_parent() -> None:
    """Have the kernel kill this process when the one that forked it ends."""
    process_control(PR_SET_PDEATHSIG, signal.SIGKILL)


def own_session() -> None:
    """Move to a session and a process group without other members."""
    if os.getsid(0) != os.getpid():
        os.setsid()


def drop_capabilities() -> None:
    """Give up all capabilities, also as root. Raises `OSError` if some would be left."""
    held = _held()
    if held >> _SETPCAP & 1:
        for number in range(64):
            try:
                if process_control(PR_CAPBSET_READ, number):
                    process_control(PR_CAPBSET_DROP, number)
            except OSError as error:
                if error.errno == errno.EINVAL:
                    break  # the kernel has no more capabilities
                raise
        process_control(PR_SET_SECUREBITS, _NO_PRIVILEGES_FOR_ROOT)
    with contextlib.suppress(OSError):
        process_control(PR_CAP_AMBIENT, _CLEAR_ALL_AMBIENT)
    header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
    nothing = ctypes.create_string_buffer(24)
    system_call(NUMBERS[machine()]["capset"], ctypes.create_string_buffer(header, len(header)), nothing)
    if _held():
        raise OSError(errno.EPERM, "some capabilities are left")


def _held() -> int:
    """Return the capabilities that this process has or could take, as bits."""
    held = 0
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(("CapPrm:", "CapEff:", "CapInh:", "CapAmb:")):
            held |= int(line.split()[1], 16)
    return held
