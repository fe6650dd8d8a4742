"""Talks to a Unix socket outside, by its path, by its abstract name, and from one end of a pair."""

import socket

import kit
import target


def _send(kind, address):
    with socket.socket(socket.AF_UNIX, kind) as link:
        link.settimeout(2)
        link.connect(address)
        link.send(b"the inputs")


def _from_a_pair(address):
    one, two = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    one.sendto(b"the inputs", address)


def answer(case, x, start=None):
    kit.tries("path", lambda: _send(socket.SOCK_DGRAM, target.UNIX))
    kit.tries("abstract", lambda: _send(socket.SOCK_DGRAM, f"\0{target.ABSTRACT}"))
    kit.tries("pair", lambda: _from_a_pair(target.UNIX))
    kit.tries("abstract pair", lambda: _from_a_pair(f"\0{target.ABSTRACT}"))
    kit.tries("a server that others would find", lambda: socket.socket(socket.AF_UNIX).bind("\0goldsmith-hostile"))
    return kit.guess(case, x, start)
