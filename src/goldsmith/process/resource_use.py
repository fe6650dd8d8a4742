"""What a child uses up together with all that it has started, also what has ended: counted from `/proc`.

Limits of the kernel's are for one process, or one file. What is counted here nobody can hide by spreading it over
processes, by ending them, or by taking the name off a file.
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

BLOCK = 512
"""Bytes: what `st_blocks` counts in."""
_IN_MEMORY = {0x01021994, 0x858458F6}
"""Kinds of file systems whose files take memory: tmpfs, ramfs."""
_HELD = ("RssShmem:", "RssAnon:", "VmSwap:", "HugetlbPages:")
_SHARED_FAIRLY = ("Pss_Shmem:", "Pss_Anon:", "SwapPss:", "Private_Hugetlb:")


@dataclass
class Tally:
    """Bytes that have been written to disk, by processes that run and by those that have ended.

    A parent that waits for a child takes over its counts, and one that does not lets them vanish: so what counts is by
    how much the sum over all of them has grown from look to look.
    """

    written: int = 0
    cancelled: int = 0
    _last: tuple[int, int] = (0, 0)

    def look(self, numbers: Iterable[int]) -> int:
        """Look at processes, and return how many bytes were written and not thrown away before they reached a disk."""
        counts = [_io(number) for number in numbers]
        now = sum(count[0] for count in counts), sum(count[1] for count in counts)
        self.written += max(0, now[0] - self._last[0])
        self.cancelled += max(0, now[1] - self._last[1])
        self._last = now
        return self.written - self.cancelled


@dataclass
class Nameless:
    """Files without a name that processes hold open or have mapped: what each takes up, by device and number."""

    sizes: dict[tuple[int, int], float] = field(default_factory=dict)
    descriptors: int = 0

    @classmethod
    def of(cls, numbers: Collection[int], folder: Path, largest: int | None) -> Nameless:
        """Look at processes that can write in `folder`. A file of theirs that is mapped and not open may be as large as
        the `largest` that they can write: what is left of the mapping does not say."""
        found = cls()
        for number in numbers:
            for state in _open_files(number):
                found.descriptors += 1
                if state is not None and not state.st_nlink and stat.S_ISREG(state.st_mode):
                    found.sizes[state.st_dev, state.st_ino] = state.st_blocks * BLOCK
        for number in numbers:
            for key in _mapped_without_name(number, os.fsencode(folder) + b"/"):
                found.sizes.setdefault(key, math.inf if largest is None else largest)
        return found

    @property
    def size(self) -> float:
        return sum(self.sizes.values())


def memory_of(numbers: Collection[int], most: float, *, files: bool = True) -> float:
    """Bytes of memory that processes have together, what is swapped out as well. Shared memory is among it, unless the
    `files` that it belongs to have been counted already.

    What several of them share counts for each. Only where that is more than `most` it is counted once, which takes the
    kernel a walk through all of their pages.
    """
    total = sum(_sum(f"/proc/{number}/status", _HELD[not files :]) for number in numbers)
    if total <= most:
        return total
    exact = [_sum(f"/proc/{number}/smaps_rollup", _SHARED_FAIRLY[not files :]) for number in numbers]
    return sum(exact) if all(exact) else total  # one that cannot be looked into counts as far as it is known


def lies_in_memory(folder: Path) -> bool:
    """Say whether files in a folder take memory, not disk."""
    state = ctypes.create_string_buffer(256)
    with contextlib.suppress(OSError, AttributeError):
        if ctypes.CDLL(None).statfs(os.fsencode(folder), state) == 0:
            return int.from_bytes(state.raw[: ctypes.sizeof(ctypes.c_long)], "little") in _IN_MEMORY
    return False


def _sum(path: str, names: tuple[str, ...]) -> int:
    """Sum up the lines of a file about a process that begin with one of `names`, in bytes."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        lines = Path(path).read_text(errors="replace").splitlines()
        return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(names))
    return 0


def _io(number: int) -> tuple[int, int]:
    """Return what a process has written, and thrown away again; also into nameless files and mapped memory."""
    with contextlib.suppress(OSError, ValueError):
        lines = Path(f"/proc/{number}/io").read_text().splitlines()
        facts = {name: int(value) for name, _, value in (line.partition(":") for line in lines)}
        return facts.get("write_bytes", 0), facts.get("cancelled_write_bytes", 0)
    return 0, 0


def _open_files(number: int) -> Iterator[os.stat_result | None]:
    folder = f"/proc/{number}/fd"
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        try:
            yield os.stat(f"{folder}/{name}")
        except OSError:
            yield None


def _mapped_without_name(number: int, folder: bytes) -> Iterator[tuple[int, int]]:
    """Files that lay in `folder`, which a process has mapped, and that have no name any more."""
    try:
        lines = Path(f"/proc/{number}/maps").read_bytes().splitlines()
    except OSError:
        return
    for line in lines:
        if line.endswith(b" (deleted)"):
            _, _, _, device, inode, path = line.split(maxsplit=5)
            if path.startswith(folder.replace(b"\n", b"\\012")):
                major, _, minor = device.partition(b":")
                yield os.makedev(int(major, 16), int(minor, 16)), int(inode)
