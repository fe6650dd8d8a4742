"""Sockets that are let in: each process has a network of its own, with a loopback and nobody else in it.

Every attack on somebody outside is also run without walls, where it goes through: else a test could not fail.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from corpora.attacks import FILES, NETWORK, PROCESSES, Prey, prey_in, raw
from goldsmith.process.resource_use import socket_memory
from goldsmith.sandbox import private_network
from goldsmith.sandbox.capabilities import Level, probe
from support.course import wait_until
from support.hostile_class import Listeners
from support.sandbox_probe import Answer, locked_in

WHY_NOT = private_network.why_not() if probe().sufficient else f"this machine offers {probe().name}"
needs_network = pytest.mark.skipif(bool(WHY_NOT), reason=f"no private network: {WHY_NOT}")

ORDINARY = 65534 if os.getuid() == 0 else None
USERS = {"as who tests": None} | ({"as an ordinary user": ORDINARY} if ORDINARY else {})
LEVELS = {"here": probe(), "oldest": Level(landlock=1, seccomp=True)}
WORD = b"the inputs"


@pytest.fixture(params=USERS.values(), ids=USERS.keys())
def user(request: pytest.FixtureRequest) -> int | None:
    return request.param


def inside(folder: Path, action: Callable[[], Any], **more: Any) -> Answer:
    return locked_in(folder, action, loopback=True, **more)


# --- what it is for


def _tcp(family: int, address: str) -> bytes:
    with socket.socket(family) as server:
        server.bind((address, 0))
        server.listen()
        with socket.socket(family) as client:
            client.connect(server.getsockname())
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            client.sendall(WORD)
            with server.accept()[0] as end:
                return end.recv(99)


def _udp(address: str = "127.0.0.1") -> bytes:
    one, two = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    one.bind((address, 0))
    two.sendto(WORD, one.getsockname())
    return one.recv(99)


@needs_network
@pytest.mark.parametrize("level", LEVELS.values(), ids=LEVELS.keys())
def test_a_process_talks_to_itself_and_to_those_it_starts(tmp_path: Path, user: int | None, level: Level) -> None:
    def talk() -> list[object]:
        server = socket.create_server(("127.0.0.1", 0))
        if not os.fork():
            with socket.socket() as client:
                client.connect(server.getsockname())
                client.sendall(WORD)
            os._exit(0)
        with server.accept()[0] as end:
            heard = end.recv(99)
        names = [name for _, name in socket.if_nameindex()]
        return [heard, _tcp(socket.AF_INET, "127.0.0.1"), _udp(), "lo" in names, names.count("eth0")]

    answer = inside(tmp_path, talk, user=user, level=level)
    assert answer.value == [WORD, WORD, WORD, True, 0], answer


@needs_network
@pytest.mark.torch
@pytest.mark.long
def test_torch_distributed_works_with_one_process_and_with_two(tmp_path: Path, user: int | None) -> None:
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)

    def rank(number: int, of: int, method: str) -> list[float]:
        dist.init_process_group("gloo", init_method=method, rank=number, world_size=of)
        value = torch.full((2,), number + 1.0)
        dist.all_reduce(value)
        dist.destroy_process_group()
        return value.tolist()

    def two() -> list[list[float]]:
        if not (child := os.fork()):
            os._exit(rank(1, 2, "tcp://127.0.0.1:29517") != [3.0, 3.0])
        mine = rank(0, 2, "tcp://127.0.0.1:29517")
        os.environ.update(MASTER_ADDR="localhost", MASTER_PORT="29518")
        return [mine, [os.waitpid(child, 0)[1]], rank(0, 1, "env://")]

    answer = inside(tmp_path, two, user=user, readable=private_network.readable_files())
    assert answer.value == [[3.0, 3.0], [0], [1.0, 1.0]], answer


# --- who is not reached


@pytest.fixture
def somebody() -> Iterator[Listeners]:
    """Sockets outside of all sandboxes, which every user may talk to."""
    made = Listeners()
    path = Path(made.addresses["UNIX"])
    path.chmod(0o777)
    path.parent.chmod(0o755)
    yield made
    made.close()


def _says(family: int, kind: int, address: Any) -> None:
    with socket.socket(family, kind) as link:
        link.settimeout(3)
        link.connect(address)
        link.send(WORD)


ON_SOMEBODY: dict[str, Callable[[dict[str, Any]], None]] = {
    "tcp": lambda at: _says(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", at["TCP"])),
    "tcp by its own address": lambda at: _says(socket.AF_INET, socket.SOCK_STREAM, (at["OWN"], at["TCP"])),
    "udp": lambda at: _says(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", at["UDP"])),
    "udp by its own address": lambda at: _says(socket.AF_INET, socket.SOCK_DGRAM, (at["OWN"], at["UDP"])),
    "a Unix socket": lambda at: _says(socket.AF_UNIX, socket.SOCK_DGRAM, at["UNIX"]),
    "an abstract Unix socket": lambda at: _says(socket.AF_UNIX, socket.SOCK_DGRAM, "\0" + at["ABSTRACT"]),
    "datagrams from a pair": lambda at: (
        socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(WORD, at["UNIX"]) and None
    ),
}


@needs_network
@pytest.mark.parametrize("name", ON_SOMEBODY)
def test_nobody_outside_hears_anything(tmp_path: Path, somebody: Listeners, user: int | None, name: str) -> None:
    inside(tmp_path, lambda: ON_SOMEBODY[name](somebody.addresses), user=user)
    time.sleep(0.02)
    assert somebody.heard == []
    answer = locked_in(tmp_path, lambda: ON_SOMEBODY[name](somebody.addresses), walls=False, user=user)
    with contextlib.suppress(AssertionError):
        wait_until(lambda: somebody.heard)
    assert somebody.heard == [WORD], answer


@needs_network
def test_another_submission_that_listens_at_the_same_port_is_not_reached(tmp_path: Path, user: int | None) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    reading, writing = os.pipe()
    other = os.fork()
    if not other:

        def listen() -> None:
            server = socket.create_server(("127.0.0.1", 29519))
            os.write(writing, str(os.getpid()).encode())
            with server.accept()[0] as end:
                os.write(writing, end.recv(99))

        inside(tmp_path / "one", listen, descriptors=(writing,), user=user)
        os._exit(0)
    process = int(os.read(reading, 20))
    try:

        def visit() -> list[str]:
            found = []
            for attempt in (
                lambda: _says(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 29519)),
                lambda: os.close(os.open(f"/proc/{process}/ns/net", os.O_RDONLY)),
                lambda: raw("setns", 0, 0),
            ):
                try:
                    attempt()
                    found.append("")
                except OSError as error:
                    found.append(errno.errorcode[error.errno or 0])
            socket.create_server(("127.0.0.1", 29519)).close()  # the port is free here
            return found

        answer = inside(tmp_path / "two", visit, user=user)
        assert answer.value == ["ECONNREFUSED", "EACCES", "EPERM"], answer
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(other, 0)


# --- what is still denied


def _adds_an_interface() -> None:
    """Ask by netlink for a new interface; the kernel's answer holds an error number."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as link:
        name = struct.pack("=HH", 8, 3) + b"evi\0"
        kind = struct.pack("=HH", 9, 1) + b"dummy\0\0\0"
        content = struct.pack("=BxHiII", 0, 0, 0, 0, 0) + name + struct.pack("=HH", 4 + len(kind), 18) + kind
        link.sendto(struct.pack("=IHHII", 16 + len(content), 16, 0x605, 1, 0) + content, (0, 0))
        (number,) = struct.unpack_from("=i", link.recv(4096), 16)
    if number:
        raise OSError(-number, os.strerror(-number))


