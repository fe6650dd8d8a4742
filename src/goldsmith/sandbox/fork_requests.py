"""Have the kernel ask another process before this one, or any that it starts, may start a process or thread.

The kernel's own limit on the number of processes does not hold for root. Whoever answers here can count them before
they exist, so that a fork bomb grows no faster than it is counted, whatever rights and priority the two sides have.
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import socket
import struct
from typing import NamedTuple

from goldsmith.foundation.kernel import machine
from goldsmith.sandbox import seccomp
from goldsmith.sandbox.syscall_numbers import NUMBERS

STARTING_CALLS = ("clone", "fork", "vfork")
"""Without `clone3`, which is refused: seccomp cannot see its flags."""
_CLONE_THREAD = 0x10000
_REQUEST, _ANSWER = struct.Struct("=QIIiIQ6Q"), struct.Struct("=QqiI")
"""The kernel's `seccomp_notif` and `seccomp_notif_resp`."""
_RECEIVE, _SEND = 0xC0502100, 0xC0182101
_CONTINUE = 1


def ask_before_starting(channel: int) -> None:
    """Have the kernel ask whoever holds the other end of `channel`, a socket, from now on; close it.

    Where the kernel cannot do that, or already asks somebody else about this process, nothing is sent.
    """
    with socket.socket(fileno=channel) as link, contextlib.suppress(OSError):
        listener = seccomp.install_listener(STARTING_CALLS)
        try:
            socket.send_fds(link, [b"x"], [listener])
        finally:
            os.close(listener)


class ForkRequest(NamedTuple):
    """A process that waits for permission to start another, or a thread."""

    number: int
    is_thread: bool


class ForkRequests:
    """The end of a `channel` at which the kernel asks. Closing it refuses all further requests."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._listener: int | None = None

    def open(self) -> bool:
        """Wait until the process at the other end has sandboxed itself; return False if nothing will be asked."""
        with self._channel, contextlib.suppress(OSError):
            _, descriptors, *_ = socket.recv_fds(self._channel, 1, 1)
            self._listener = descriptors[0] if descriptors else None
        return self._listener is not None

    def next(self, timeout: float) -> ForkRequest | None:
        """Return the next request; None if there was none in `timeout` seconds. Raise `EOFError` if there will never
        be one, because all processes have ended."""
        import fcntl  # not on Windows

        assert self._listener is not None
        poll = select.poll()
        poll.register(self._listener, select.POLLIN)
        ready = dict(poll.poll(timeout * 1000)).get(self._listener, 0)
        if not ready & select.POLLIN:
            if ready:
                raise EOFError
            return None
        content = bytearray(_REQUEST.size)
        try:
            fcntl.ioctl(self._listener, _RECEIVE, content)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.EINTR):  # whoever asked has been killed or interrupted meanwhile
                return None
            raise EOFError from None
        number, _, _, call, _, _, flags, *_ = _REQUEST.unpack(content)
        return ForkRequest(number, call == NUMBERS[machine()]["clone"] and bool(flags & _CLONE_THREAD))

    def grant(self, request: ForkRequest) -> None:
        """Let it go on."""
        import fcntl

        assert self._listener is not None
        with contextlib.suppress(OSError):  # it has been killed or interrupted meanwhile
            fcntl.ioctl(self._listener, _SEND, bytearray(_ANSWER.pack(request.number, 0, 0, _CONTINUE)))

    def close(self) -> None:
        if self._listener is not None:
            os.close(self._listener)
            self._listener = None
