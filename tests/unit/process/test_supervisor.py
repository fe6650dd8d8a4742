"""A child starts no more processes than it is granted; one that is slow to measure delays nobody: others are counted,
measured and ended meanwhile."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import pytest

from goldsmith.process.clocks import ProcessFacts, processes
from goldsmith.process.descendants import MAX_PROCESSES, MAX_THREADS, Quota
from goldsmith.sandbox.capabilities import fork_requests
from goldsmith.sandbox.limits import Limits
from goldsmith.worker import supervisor
from goldsmith.worker.supervisor import Supervisor

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are counted from /proc")
SLEEPS = "import time; print('ready', flush=True); time.sleep(60)"
FORKS = f"""
import os, time
for _ in range({MAX_PROCESSES}):
    if not os.fork():
        time.sleep(60)
print('ready', flush=True)
time.sleep(60)
"""
BOMBS = {
    "forks": ("while True: os.fork()", f"it had more than {MAX_PROCESSES} processes"),
    "clones": ("while True: libc.clone(libc.pause, top, 0x100 | 17, None)", f"more than {MAX_PROCESSES} processes"),
    "threads": ("while True: threading.Thread(target=time.sleep, args=(60,)).start()", f"than {MAX_THREADS} threads"),
}
ASKS = """
import ctypes, mmap, os, sys, threading, time
from goldsmith.sandbox import seccomp
from goldsmith.sandbox.fork_requests import ask_before_starting
from goldsmith.sandbox.privileges import no_new_privileges

libc = ctypes.CDLL(None)
stack = mmap.mmap(-1, 2**16)
top = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(stack)) + 2**16)
threading.stack_size(2**16)
no_new_privileges()
ask_before_starting(int(sys.argv[1]))
seccomp.install([seccomp.Rule("clone3", 38)])
print('ready', flush=True)
"""


@contextlib.contextmanager
def session(code: str, *descriptors: int) -> Iterator[subprocess.Popen[bytes]]:
    program = [sys.executable, "-c", code, *map(str, descriptors)]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(program, pass_fds=descriptors, start_new_session=True, **streams) as leader:
        assert leader.stdout is not None
        assert leader.stdout.readline() == b"ready\n"
        try:
            yield leader
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(leader.pid, 9)


class Measured:
    """Stands in for measuring: it takes until `go_on` for the slow one, and finds that every other has too much."""

    def __init__(self, slow: int) -> None:
        self.slow, self.go_on = slow, threading.Event()

    def __call__(self, members: Collection[ProcessFacts], quota: Quota, on_wait: Callable[[], None]) -> str:
        if self.slow not in [item.pid for item in members]:
            return "it used too much"
        on_wait()
        self.go_on.wait(60)
        return ""


def look_until(watched: Supervisor, is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < deadline
        watched.look()
        time.sleep(0.01)


def state_of(pid: int) -> str:
    return next(item.state for item in processes() if item.pid == pid)


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Supervisor:
    monkeypatch.setattr(supervisor, "kill_orphans", lambda *_: None)  # here, those are the test's own processes
    monkeypatch.setattr(supervisor, "_reap_orphans", lambda *_: None)
    monkeypatch.setattr(supervisor, "POLL_INTERVAL_S", 0.01)
    monkeypatch.setattr(supervisor, "_HOLD_AFTER_S", 0.05)
    return Supervisor(zygote=0)


@pytest.mark.skipif(not fork_requests(), reason="this kernel does not ask")
@pytest.mark.parametrize("kind", BOMBS)
def test_a_bomb_grows_no_further_than_it_is_granted(watched: Supervisor, tmp_path: Path, kind: str) -> None:
    """Nobody counts meanwhile, and nobody has priority: the kernel asks before there is one more."""
    code, reason = BOMBS[kind]
    ours, theirs = socket.socketpair()
    with theirs, session(ASKS + code, theirs.fileno()) as bomb:
        theirs.close()
        watched.add(bomb.pid, Quota(tmp_path, Limits()), ours)
        most = 0
        while bomb.poll() is None:
            most = max(most, sum(item.threads for item in processes() if item.session == bomb.pid))
        assert most <= MAX_THREADS + MAX_PROCESSES
        ((_, _, said),) = watched.reap(lambda: [(bomb.pid, bomb.returncode)])
        assert reason in said


@pytest.mark.skipif(not fork_requests(), reason="this kernel does not ask")
def test_processes_that_end_are_granted_for_ever(watched: Supervisor, tmp_path: Path) -> None:
    churns = f"""