def _takes_the_loopback_down() -> None:
    import fcntl

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        fcntl.ioctl(link, 0x8914, struct.pack("=16sh22x", b"lo", 0))


def _passes_a_file() -> None:
    one, _ = socket.socketpair()
    socket.send_fds(one, [b"x"], [0])


def _filters_packets() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        link.setsockopt(socket.SOL_SOCKET, 26, struct.pack("=HxxxxxxQ", 0, 0))


def _loads_a_protocol() -> None:
    with socket.socket() as link:
        link.setsockopt(socket.IPPROTO_TCP, 31, b"tls\0")


DENIED: dict[str, Callable[[], object]] = {
    "raw sockets": lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP),
    "raw sockets of IPv6": lambda: socket.socket(socket.AF_INET6, socket.SOCK_RAW, 58),
    "echo requests": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP),
    "SCTP": lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132),
    "packets": lambda: socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM),
    "vsock": lambda: socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM),
    "the kernel's cryptography": lambda: socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET),
    "Bluetooth": lambda: socket.socket(31, socket.SOCK_RAW),
    "Unix sockets": lambda: socket.socket(socket.AF_UNIX),
    "netlink for sockets": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 4),
    "netlink for filters": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12),
    "netlink for families": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16),
    "a new interface": _adds_an_interface,
    "the loopback": _takes_the_loopback_down,
    "a filter": _filters_packets,
    "another protocol on top": _loads_a_protocol,
    "a file in transit": _passes_a_file,
    "another network": lambda: raw("unshare", 0x40000000),
    "another user namespace": lambda: raw("unshare", 0x10000000),
    "io_uring": lambda: raw("io_uring_setup", 1, ctypes.create_string_buffer(120)),
}


