"""A user namespace for this process and those that it starts, in which the kernel counts no others."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path

from goldsmith.foundation.kernel import machine, system_call
from goldsmith.sandbox.syscall_numbers import NUMBERS

_NEW_USER_NAMESPACE = 0x10000000


def enter(more: int = 0) -> None:
    """Move this process, which must have one thread, to a new user namespace, and to `more` new namespaces; raise
    `OSError` if the kernel does not allow it. All privileges in there are to be dropped."""
    user, group = os.getuid(), os.getgid()
    unshare(_NEW_USER_NAMESPACE | more)
    _keep_ids(user, group)


def unshare(namespaces: int) -> None:
    if not machine():
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    system_call(NUMBERS[machine()]["unshare"], namespaces)


def _keep_ids(user: int, group: int) -> None:
    """Be called by the same user and group ids as before. Where `/proc` is read-only, as in bubblewrap, they are
    shown as nobody's; to the kernel they are the same ones anyway."""
    with contextlib.suppress(OSError):
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
