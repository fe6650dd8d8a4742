"""What hostile code tries. Each attack goes through in a process that is not locked in, and raises in one that is.

So each is aimed at `Prey` only, which a test has made itself: never at all processes, all of a user, or anybody else's.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import resource
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from goldsmith.foundation.kernel import machine, system_call
from goldsmith.sandbox.syscall_numbers import NUMBERS

SECRET = "the gold"


class Prey(NamedTuple):
    """What is outside: a folder with gold, a folder that may be read but not written, a process."""

    folder: Path
    process: int

    @property
    def gold(self) -> Path:
        return self.folder / "gold" / "gold.txt"

    @property
    def shared(self) -> Path:
        return self.folder / "shared"


Attack = Callable[[Prey], Any]


@contextlib.contextmanager
def prey_in(folder: Path, user: int | None = None) -> Iterator[Prey]:
    """Both belong to the user who runs the tests; the process may be another's."""
    for name in ("gold", "shared"):
        (folder / name).mkdir()
    (folder / "gold" / "gold.txt").write_text(SECRET)
    (folder / "shared" / "package.py").write_text("value = 1\n")
    other = {} if user is None else {"user": user, "group": user, "extra_groups": []}
    victim = subprocess.Popen(["sleep", "100"], start_new_session=True, env={"TOKEN": SECRET}, **other)  # type: ignore[call-overload]
    try:
        yield Prey(folder, victim.pid)
    finally:
        victim.kill()
        victim.wait()


def raw(name: str, *arguments: Any) -> int:
    return system_call(NUMBERS[machine()][name], *arguments)


def _reads_through_a_symlink(prey: Prey) -> str:
    Path("link").symlink_to(prey.gold)
    return Path("link").read_text()


def _reads_through_a_hard_link(prey: Prey) -> str:
    os.link(prey.gold, "hard")
    return Path("hard").read_text()


def _moves_gold_here(prey: Prey) -> str:
    prey.gold.rename("moved")
    return Path("moved").read_text()


def _reads_through_a_descriptor_of_a_path(prey: Prey) -> str:
    handle = os.open(prey.gold, os.O_PATH)
    return Path(f"/proc/self/fd/{handle}").read_text()


def _changes_folder_first(prey: Prey) -> str:
    os.chdir(prey.gold.parent)
    return Path("gold.txt").read_text()


def _asks_another_program(prey: Prey) -> str:
    run = subprocess.run(["cat", str(prey.gold)], capture_output=True, text=True)
    if run.returncode:
        raise PermissionError(run.stderr)
    return run.stdout


def _puts_code_into_another_program(prey: Prey) -> str:
    copy = shutil.copy("/bin/cat", "cat")
    os.chmod(copy, 0o700)
    return subprocess.run([f"./{copy}", "/dev/null"], check=True, capture_output=True, text=True).stdout


def _truncates_while_reading(prey: Prey) -> None:
    os.close(os.open(prey.shared / "package.py", os.O_RDONLY | os.O_TRUNC))


FILES: dict[str, Attack] = {
    "reads gold": lambda prey: prey.gold.read_text(),
    "reads gold by ..": lambda prey: Path("..", "gold", "gold.txt").read_text(),
    "reads gold by the root of /proc": lambda prey: Path(f"/proc/self/root{prey.gold}").read_text(),
    "reads gold by the parent's folder": lambda prey: Path(f"/proc/{prey.process}/root{prey.gold}").read_text(),
    "reads gold through a symlink": _reads_through_a_symlink,
    "reads gold through a hard link": _reads_through_a_hard_link,
    "reads gold by a descriptor without rights": _reads_through_a_descriptor_of_a_path,
    "reads gold after changing the folder": _changes_folder_first,
    "has another program read gold": _asks_another_program,
    "moves gold": _moves_gold_here,
    "lists gold's folder": lambda prey: os.listdir(prey.gold.parent),
    "lists the parent's folder": lambda prey: os.listdir(prey.folder),
    "lists all processes": lambda prey: os.listdir("/proc"),
    "reads another environment": lambda prey: Path(f"/proc/{prey.process}/environ").read_bytes(),
    "reads its first environment": lambda prey: Path("/proc/self/environ").read_bytes(),
    "reads another command line": lambda prey: Path(f"/proc/{prey.process}/cmdline").read_bytes(),
    "opens another memory": lambda prey: os.close(os.open(f"/proc/{prey.process}/mem", os.O_RDWR)),
    "lists another's descriptors": lambda prey: os.listdir(f"/proc/{prey.process}/fd"),
    "reads where another works": lambda prey: os.readlink(f"/proc/{prey.process}/cwd"),
    "reads who is on the network": lambda prey: Path("/proc/net/tcp").read_text(),
    "reads the users": lambda prey: Path("/etc/passwd").read_text(),
    "lists /": lambda prey: os.listdir("/"),
    "lists /tmp": lambda prey: os.listdir("/tmp"),
    "lists other homes": lambda prey: os.listdir("/home"),
    "overwrites gold": lambda prey: prey.gold.write_text("mine"),
    "cuts gold off": lambda prey: os.truncate(prey.gold, 0),
    "removes gold": lambda prey: prey.gold.unlink(),
    "writes beside gold": lambda prey: (prey.gold.parent / "new").write_text("mine"),
    "writes to /tmp": lambda prey: Path("/tmp", f"attacked-by-{os.getpid()}").mkdir(),
    "writes to /dev/shm": lambda prey: Path("/dev/shm", f"attacked-by-{os.getpid()}").mkdir(),
    "changes a package": lambda prey: (prey.shared / "package.py").write_text("import evil"),
    "adds a package": lambda prey: (prey.shared / "other.py").write_text("import evil"),
    "cuts a package off by reading it": _truncates_while_reading,
    "makes a named pipe": lambda prey: os.mkfifo("pipe"),
    "runs a program of its own making": _puts_code_into_another_program,
}


