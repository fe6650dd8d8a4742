"""Whoever is slow to measure delays nobody: others are counted, measured and ended meanwhile."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import pytest

from goldsmith.process.clocks import ProcessFacts, processes
from goldsmith.process.descendants import MAX_PROCESSES, Quota
from goldsmith.sandbox.limits import Limits
from goldsmith.worker import supervisor
from goldsmith.worker.supervisor import Supervisor
from support.course import wait_until

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


@contextlib.contextmanager
def session(code: str) -> Iterator[subprocess.Popen[bytes]]:
    program = [sys.executable, "-I", "-S", "-c", code]
    with subprocess.Popen(program, stdout=subprocess.PIPE, start_new_session=True) as leader:
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

    def __call__(self, members: Collection[ProcessFacts], quota: Quota) -> str:
        if self.slow not in [item.pid for item in members]:
            return "it used too much"
        self.go_on.wait(60)
        return ""


def look_until(watched: Supervisor, is_so: Callable[[], bool]) -> None:
    wait_until(lambda: is_so() or watched.look())


def state_of(pid: int) -> str:
    return next(item.state for item in processes() if item.pid == pid)


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Supervisor:
    monkeypatch.setattr(supervisor, "kill_orphans", lambda *_: None)  # here, those are the test's own processes
    monkeypatch.setattr(supervisor, "_reap_orphans", lambda *_: None)
    monkeypatch.setattr(supervisor, "POLL_INTERVAL_S", 0.01)
    monkeypatch.setattr(supervisor, "_HOLD_AFTER_S", 0.05)
    return Supervisor(zygote=0)


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


def test_nobody_is_signalled_once_it_has_been_reaped(
    watched: Supervisor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its process id may belong to another by then."""
    asked, go_on = threading.Event(), threading.Event()

    def finds_too_much(members: Collection[ProcessFacts], quota: Quota) -> str:
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
    def fails(members: Collection[ProcessFacts], quota: Quota) -> str:
        raise ValueError("an odd number")

    monkeypatch.setattr(supervisor, "excess", fails)
    with session(SLEEPS) as child:
        watched.add(child.pid, Quota(tmp_path, Limits()))
        look_until(watched, lambda: child.poll() is not None)
        ((_, _, reason),) = watched.reap(lambda: [(child.pid, -9)])
        assert reason == "what it used could not be measured (ValueError)"


def test_without_children_nobody_is_counted_and_the_next_one_is_as_soon_as_any_other(
    watched: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed: list[float] = []
    monkeypatch.setattr(supervisor, "processes", lambda: listed.append(time.monotonic()) or processes())
    monkeypatch.setattr(supervisor, "_MAX_INTERVAL_S", 0.0)
    for _ in range(5):
        watched.look()
        time.sleep(0.02)
    assert len(listed) == 1
    with session(FORKS) as bomb:
        watched.add(bomb.pid, None)
        look_until(watched, lambda: bomb.poll() is not None)
