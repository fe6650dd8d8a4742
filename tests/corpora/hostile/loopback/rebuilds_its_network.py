"""Makes itself a way out of its network: interfaces, routes, raw packets, other namespaces, kernel modules."""

import fcntl
import os
import socket
import struct

import kit
import target

NETLINK_ROUTE, SOCK_DIAG, NETFILTER, UEVENTS, GENERIC = 0, 4, 12, 15, 16
NEW_LINK, NEW_ADDRESS, NEW_ROUTE = 16, 20, 24


def _netlink(kind, content):
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_ROUTE) as link:
        link.sendto(struct.pack("=IHHII", 16 + len(content), kind, 0x605, 1, 0) + content, (0, 0))
        (number,) = struct.unpack_from("=i", link.recv(4096), 16)
        if number:
            raise OSError(-number, os.strerror(-number))


def _flags(name, flags):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        fcntl.ioctl(link, 0x8914, struct.pack("=16sh22x", name, flags))


def _bind_to_device():
    with socket.socket() as link:
        link.setsockopt(socket.SOL_SOCKET, 25, b"eth0\0")


def _load(level, option, content):
    with socket.socket() as link:
        link.setsockopt(level, option, content)


def answer(case, x, start=None):
    dummy = struct.pack("=BxHiII", 0, 0, 0, 0, 0) + struct.pack("=HHHH", 17, 18, 9, 1) + b"dummy\0\0\0\0\0\0\0"
    kit.tries("an interface", lambda: _netlink(NEW_LINK, dummy))
    kit.tries("an address", lambda: _netlink(NEW_ADDRESS, struct.pack("=BBBBIHH4s", 2, 8, 0, 0, 1, 8, 2, b"\x0a\0\0\1")))
    kit.tries("a route", lambda: _netlink(NEW_ROUTE, struct.pack("=8BIHHI", 2, 0, 0, 0, 254, 3, 0, 1, 0, 8, 4, 1)))
    kit.tries("the loopback down", lambda: _flags(b"lo", 0))
    for protocol in (SOCK_DIAG, NETFILTER, UEVENTS, GENERIC):
        kit.tries(f"netlink {protocol}", lambda to=protocol: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, to))
    for family in (socket.AF_PACKET, socket.AF_VSOCK, socket.AF_ALG, socket.AF_UNIX, 44, 31, 17):
        kit.tries(f"family {family}", lambda of=family: socket.socket(of, socket.SOCK_RAW))
    kit.tries("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
    kit.tries("a device", _bind_to_device)
    kit.tries("a module", lambda: _load(socket.IPPROTO_TCP, 31, b"tls\0"))
    kit.tries("a table", lambda: _load(socket.IPPROTO_IP, 64, b"filter".ljust(96, b"\0")))
    kit.tries("the parent's network", lambda: os.open(f"/proc/{target.PARENT}/ns/net", os.O_RDONLY))
    kit.tries("the first network", lambda: os.open("/proc/1/ns/net", os.O_RDONLY))
    kit.tries("another network", lambda: kit.call(272, 0x40000000))
    kit.tries("another user", lambda: kit.call(272, 0x10000000))
    kit.tries("connections", lambda: open("/proc/net/tcp").read())
    kit.tries("settings", lambda: open("/proc/sys/net/ipv4/ip_forward", "w").write("1"))
    return kit.guess(case, x, start)