def _udp(prey: Prey) -> None:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"gold", ("127.0.0.1", 9))


def _tcp(prey: Prey) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname(), timeout=2).close()


def _unix(name: str) -> Attack:
    def attack(prey: Prey) -> None:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(name)
            server.listen()

    return attack


def _datagrams(prey: Prey) -> None:
    socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)


def _io_uring(prey: Prey) -> None:
    os.close(raw("io_uring_setup", 1, ctypes.create_string_buffer(120)))


def _names_a_pair(prey: Prey) -> None:
    socket.socketpair()[0].bind("\0goldsmith")


NETWORK: dict[str, Attack] = {
    "UDP": _udp,
    "TCP": _tcp,
    "IPv6": lambda prey: socket.socket(socket.AF_INET6).close(),
    "a name looked up": lambda prey: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect(("127.0.0.53", 53)),
    "a Unix socket": _unix("socket"),
    "an abstract Unix socket": _unix("\0goldsmith"),
    "datagrams from a pair of sockets": _datagrams,
    "a name for one of a pair": _names_a_pair,
    "netlink": lambda prey: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW).close(),
    "vsock": lambda prey: socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM).close(),
    "io_uring": _io_uring,
}


def _signal_by_the_kernel(prey: Prey) -> None:
    """Have the kernel send SIGKILL to somebody when a pipe becomes readable."""
    reading, writing = os.pipe()
    fcntl.fcntl(reading, fcntl.F_SETOWN, prey.process)
    fcntl.fcntl(reading, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(reading, fcntl.F_SETFL, os.O_ASYNC)
    os.write(writing, b"x")


def _ptrace(prey: Prey) -> None:
    raw("ptrace", 0x4206, prey.process, 0, 0)  # PTRACE_SEIZE


def _memory_of_another(prey: Prey) -> None:
    """Zero bytes from nowhere: permission is asked for before anything is copied."""
    raw("process_vm_readv", prey.process, ctypes.create_string_buffer(16), 1, ctypes.create_string_buffer(16), 1, 0)


def _pidfd(prey: Prey) -> None:
    signal.pidfd_send_signal(os.pidfd_open(prey.process), signal.SIGUSR1)


def _descriptor_of_another(prey: Prey) -> None:
    os.close(raw("pidfd_getfd", os.pidfd_open(prey.process), 0, 0))


PROCESSES: dict[str, Attack] = {
    "kills": lambda prey: os.kill(prey.process, signal.SIGKILL),
    "asks whether it is there": lambda prey: os.kill(prey.process, 0),
    "kills a thread": lambda prey: raw("tgkill", prey.process, prey.process, signal.SIGKILL),
    "kills a group": lambda prey: os.killpg(prey.process, signal.SIGKILL),
    "has the kernel kill": _signal_by_the_kernel,
    "signals by a descriptor": _pidfd,
    "takes a descriptor": _descriptor_of_another,
    "traces": _ptrace,
    "reads memory": _memory_of_another,
    "limits": lambda prey: resource.prlimit(prey.process, resource.RLIMIT_FSIZE, (0, 0)),
    "slows down": lambda prey: os.setpriority(os.PRIO_PROCESS, prey.process, 19),
    "slows a group down": lambda prey: os.setpriority(os.PRIO_PGRP, prey.process, 19),
    "pins": lambda prey: os.sched_setaffinity(prey.process, {0}),
}


def _end(action: Callable[[], Any]) -> None:
    """In a fork: 0 where it went through."""
    try:
        action()
    except OSError:
        os._exit(1)
    os._exit(0)


def fork_says(action: Callable[[], Any]) -> bool:
    """Whether a fork could do it."""
    child = os.fork()
    if not child:
        _end(action)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
