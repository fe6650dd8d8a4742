"""What a submission reads leaves no mark for the next one: not in the cache of files, and not in access times."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
import shutil
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from corpora.attacks import raw
from goldsmith.sandbox import bubblewrap
from goldsmith.sandbox.access_times import stop_noting
from goldsmith.sandbox.capabilities import holds_in_a_fork, probe
from goldsmith.sandbox.readable_paths import reach
from support.sandbox_probe import locked_in

pytestmark = pytest.mark.skipif(not probe().sufficient, reason=f"this machine offers {probe().name}")
PAGES = 16
NO_WAIT = 8


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A file that all submissions may read, all of it cached."""
    folder = tmp_path / "shared"
    folder.mkdir()
    file = folder / "package.bin"
    file.write_bytes(os.urandom(PAGES * mmap.PAGESIZE))
    descriptor = os.open(file, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)
    return file


def cached(file: Path) -> int:
    """Count the pages of a file that the kernel has cached."""
    found = ctypes.create_string_buffer(PAGES)
    with file.open("r+b") as content, mmap.mmap(content.fileno(), 0) as pages:
        raw("mincore", ctypes.addressof(ctypes.c_char.from_buffer(pages)), len(pages), found)
    return sum(byte & 1 for byte in found.raw)


def test_what_is_cached_is_not_told(shared: Path, tmp_path: Path) -> None:
    def ask() -> list[int]:
        descriptor = os.open(shared, os.O_RDONLY)
        refusals = []
        with mmap.mmap(descriptor, 0, prot=mmap.PROT_READ | mmap.PROT_WRITE, flags=mmap.MAP_PRIVATE) as pages:
            place, vector = ctypes.addressof(ctypes.c_char.from_buffer(pages)), ctypes.create_string_buffer(PAGES)
            for action in (
                lambda: raw("mincore", place, len(pages), vector),
                lambda: raw("cachestat", descriptor, vector, vector, 0),
                lambda: os.preadv(descriptor, [bytearray(1)], 0, NO_WAIT),
            ):
                try:
                    action()
                except OSError as error:
                    refusals.append(error.errno or 0)
        return [*refusals, os.preadv(descriptor, [bytearray(9)], 0)]

    answer = locked_in(tmp_path, ask, readable=(str(shared.parent),))
    assert answer.value == [38, 38, 95, 9], answer


def test_nothing_is_dropped_from_the_cache_or_loaded_into_it(shared: Path, tmp_path: Path) -> None:
    cold, out = 20, 21

    def advise() -> int:
        descriptor = os.open(shared, os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        refused = 0
        with mmap.mmap(descriptor, 0, prot=mmap.PROT_READ) as pages:
            pages.madvise(mmap.MADV_WILLNEED)
            for advice in (cold, out, mmap.MADV_REMOVE, mmap.MADV_MERGEABLE):
                try:
                    pages.madvise(advice)
                except OSError:
                    refused += 1
        return refused

    assert cached(shared) == PAGES
    assert locked_in(tmp_path, advise, readable=(str(shared.parent),)).value == 4
    assert cached(shared) == PAGES
    with shared.open("rb") as content:  # outside of the sandbox the advice is taken
        os.posix_fadvise(content.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    assert cached(shared) < PAGES
    locked_in(tmp_path, advise, readable=(str(shared.parent),))
    assert cached(shared) < PAGES


def test_allocators_still_give_memory_back(tmp_path: Path) -> None:
    def use() -> list[int]:
        with mmap.mmap(-1, 4 * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as pages:
            pages[:] = b"x" * len(pages)
            for advice in (mmap.MADV_DONTFORK, mmap.MADV_DOFORK, mmap.MADV_DONTDUMP, mmap.MADV_FREE):
                pages.madvise(advice)
            pages.madvise(mmap.MADV_DONTNEED)
            return list(pages[:2])

    assert locked_in(tmp_path, use).value == [0, 0]


def _is_noted(file: Path, command: list[str]) -> bool:
    """Say whether reading a file that was last read long ago shows."""
    long_ago = time.time() - 3 * 86400
    os.utime(file, (long_ago, long_ago))
    subprocess.run([*command, sys.executable, "-I", "-S", "-c", f"open({str(file)!r}, 'rb').read(1)"], check=True)
    return file.stat().st_atime != pytest.approx(long_ago)


@pytest.mark.skipif(bool(bubblewrap.why_not()), reason=f"bubblewrap: {bubblewrap.why_not()}")
def test_reading_what_all_submissions_are_given_is_not_noted_in_bubblewrap(tmp_path: Path) -> None:
    given = tmp_path / "given"
    given.mkdir()
    (given / "case").write_text("1")
    if not _is_noted(given / "case", []):
        pytest.skip("access times are not noted on this file system")
    before = {"readable": reach().readable, "writable": [str(tmp_path)]}
    assert not _is_noted(given / "case", bubblewrap.prefix(**before, fixed=[str(given)]))
    assert _is_noted(given / "case", bubblewrap.prefix(**before))


@pytest.mark.skipif(os.getuid() != 0, reason="takes root")
def test_root_can_do_without_access_times_where_there_is_no_bubblewrap(shared: Path) -> None:
    if not _is_noted(shared, []):
        pytest.skip("access times are not noted on this file system")
    if not holds_in_a_fork(stop_noting):
        pytest.skip("no mount namespace can be made here")
    assert holds_in_a_fork(lambda: stop_noting() and not _is_noted(shared, []))
    assert _is_noted(shared, [])


def test_nothing_is_noted_at_a_file_that_may_only_be_read(shared: Path, tmp_path: Path) -> None:
    """What the kernel keeps with a file is told to the next one that opens it, as these do to each other."""
    write_hint, seal, policy = 1036, 0x40806685, 0x800C6613
    hint = struct.pack("Q", 4)

    def note() -> list[int]:
        descriptor, found = os.open(shared, os.O_RDONLY), []
        for action in (
            lambda: fcntl.fcntl(descriptor, write_hint, hint),
            lambda: fcntl.ioctl(descriptor, seal, bytes(128)),
            lambda: fcntl.ioctl(descriptor, policy, bytes(128)),
        ):
            try:
                action()
                found.append(0)
            except OSError as error:
                found.append(error.errno or 0)
        return found

    assert locked_in(tmp_path, note, readable=(str(shared),)).value == [errno.EPERM] * 3


def test_usual_questions_about_a_descriptor_are_answered(shared: Path, tmp_path: Path) -> None:
    def ask() -> list[int]:
        descriptor = os.open(shared, os.O_RDONLY)
        os.set_inheritable(os.dup(descriptor), True)
        reader, writer = os.pipe()
        os.set_blocking(reader, False)
        os.write(writer, b"four")
        shutil.copy(shared, tmp_path / "home/copy")
        waiting = fcntl.ioctl(reader, termios.FIONREAD, bytes(4))
        return [os.isatty(descriptor), fcntl.fcntl(writer, 1031, 2**16), int.from_bytes(waiting, sys.byteorder)]

    assert locked_in(tmp_path, ask, readable=(str(shared),)).value == [False, 2**16, 4]
