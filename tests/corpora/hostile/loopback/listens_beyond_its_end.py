"""Leaves a process behind that goes on listening after it has ended."""

import os
import socket

import kit


def answer(case, x, start=None):
    kit.only_inside()
    if kit.once() and not os.fork():
        kit.mark()
        server = socket.create_server(("127.0.0.1", 29700))
        while True:
            server.accept()[0].sendall(b"still here")
    return kit.guess(case, x, start)
