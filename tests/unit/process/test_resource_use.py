"""What processes use up together is counted, whichever of them has it, and also once they have ended."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from goldsmith.process.clocks import Allowance, Clock, processes
from goldsmith.process.descendants import MAX_DESCRIPTORS, MAX_THREADS, Quota, excess, excess_threads
from goldsmith.process.resource_use import DiskWrites, UnlinkedFiles, is_memory_backed, memory_of
from goldsmith.sandbox.limits import Limits

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it is counted from /proc")
MIB = 2**20
NOBODY = 2**30
"""A process id that no process has: the kernel gives them up to 2**22."""


@contextlib.contextmanager
def group(code: str, folder: Path) -> Iterator[list[int]]:
    """A process that leads a session and all that it has forked, once each has printed a line."""
    program = [sys.executable, "-c", textwrap.dedent(code)]
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(program, cwd=folder, start_new_session=True, **streams) as leader:
        assert leader.stdout is not None
        assert leader.stdout.readline() == b"ready\n"
        try:
            yield [item.pid for item in processes() if item.session == leader.pid]
        finally:
            os.killpg(leader.pid, 9)


def quota(folder: Path, **limits: int) -> Quota:
    return Quota(folder, Limits(**limits))


def why(numbers: list[int], limits: Quota) -> str:
    members = [item for item in processes() if item.pid in numbers]
    return excess_threads(members) or excess(members, limits)


def test_memory_that_two_processes_share_counts_once(tmp_path: Path) -> None:
    shares = """
        import mmap, os, time
        shared = mmap.mmap(-1, 48 * 2**20)
        shared.write(b"x" * len(shared))
        if not os.fork():
            shared.seek(0)
            shared.read(1), sum(shared[::4096])
            print("ready", flush=True)
        time.sleep(60)
    """
    with group(shares, tmp_path) as numbers:
        assert len(numbers) == 2
        assert memory_of(numbers, 2**40) > 96 * MIB
        assert 48 * MIB < memory_of(numbers, 0) < 90 * MIB
        assert 48 * MIB < memory_of([*numbers, NOBODY], 0) < 90 * MIB, "one has ended meanwhile"
        assert not why(numbers, quota(tmp_path, memory=90 * MIB))
        assert why(numbers, quota(tmp_path, memory=40 * MIB)) == (
            "its processes took more than 40 MiB of memory together"
        )


def test_a_file_without_a_name_counts_open_or_mapped(tmp_path: Path) -> None:
    nameless = """
        import ctypes, os, time
        libc = ctypes.CDLL(None)
        libc.mmap.restype = ctypes.c_void_p
        for name in ("open", "mapped"):
            file = os.open(name, os.O_RDWR | os.O_CREAT)
            os.unlink(name)
            os.write(file, b"x" * 2**20)
        libc.mmap(None, ctypes.c_size_t(4096), 1, 1, file, ctypes.c_long(0))
        os.close(file)
        print("ready", flush=True)
        time.sleep(60)
    """
    with group(nameless, tmp_path) as numbers:
        found = UnlinkedFiles.of(numbers, tmp_path, max_size=64 * MIB)
        assert sorted(found.sizes.values()) == [MIB, 64 * MIB]
        assert UnlinkedFiles.of(numbers, tmp_path / "elsewhere", max_size=64 * MIB).size == MIB
        limits = quota(tmp_path, disk=32 * MIB, file_size=64 * MIB)
        assert why(numbers, limits) == "it wrote more than 32 MiB"


def test_files_take_memory_where_they_lie_in_it(tmp_path: Path) -> None:
    limits = Quota(tmp_path, Limits(memory=64 * MIB), memory_backed=True)
    with group("import time; print('ready', flush=True); time.sleep(60)", tmp_path) as numbers:
        assert not why(numbers, limits)
        (tmp_path / "file").write_bytes(b"x" * 64 * MIB)
        assert "of memory together" in why(numbers, limits)
    shm = Path("/dev/shm")
    assert not shm.exists() or is_memory_backed(shm)
    assert not is_memory_backed(Path("/proc"))


def test_what_ended_processes_wrote_still_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    written = {1: (100, 0), 2: (50, 0)}
    monkeypatch.setattr("goldsmith.process.resource_use._io", lambda number: written[number])
    tally = DiskWrites()
    assert tally.update([1, 2]) == 150
    assert tally.update([1]) == 150  # nobody has waited for the other
    written[1] = (130, 20)
    assert tally.update([1]) == 160


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("kept = [os.dup(0) for _ in range(1100)]", f"more than {MAX_DESCRIPTORS} files open together"),
        ("threads = [spend() for _ in range(300)]", f"more than {MAX_THREADS} threads together"),
    ],
    ids=["descriptors", "threads"],
)
def test_what_is_spread_over_processes_is_counted_together(tmp_path: Path, code: str, says: str) -> None:
    spread = f"""
        import os, resource, threading, time
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),) * 2)
        threading.stack_size(2**16)
        spend = lambda: threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        reading, writing = os.pipe()
        child = os.fork()
        {code}
        if child:
            os.read(reading, 1)
            print("ready", flush=True)
        else:
            os.write(writing, b"x")
        time.sleep(60)
    """
    with group(spread, tmp_path) as numbers:
        assert not why(numbers[:1], quota(tmp_path))
        assert says in why(numbers, quota(tmp_path))


def test_an_allowance_is_used_up_by_who_sleeps_and_never_grows() -> None:
    allowance = Allowance(60)
    with group("import time; print('ready', flush=True); time.sleep(60)", Path("/")) as numbers:
        clock = Clock(numbers[0])
        assert clock.overrun(100) == ""
        time.sleep(1.1)  # a shorter run counts by the wall clock
        clock.used_s()
        allowance.take(clock)
    left = allowance.left
    assert 0.0 < left < 59.0
    clock.restart()
    assert allowance.left == left
