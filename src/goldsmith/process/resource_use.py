"""Count what processes use together, including what has ended, from `/proc`.

A process cannot hide what is counted here by spreading it over others, by ending them, or by unlinking a file that it
holds open.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import stat
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

BLOCK_BYTES = 512
"""The unit of `st_blocks`, on every file system."""
_SOCKET_TABLES = ("tcp", "tcp6", "udp", "udp6")
_SHARED_ANONYMOUS = b"/dev/zero (deleted)"
_TMPFS_MAGIC, _RAMFS_MAGIC = 0x01021994, 0x858458F6
_RESIDENT = ("RssShmem:", "RssAnon:", "VmSwap:", "HugetlbPages:")
_PROPORTIONAL = ("Pss_Shmem:", "Pss_Anon:", "SwapPss:", "Private_Hugetlb:")


@dataclass
class DiskWrites:
    """Bytes written to disk by processes that run and by those that have ended.

    The kernel adds a child's counts to its parent's when the parent waits for it, and drops them otherwise. So this
    adds up by how much the sum over all processes has grown from one update to the next.
    """

    written: int = 0
    cancelled: int = 0
    _last: tuple[int, int] = (0, 0)

    def update(self, pids: Iterable[int]) -> int:
        """Count what processes have written since the last time; return all bytes that were written and not discarded
        before they reached a disk."""
        counts = [_io(pid) for pid in pids]
        now = sum(count[0] for count in counts), sum(count[1] for count in counts)
        self.written += max(0, now[0] - self._last[0])
        self.cancelled += max(0, now[1] - self._last[1])
        self._last = now
        return self.written - self.cancelled


@dataclass
class UnlinkedFiles:
    """Files without a name that processes hold open or have mapped: bytes of each, by device and inode; and how many
    descriptors the processes have in all."""

    sizes: dict[tuple[int, int], float] = field(default_factory=dict)
    descriptors: int = 0

    @classmethod
    def of(cls, pids: Collection[int], folder: Path, max_size: int | None) -> UnlinkedFiles:
        """Find unlinked files of processes that can write in `folder`.

        One that is mapped and no longer open counts as `max_size`, the most that they can write into a file: the
        mapping does not tell its size.
        """
        found = cls()
        for pid in pids:
            for state in _open_files(pid):
                found.descriptors += 1
                if state is not None and not state.st_nlink and stat.S_ISREG(state.st_mode):
                    found.sizes[state.st_dev, state.st_ino] = state.st_blocks * BLOCK_BYTES
        for pid in pids:
            for key in _mapped_unlinked(pid, os.fsencode(folder) + b"/"):
                found.sizes.setdefault(key, math.inf if max_size is None else max_size)
        return found

    @property
    def size(self) -> float:
        return sum(self.sizes.values())


def memory_of(pids: Collection[int], limit: float, *, files: bool = True) -> float:
    """Return the bytes of memory that processes have together, including swapped ones; with shared memory, unless the
    `files` that it belongs to have been counted already.

    Shared pages count once for each process, which is quick to read. Only if that exceeds `limit` are they counted once
    in all, for which the kernel walks through every page. A process of which that cannot be read counts as before, one
    that has ended not at all.
    """
    resident, proportional = _RESIDENT[not files :], _PROPORTIONAL[not files :]
    total = sum(_sum(f"/proc/{pid}/status", resident) for pid in pids)
    if total <= limit:
        return total
    return sum(_sum(f"/proc/{pid}/smaps_rollup", proportional) or _sum(f"/proc/{pid}/status", resident) for pid in pids)


def shared_pieces(pids: Iterable[int]) -> int:
    """Count the pieces of shared anonymous memory that processes have mapped, each of which may have more pages than
    are mapped."""
    found = set()
    for pid in pids:
        with contextlib.suppress(OSError, IndexError):
            lines = Path(f"/proc/{pid}/maps").read_bytes().splitlines()
            found |= {line.split(maxsplit=5)[4] for line in lines if line.endswith(_SHARED_ANONYMOUS)}
    return len(found)


def socket_memory(pids: Collection[int]) -> int:
    """Return the bytes that wait in the connections of the network that processes have to themselves, also in those
    that nobody has open any more: they count for no process."""
    for pid in pids:
        with contextlib.suppress(OSError):
            return sum(_waiting(f"/proc/{pid}/net/{table}") for table in _SOCKET_TABLES)
    return 0


def _waiting(table: str) -> int:
    """Sum up a table's column of bytes to be sent and to be received, both hexadecimal."""
    total = 0
    try:
        lines = Path(table).read_bytes().splitlines()[1:]
    except FileNotFoundError:
        if not Path(table).parent.exists():
            raise  # the process has ended
        return 0  # no IPv6
    for line in lines:
        with contextlib.suppress(ValueError, IndexError):
            sent, _, received = line.split()[4].partition(b":")
            total += int(sent, 16) + int(received, 16)
    return total


def is_memory_backed(folder: Path) -> bool:
    """Say whether files in a folder take memory, not disk."""
    state = ctypes.create_string_buffer(256)
    with contextlib.suppress(OSError, AttributeError):
        if ctypes.CDLL(None).statfs(os.fsencode(folder), state) == 0:
            return int.from_bytes(state.raw[: ctypes.sizeof(ctypes.c_long)], "little") in (_TMPFS_MAGIC, _RAMFS_MAGIC)
    return False


def _sum(path: str, names: tuple[str, ...]) -> int:
    """Sum up the lines of a file about a process that begin with one of `names`, in bytes."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        lines = Path(path).read_text(errors="replace").splitlines()
        return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(names))
    return 0


def _io(pid: int) -> tuple[int, int]:
    """Return the bytes that a process has written, also through mapped memory, and those that it has discarded."""
    with contextlib.suppress(OSError, ValueError):
        lines = Path(f"/proc/{pid}/io").read_text().splitlines()
        facts = {name: int(value) for name, _, value in (line.partition(":") for line in lines)}
        return facts.get("write_bytes", 0), facts.get("cancelled_write_bytes", 0)
    return 0, 0


def _open_files(pid: int) -> Iterator[os.stat_result | None]:
    folder = f"/proc/{pid}/fd"
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        try:
            yield os.stat(f"{folder}/{name}")
        except OSError:
            yield None


def _mapped_unlinked(pid: int, folder: bytes) -> Iterator[tuple[int, int]]:
    """Find files that were in `folder`, that a process has mapped, and that have been unlinked: device and inode."""
    try:
        lines = Path(f"/proc/{pid}/maps").read_bytes().splitlines()
    except OSError:
        return
    for line in lines:
        if line.endswith(b" (deleted)"):
            _, _, _, device, inode, path = line.split(maxsplit=5)
            if path.startswith(folder.replace(b"\n", b"\\012")):
                major, _, minor = device.partition(b":")
                yield os.makedev(int(major, 16), int(minor, 16)), int(inode)
