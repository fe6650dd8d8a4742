"""A right answer is not cut off because the machine is busy; what computes for ever, sleeps or waits is."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from goldsmith.process import clocks
from goldsmith.process.clocks import Clock, ProcessFacts, processes

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processor time is read from /proc")
SPINS = "while True: pass"
ASLEEP = ("0.2 s and was idle", "0.2 s, and slept most of it")
Scene = tuple[float, list[ProcessFacts]]
"""What time it is, and which processes there are."""
Scenes = list[Scene]


@contextlib.contextmanager
def child(code: str, **options: object) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", code], start_new_session=True, **options)  # type: ignore[call-overload]
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def how_late(number: int, limit: float, patience: float = 20.0) -> str:
    clock, ends = Clock(number), time.monotonic() + patience
    while time.monotonic() < ends:
        late = clock.overrun(limit)
        if late:
            return late
        time.sleep(0.01)
    return "not late"


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Scenes:
    """What a test says by the first of a list."""
    scene: Scenes = [(0.0, [])]
    monkeypatch.setattr(clocks, "time", SimpleNamespace(monotonic=lambda: scene[0][0]))
    monkeypatch.setattr(clocks, "processes", lambda: iter(scene[0][1]))
    return scene


def one(seconds: float, state: str = "S") -> list[ProcessFacts]:
    return [ProcessFacts(7, 1, 7, state, seconds), ProcessFacts(8, 1, 8, "R", 1e6)]


def played(told: Scenes, limit: float, *scenes: Scene) -> str:
    told[0] = (0.0, [])
    clock, late = Clock(7), ""
    for told[0] in scenes:
        late = late or clock.overrun(limit)
    return late


def test_who_computes_for_ever_is_late_by_processor_time() -> None:
    with child(SPINS) as process:
        assert how_late(process.pid, 0.2) == "0.2 s of processor time"


def test_what_was_started_counts_even_in_a_session_of_its_own() -> None:
    starts = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {SPINS!r}], start_new_session=True)"
    with child(starts) as process:
        assert how_late(process.pid, 0.2) == "0.2 s of processor time"
        below = [item.pid for item in processes() if item.parent == process.pid]
        for number in below:
            os.kill(number, signal.SIGKILL)


def test_who_sleeps_is_late_and_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clocks, "IDLE_AFTER_S", 0.3)
    with child("import time; time.sleep(600)") as process:
        assert how_late(process.pid, 0.2) in ASLEEP


def test_who_gets_a_tenth_of_a_processor_has_ten_times_as_long(told: Scenes) -> None:
    crowded = [(float(wall), one(wall / 10, "R")) for wall in range(1, 50)]
    assert played(told, 5.0, *crowded) == ""
    assert played(told, 4.0, *crowded, (51.0, one(5.2, "R"))) == "4 s of processor time"


def test_who_waits_for_a_processor_or_a_disk_is_not_idle(told: Scenes) -> None:
    for state in "RD":
        assert played(told, 5.0, *[(float(wall), one(1.0, state)) for wall in range(1, 50)]) == ""
    assert played(told, 5.0, *[(float(wall), one(1.0)) for wall in range(1, 50)]) == "5 s and was idle"


def test_several_threads_have_as_long_as_one(told: Scenes) -> None:
    assert played(told, 5.0, *[(wall / 2, one(8 * wall)) for wall in range(1, 10)]) == ""


def test_nobody_has_for_ever(told: Scenes) -> None:
    crowded = [(float(wall), one(wall / 40, "R")) for wall in range(1, 66)]
    assert played(told, 5.0, *crowded) == ""
    assert played(told, 5.0, *crowded, (66.0, one(1.65, "R"))) == "65 s on the wall clock"


def test_short_work_between_long_pauses_does_not_stop_the_clock(told: Scenes) -> None:
    dawdling = [(float(wall), one(wall / 40)) for wall in range(1, 6)]
    assert played(told, 5.0, *dawdling) == ""
    assert played(told, 5.0, *dawdling, (7.3, one(0.2))) == "5 s, and slept most of it"


@pytest.mark.parametrize("chained", [False, True], ids=["one", "a chain"])
def test_a_parent_that_waits_for_a_sleeping_vfork_child_is_idle(monkeypatch: pytest.MonkeyPatch, chained: bool) -> None:
    """The kernel shows it as if it waited for a disk."""
    monkeypatch.setattr(clocks, "IDLE_AFTER_S", 0.3)
    code = "import ctypes, time; libc = ctypes.PyDLL(None)\n" + "libc.vfork() or " * (1 + chained) + "time.sleep(600)"
    with child(code) as process:
        assert how_late(process.pid, 0.2) in ASLEEP


def test_a_thread_that_waits_for_a_sleeping_vfork_child_is_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clocks, "IDLE_AFTER_S", 0.3)
    forks = "libc = ctypes.CDLL(None)\ndef go():\n    libc.vfork() or libc.sleep(600)\n"
    with child(f"import ctypes, threading\n{forks}threading.Thread(target=go).start()") as process:
        assert how_late(process.pid, 0.2) in ASLEEP


def test_work_in_another_thread_is_work() -> None:
    code = f"import threading\nthreading.Thread(target=lambda: exec({SPINS!r})).start()\nthreading.Event().wait()"
    with child(code) as process:
        assert how_late(process.pid, 0.2) == "0.2 s of processor time"


def test_the_wall_clock_counts_where_there_is_no_other(told: Scenes) -> None:
    assert played(told, 5.0, (1.0, []), (4.9, [])) == ""
    assert played(told, 5.0, (1.0, []), (5.1, [])) == "5 s"


def test_a_new_case_has_all_its_time(told: Scenes) -> None:
    clock = Clock(7)
    told[0] = (2.0, one(2.0))
    assert clock.overrun(5.0) == ""
    told[0] = (5.0, one(5.0))
    clock.restart()
    told[0] = (6.1, one(6.1))
    assert clock.overrun(5.0) == ""
    told[0] = (10.1, one(10.1))
    assert clock.overrun(5.0) == ""
    told[0] = (11.5, one(11.5))
    assert clock.overrun(5.0) == "5 s of processor time"


def test_what_nobody_waited_for_has_taken_its_time_all_the_same() -> None:
    unseen = """
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
while True:
    if not os.fork():
        ends = time.process_time() + 0.2
        while time.process_time() < ends: pass
        os._exit(0)
    time.sleep(0.2)
"""
    with child(unseen) as process:
        assert how_late(process.pid, 0.3) == "0.3 s of processor time"