for _ in range({3 * MAX_PROCESSES}):
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
print('done', flush=True)
time.sleep(60)
"""
    ours, theirs = socket.socketpair()
    with theirs, session(ASKS + churns, theirs.fileno()) as busy:
        watched.add(busy.pid, Quota(tmp_path, Limits()), ours)
        assert busy.stdout is not None
        assert busy.stdout.readline() == b"done\n"
        assert busy.poll() is None


def test_others_are_ended_while_one_is_measured(
    watched: Supervisor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    quota = Quota(tmp_path, Limits())
    with session(SLEEPS) as slow, session(SLEEPS) as greedy, session(FORKS) as bomb:
        measured = Measured(slow.pid)
        monkeypatch.setattr(supervisor, "excess", measured)
        watched.add(slow.pid, quota)
        look_until(watched, lambda: state_of(slow.pid) == "T")  # held, so that it cannot use more meanwhile
        for child in (greedy, bomb):
            watched.add(child.pid, quota)
        look_until(watched, lambda: greedy.poll() is not None and bomb.poll() is not None)
        measured.go_on.set()
        look_until(watched, lambda: state_of(slow.pid) == "S")
        reaped = watched.reap(lambda: [(child.pid, child.returncode) for child in (greedy, bomb)])
    reasons = ["it used too much", f"it had more than {MAX_PROCESSES} processes"]
    assert reaped == [(greedy.pid, -9, reasons[0]), (bomb.pid, -9, reasons[1])]


def test_who_cannot_be_measured_for_long_is_ended(
    watched: Supervisor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(supervisor, "_GIVE_UP_AFTER_S", 0.3)
    with session(SLEEPS) as slow:
        measured = Measured(slow.pid)
        monkeypatch.setattr(supervisor, "excess", measured)
        watched.add(slow.pid, Quota(tmp_path, Limits()))
        look_until(watched, lambda: slow.poll() is not None)
        measured.go_on.set()
        assert watched.reap(lambda: [(slow.pid, -9)]) == [(slow.pid, -9, "its memory was locked for 0.3 s")]


def test_nobody_is_signalled_once_it_has_been_reaped(
    watched: Supervisor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its process id may belong to another by then."""
    asked, go_on = threading.Event(), threading.Event()

    def finds_too_much(*_: object) -> str:
        asked.set()
        go_on.wait(60)
        return "it used too much"

    monkeypatch.setattr(supervisor, "excess", finds_too_much)
    threads = set(threading.enumerate())
    with session(SLEEPS) as other:
        watched.add(other.pid, Quota(tmp_path, Limits()))
        look_until(watched, asked.is_set)
        watched.reap(lambda: [(other.pid, 0)])
        go_on.set()
        for thread in set(threading.enumerate()) - threads:
            thread.join(30)
        assert other.poll() is None


def test_what_cannot_be_measured_does_not_run_on(
    watched: Supervisor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fails(*_: object) -> str:
        raise ValueError("an odd number")

    monkeypatch.setattr(supervisor, "excess", fails)
    with session(SLEEPS) as child:
        watched.add(child.pid, Quota(tmp_path, Limits()))
        look_until(watched, lambda: child.poll() is not None)
        ((_, _, reason),) = watched.reap(lambda: [(child.pid, -9)])
        assert reason == "what it used could not be measured (ValueError)"
