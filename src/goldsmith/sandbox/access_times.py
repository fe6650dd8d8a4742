"""Access times: reading a file must not leave a mark on it that the next submission can see.

The kernel notes when a file was read at most once a day, which is one bit for each file that two submissions may read.
Read-only mounts note nothing, so inside bubblewrap there is nothing to do.
"""

from __future__ import annotations

import contextlib
import ctypes
import struct

from goldsmith.foundation.kernel import machine, system_call
from goldsmith.sandbox.syscall_numbers import NUMBERS

_NEW_MOUNT_NAMESPACE = 0x00020000
_HERE, _RECURSIVE = -100, 0x8000
_NO_ACCESS_TIMES, _ALL_KINDS, _SLAVE = 0x10, 0x70, 1 << 19


def stop_noting() -> bool:
    """Move this process to a mount namespace of its own in which no access times are noted; return whether that was
    possible, for which it must be root. The machine's own mounts stay as they are."""
    with contextlib.suppress(OSError, KeyError):
        numbers = NUMBERS[machine()]
        system_call(numbers["unshare"], _NEW_MOUNT_NAMESPACE)
        root = ctypes.create_string_buffer(b"/")
        attributes = struct.pack("=4Q", _NO_ACCESS_TIMES, _ALL_KINDS, _SLAVE, 0)
        wanted = ctypes.create_string_buffer(attributes, len(attributes))
        system_call(numbers["mount_setattr"], _HERE, root, _RECURSIVE, wanted, len(attributes))
        return True
    return False
