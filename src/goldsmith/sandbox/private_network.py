"""A network of its own for this process: a namespace with a loopback interface and no way out.

What listens there is reached by this process and by those that it starts, and by nobody else; nor do they reach
anybody. It is entered before privileges are given up, and no process in it has any afterwards.
As a program, `python -m goldsmith.sandbox.private_network`, it tries whether that is possible.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
import subprocess
import sys
from pathlib import Path

from goldsmith.sandbox import user_namespace
from goldsmith.sandbox.interpreter import command as interpreter_command
from goldsmith.sandbox.readable_paths import Reach

if sys.platform == "linux":
    import fcntl

_NEW_NETWORK_NAMESPACE = 0x40000000
_GET_FLAGS, _SET_FLAGS = 0x8913, 0x8914  # SIOCGIFFLAGS, SIOCSIFFLAGS
_IS_UP = 1
_LOOPBACK = "lo"
_REQUEST = "=16sh22x"
_NAMESPACE = "/proc/self/ns/net"
_PCI = Path("/sys/bus/pci/devices")
_PROBE_TIMEOUT_S = 20.0
_YES = "a private network"


def enter() -> bool:
    """Move this process, which must have one thread, to a new network; return whether it is also in a new user
    namespace now, as it must be unless it has root's privileges.

    Raises `OSError` if the kernel does not allow it, or if this still is the network from before.
    """
    before = os.readlink(_NAMESPACE)
    as_another = False
    try:
        user_namespace.unshare(_NEW_NETWORK_NAMESPACE)
    except PermissionError:
        user_namespace.enter(_NEW_NETWORK_NAMESPACE)
        as_another = True
    if os.readlink(_NAMESPACE) == before:
        raise OSError(errno.EPERM, "it is still in the network from before")
    _start_loopback()
    return as_another


def _start_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        request = struct.pack(_REQUEST, _LOOPBACK.encode(), 0)
        _, flags = struct.unpack(_REQUEST, fcntl.ioctl(link, _GET_FLAGS, request))
        fcntl.ioctl(link, _SET_FLAGS, struct.pack(_REQUEST, _LOOPBACK.encode(), flags | _IS_UP))


def readable_files() -> tuple[str, ...]:
    """Return what networking libraries read: the name of the loopback, and, for Gloo, which kinds of devices there are,
    as it looks for network cards and gives up where it may not."""
    try:
        devices = sorted(_PCI.iterdir())
    except OSError:
        devices = []
    return "/etc/hosts", *map(str, [_PCI][: len(devices)]), *(os.path.realpath(item / "class") for item in devices)


def why_not(before: tuple[str, ...] = (), reach: Reach | None = None) -> str:
    """Say why a process that is started with `before` its command line, and imports from `reach` only, cannot have a
    private network; empty if it can, by a probe run."""
    program = [sys.executable, "-P", "-m", __name__]
    if reach is not None:
        program = interpreter_command(__name__, reach.folders, reach.packages, reach.absent)
    try:
        run = subprocess.run(
            [*before, *program], capture_output=True, text=True, timeout=_PROBE_TIMEOUT_S, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"it could not be tried: {type(error).__name__}"
    if run.returncode == 0 and run.stdout == _YES:
        return ""
    return (run.stderr.strip().splitlines() or [f"exit code {run.returncode}"])[-1]


def _try() -> int:
    try:
        enter()
        with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()):
            print(end=_YES)
    except OSError as error:
        print(f"{type(error).__name__}: {error.strerror or error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(_try())