@needs_network
@pytest.mark.parametrize("level", LEVELS.values(), ids=LEVELS.keys())
@pytest.mark.parametrize("name", DENIED)
def test_all_other_ways_stay_closed(tmp_path: Path, user: int | None, name: str, level: Level) -> None:
    answer = inside(tmp_path, DENIED[name], user=user, level=level)
    assert answer.refused, answer


@needs_network
@pytest.mark.parametrize("address", ["192.0.2.1", "1.1.1.1", "10.0.0.1", "169.254.169.254"])
def test_there_is_no_way_out(tmp_path: Path, user: int | None, address: str) -> None:
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        answer = inside(tmp_path, lambda kind=kind: _says(socket.AF_INET, kind, (address, 53)), user=user)
        assert answer.number == errno.ENETUNREACH, answer


@pytest.fixture
def prey(tmp_path: Path) -> Iterator[Prey]:
    with prey_in(tmp_path, ORDINARY) as prey:
        yield prey


@needs_network
@pytest.mark.long
@pytest.mark.parametrize(
    "name", [*FILES, *PROCESSES, "vsock", "io_uring", "a Unix socket", "datagrams from a pair of sockets"]
)
def test_files_and_processes_are_as_far_away_as_without(prey: Prey, name: str) -> None:
    """A user namespace gives privileges, for a moment, in it: nothing of them is left."""
    attack = (FILES | PROCESSES | NETWORK)[name]
    answer = inside(prey.folder, lambda: attack(prey), user=ORDINARY, readable=(str(prey.shared),))
    assert answer.refused or answer.number == errno.EXDEV, answer


@needs_network
def test_no_privilege_is_left_and_the_number_of_processes_is_limited(tmp_path: Path, user: int | None) -> None:
    def look() -> list[str]:
        return [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("Cap")]

    assert {line.split()[1] for line in inside(tmp_path, look, user=user).value} == {"0" * 16}

    def fork() -> int:
        children = []
        with contextlib.suppress(BlockingIOError):
            while len(children) < 40:
                child = os.fork()
                if not child:
                    time.sleep(20)
                    os._exit(0)
                children.append(child)
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        return len(children)

    if user is not None or os.getuid():
        assert inside(tmp_path, fork, user=user, processes=8).value <= 8


@needs_network
def test_what_waits_in_its_connections_is_counted_from_outside(tmp_path: Path, user: int | None) -> None:
    reading, writing = os.pipe()
    other = os.fork()
    if not other:

        def fill() -> None:
            server = socket.create_server(("127.0.0.1", 0))
            link = socket.socket()
            link.connect(server.getsockname())
            link.setblocking(False)
            sent = link.send(bytes(100_000))
            link.close()  # nobody has it open any more
            os.write(writing, f"{os.getpid()} {sent}".encode())
            time.sleep(20)

        print(inside(tmp_path, fill, user=user, descriptors=(writing,)), flush=True)
        os._exit(0)
    os.close(writing)
    process, sent = map(int, os.read(reading, 50).split())
    try:
        assert sent <= socket_memory([2**22, process]) <= 2 * sent  # what is acknowledged late counts at both ends
        assert sent > 50_000
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(other, 0)
    assert socket_memory([process]) == 0


# --- where it cannot be had


def test_no_network_is_shared_where_a_private_one_cannot_be_made(tmp_path: Path) -> None:
    """Under a filter that knows no namespaces, as in many containers: nothing is run."""
    source = f"""
import errno, os, sys
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from pathlib import Path
from goldsmith.sandbox import private_network, privileges, seccomp
from support.course import wait_until
from support.hostile_class import Listeners
from support.sandbox_probe import locked_in
privileges.no_new_privileges()
seccomp.install([seccomp.Rule("unshare", errno.EPERM)])
print(locked_in(Path({str(tmp_path)!r}), lambda: "it ran", loopback=True))
print(private_network.why_not())
"""
    run = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True)
    first, second = run.stdout.splitlines()
    assert "it ran" not in first
    assert "a private network failed (Operation not permitted)" in first
    assert second == "PermissionError: Operation not permitted"


# --- a driver's names


@needs_network
def test_whose_driver_names_sockets_beside_others_has_names_of_its_own(tmp_path: Path, user: int | None) -> None:
    name = f"\0taken by {os.getpid()}"

    def name_one() -> str:
        with pytest.raises(PermissionError):
            socket.socket(socket.AF_INET)
        with socket.socket(socket.AF_UNIX) as named:
            named.bind(name)
        return "mine"

    with socket.socket(socket.AF_UNIX) as other:
        other.bind(name)
        driver = {"devices": ("/dev/null",), "user": user}
        assert locked_in(tmp_path, name_one, own_names=True, **driver).value == "mine"
        assert locked_in(tmp_path, name_one, **driver).number == errno.EADDRINUSE
