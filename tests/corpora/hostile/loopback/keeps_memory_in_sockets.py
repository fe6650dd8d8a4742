"""Fills the kernel's memory with what lies in connections that nobody reads from."""

import contextlib
import socket

import kit

_CHUNK = bytes(2**20)


def answer(case, x, start=None):
    kit.only_inside()
    kept, sent = [], 0
    server = socket.create_server(("127.0.0.1", 0))
    with contextlib.suppress(OSError):
        while True:
            link = socket.create_connection(server.getsockname(), timeout=1)
            kept += [link, server.accept()[0]]
            link.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                while True:
                    sent += link.send(_CHUNK)
    kit.sees("kept", f"{sent / 2**20:.0f} MiB in {len(kept)} ends")
    return kit.guess(case, x, start)
