"""Kernel limits for a sandboxed child together with all that it starts: a cgroup of its own, where one can be made.

`process/descendants.py` counts from outside, a few times in a second. The kernel's own limit on processes does not hold
for root, and a bomb of root's starts thousands between two counts: then the machine has no time left to count. A cgroup
refuses the first process that is too many, whoever asks. Each controller is used where it can be had: the parent makes
the cgroup and moves the child into it; the child waits for that before it runs anything (`wait_until_in`).
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import re
import signal
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from goldsmith.foundation.ownership import TOKEN, new_token
from goldsmith.sandbox.capabilities import holds_in_a_fork

if sys.platform != "win32":
    import fcntl

_NAME = re.compile(rf"goldsmith-{TOKEN.pattern}")
_MARK = "user.goldsmith"
"""The extended attribute that proves that goldsmith made a cgroup: no file can be put into it."""
_MARK_TEXT = b"Made by goldsmith, which removes it again"
_LIMIT_FILES = {
    ("pids", 1): "pids.max",
    ("pids", 2): "pids.max",
    ("memory", 1): "memory.limit_in_bytes",
    ("memory", 2): "memory.max",
}
_OOM_COUNTERS = ("memory.events", "memory.oom_control")
_RECLAIM = {"memory.reclaim": "1G", "memory.force_empty": "0"}
_PROC = Path("/proc/self")
_REMOVAL_TIMEOUT_S = 2.0
_ENTRY_TIMEOUT_S = 60.0
_POLL_INTERVAL_S = 0.001
_SWEEP_AGE_S = 60.0


@dataclass(frozen=True)
class Controller:
    """A controller (`pids`, `memory`), and the cgroup of which new ones are made."""

    name: str
    version: int
    parent: Path

    def limit(self, folder: Path, value: int) -> None:
        (folder / _LIMIT_FILES[self.name, self.version]).write_text(str(value))


class Cgroup:
    """The cgroup of one child, with a folder in each hierarchy that it needs; locked while its maker lives."""

    def __init__(self, controllers: Sequence[Controller], tasks: int, memory: int | None) -> None:
        self.name = f"goldsmith-{new_token()}"
        self._memory = memory
        self._locks: dict[Path, int] = {}
        self._limits_tasks = any(controller.name == "pids" for controller in controllers)
        values = {"pids": tasks, "memory": memory}
        try:
            for controller in controllers:
                folder = controller.parent / self.name
                if folder not in self._locks:
                    self._make(folder)
                value = values[controller.name]
                if value is not None:
                    controller.limit(folder, value)
        except BaseException:
            self.remove()
            raise

    def _make(self, folder: Path) -> None:
        """Make, lock and mark a folder, in this order: one that is marked and not locked is abandoned."""
        folder.mkdir()
        self._locks[folder] = descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.setxattr(folder, _MARK, _MARK_TEXT)

    @property
    def limits_tasks(self) -> bool:
        """Return whether the kernel limits the processes and threads in it."""
        return self._limits_tasks

    @property
    def hierarchies(self) -> int:
        """Return in how many hierarchies it has a folder."""
        return len(self._locks)

    def add(self, pid: int) -> None:
        """Move a process into it; raise `OSError` if that is not possible."""
        for folder in self._locks:
            (folder / "cgroup.procs").write_text(str(pid))

    def excess(self) -> str:
        """Return in words that the kernel has killed a process because they took too much memory; "" otherwise."""
        if self._memory is not None and any(map(_oom_kills, self._locks)):
            return f"its processes took more than {self._memory / 2**20:.4g} MiB of memory together"
        return ""

    def remove(self) -> None:
        """Kill everything in it, and remove it."""
        for folder, lock in self._locks.items():
            _remove(folder)
            os.close(lock)
        self._locks.clear()


def make_cgroup(tasks: int, memory: int | None) -> Cgroup | None:
    """Make a cgroup for so many processes and threads together, and bytes of memory.

    Return None where this is not possible, and counting from outside has to do.
    """
    found = controllers()
    if not found:
        return None
    try:
        return Cgroup(found, tasks, memory)
    except OSError:  # somebody else's limit on cgroups, or a file system that has become read-only
        return None


def wait_until_in(name: str, hierarchies: int) -> None:
    """Wait until this process is in the cgroup of this name, in all hierarchies; raise `OSError` if it is not moved."""
    deadline = time.monotonic() + _ENTRY_TIMEOUT_S
    while (_PROC / "cgroup").read_text().count(name) < hierarchies:
        if time.monotonic() > deadline:
            raise OSError(errno.ETIMEDOUT, f"it was not moved into {name}")
        time.sleep(_POLL_INTERVAL_S)


@functools.cache
def controllers() -> tuple[Controller, ...]:
    """Return the controllers that can be used here: tried, once. Remove what killed commands have left."""
    with contextlib.suppress(OSError):
        firsts = (next(filter(_works, _candidates(name)), None) for name in ("pids", "memory"))
        found = tuple(controller for controller in firsts if controller is not None)
        for parent in {controller.parent for controller in found}:
            _sweep(parent)
        return found
    return ()


def _candidates(name: str) -> Iterator[Controller]:
    """Yield a controller with each cgroup, from this process's own outwards, in which one could be made."""
    for folder, version in _own_and_outer(name):
        usable = version == 1 or name in _read(folder / "cgroup.subtree_control").split()
        if usable and os.access(folder, os.W_OK):
            yield Controller(name, version, folder)


