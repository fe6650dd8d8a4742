"""Sends what it is given to somebody who listens, by UDP and raw packets."""

import socket

import kit
import target


def _send(kind, address):
    with socket.socket(socket.AF_INET, kind) as link:
        link.sendto(b"the inputs", address)


def answer(case, x, start=None):
    kit.tries("UDP", lambda: _send(socket.SOCK_DGRAM, ("127.0.0.1", target.UDP)))
    kit.tries("raw", lambda: _send(socket.SOCK_RAW, ("127.0.0.1", 0)))
    kit.tries("netlink", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW).close())
    return kit.guess(case, x, start)