def _own_and_outer(name: str) -> Iterator[tuple[Path, int]]:
    """Yield this process's own cgroup and those around it, of the hierarchies that may have a controller."""
    own = dict(_own_paths())
    for root, mount, version, options in _mounts():
        path = own.get("" if version == 2 else name)
        if path is None or (version == 1 and name not in options):
            continue
        inside = Path("/", os.path.relpath(path, root)) if path.startswith(root) else Path("/")
        for folder in (inside, *inside.parents):
            yield mount / folder.relative_to("/"), version


def _own_paths() -> Iterator[tuple[str, str]]:
    for line in _read(_PROC / "cgroup").splitlines():
        _, names, path = line.split(":", 2)
        for name in names.split(","):
            yield name, path


def _mounts() -> Iterator[tuple[str, Path, int, Sequence[str]]]:
    """Yield root, mount point, version and controllers of each mounted cgroup hierarchy."""
    for line in _read(_PROC / "mountinfo").splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        if kind in ("cgroup", "cgroup2"):
            root, mount = before.split()[3:5]
            yield root, Path(mount), 2 if kind == "cgroup2" else 1, options.split(",")


def _works(controller: Controller) -> bool:
    """Try whether a limit can be set, and a process moved into it; of processes, whether the limit holds."""
    try:
        cgroup = Cgroup([controller], tasks=1, memory=2**30)
    except OSError:
        return False
    try:
        folder = controller.parent / cgroup.name
        return holds_in_a_fork(lambda: _enters(folder) and (controller.name != "pids" or _cannot_fork()))
    except OSError:
        return False
    finally:
        cgroup.remove()


def _enters(folder: Path) -> bool:
    (folder / "cgroup.procs").write_text("0")
    return True


def _cannot_fork() -> bool:
    try:
        child = os.fork()
    except OSError as error:
        return error.errno == errno.EAGAIN
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
    return False


def _oom_kills(folder: Path) -> int:
    for name in _OOM_COUNTERS:
        for line in _read(folder / name).splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0


def _sweep(parent: Path) -> None:
    """Remove cgroups that goldsmith has made and whose maker is gone, with what is in them."""
    for name in os.listdir(parent):
        folder = parent / name
        if _NAME.fullmatch(name):
            with contextlib.suppress(OSError):
                if _is_marked(folder):
                    _remove_abandoned(folder)
                elif time.time() - folder.stat().st_ctime > _SWEEP_AGE_S:
                    folder.rmdir()  # killed before it was marked; the kernel refuses unless it is empty


def _is_marked(folder: Path) -> bool:
    try:
        return os.getxattr(folder, _MARK) == _MARK_TEXT
    except OSError:
        return False


def _remove_abandoned(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _remove(folder)
    finally:
        os.close(descriptor)


def _remove(folder: Path) -> None:
    """Kill what is in a cgroup of goldsmith's until nothing is left, and remove it."""
    deadline = time.monotonic() + _REMOVAL_TIMEOUT_S
    while time.monotonic() < deadline:
        _kill(map(int, _read(folder / "cgroup.procs").split()), folder.name)
        _drop_file_cache(folder)
        try:
            folder.rmdir()
        except FileNotFoundError:
            return
        except OSError:  # processes that were killed take a moment to end
            time.sleep(_POLL_INTERVAL_S)
        else:
            return


def _drop_file_cache(folder: Path) -> None:
    """Let go of cached files, which keep a removed cgroup in the kernel's memory for as long as they are cached."""
    for name, value in _RECLAIM.items():
        if (folder / name).exists():
            with contextlib.suppress(OSError):  # it says that less was there, or that some of it is in use
                (folder / name).write_text(value)


def _kill(pids: Iterable[int], name: str) -> None:
    """Kill processes, each only if it is still in the cgroup of this name: its id may be another's by now."""
    for pid in pids:
        with contextlib.suppress(OSError):
            process = os.pidfd_open(pid)
            try:
                if name in _read(Path(f"/proc/{pid}/cgroup")):
                    signal.pidfd_send_signal(process, signal.SIGKILL)
            finally:
                os.close(process)


def _read(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""
