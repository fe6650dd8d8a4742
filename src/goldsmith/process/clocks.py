"""Measure how long a child has taken, by clocks that do not run faster because the machine is busy.

Under load a right answer takes longer on the wall clock but no more processor time. So a child reaches its limit when
it has used or slept away that many seconds; waiting for a processor or a disk counts only after a generous time on the
wall clock.
"""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

MAX_WALL_FACTOR, MAX_WALL_EXTRA_S = 10, 60.0
"""Nothing runs longer on the wall clock than its limit times the factor, or plus the extra, whichever is more."""
IDLE_AFTER_S, BUSY_CPU_S = 2.0, 0.02
"""A child is idle if it has used less than `BUSY_CPU_S` of processor time for `IDLE_AFTER_S`, and is neither runnable
nor waiting for a disk. The smallest share of a processor that Linux gives the less important of two processes is 1.5 %,
which is 0.03 s in that time."""
_MAX_THREADS_READ = 64
"""Threads of a process that are asked whether one of them is runnable, where the first is not."""
_FORKING = ("fork", "clone")
"""In the names of the kernel's functions in which a process waits for a child that it has started by `vfork`."""
_POLL_INTERVAL_S, _EARLY_POLL_INTERVAL_S = 0.2, 1.0
"""How often `/proc` is read once a limit has passed on the wall clock, and before that."""
_SHORT_RUN_S = 1.0
"""A run that is over sooner is never looked up in `/proc`."""
_TICKS_PER_S = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


class Clock:
    """Measure the time of a child and of all that it has started, since `restart`."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self.restart()

    def restart(self) -> None:
        """Count from now on."""
        self._start = self._last_poll = self._last_busy = time.monotonic()
        self._first_total: float | None = None
        self._last_measured, self._unmeasured = self._start, 0.0
        self._used = self._seen = self._slept = 0.0
        self._own: dict[tuple[int, str], float] = {}
        self._own_at_first: dict[tuple[int, str], float] = {}

    @property
    def wall_s(self) -> float:
        """Return the seconds on the wall clock."""
        return time.monotonic() - self._start

    @property
    def slept_s(self) -> float:
        """Return the seconds that it was seen to sleep, in the measurements so far."""
        return self._slept

    def used_s(self) -> float:
        """Return the seconds of processor time and those slept; on the wall clock where `/proc` is missing, and before
        the first measurement."""
        now = time.monotonic()
        used = self._measure(now)
        return now - self._start if used is None else self._unmeasured + used + self._slept

    def overrun(self, limit: float) -> str:
        """Return how long the child has taken, and by which clock, once that exceeds `limit` seconds; until then ""."""
        now = time.monotonic()
        wall = now - self._start
        interval = _POLL_INTERVAL_S if wall > limit else _EARLY_POLL_INTERVAL_S
        if math.isinf(limit) or (self._first_total is not None and now - self._last_poll < interval):
            return ""
        if self._first_total is None and wall <= min(_SHORT_RUN_S, limit / 2):
            return ""
        self._last_poll = now
        used = self._measure(now)
        max_wall = _max_wall(limit)
        if wall > max_wall:
            return f"{max_wall:g} s on the wall clock"
        if wall <= limit:
            return ""
        if used is None:
            return f"{limit:g} s"
        if used > limit:
            return f"{limit:g} s of processor time"
        if now - self._last_busy > IDLE_AFTER_S:
            return f"{limit:g} s and was idle"
        return f"{limit:g} s, and slept most of it" if used + self._slept > limit else ""

    def _measure(self, now: float) -> float | None:
        """Return the processor time since the first measurement; None where this system does not tell.

        A child that could run, or waits for a disk, has not slept since the last measurement. Another has, but for the
        time that it has computed: short work between long pauses is no way to stay forever.
        """
        found = _members(self._pid)
        if not found:
            return None
        is_first, before = self._first_total is None, self._seen
        total = self._seen = self._total(found)
        is_waiting = any(_waits_for_machine(item, found) for item in found)
        if is_first:
            self._unmeasured = now - self._start
        elif not is_waiting:
            self._slept += max(0.0, now - self._last_measured - (total - before))
        self._last_measured = now
        if total - self._used > BUSY_CPU_S or is_waiting:
            self._last_busy, self._used = now, total
        return total

    def _total(self, found: Sequence[ProcessFacts]) -> float:
        """Sum up processor time since the first measurement.

        The kernel adds a process's time to its parent's only when the parent waits for it, otherwise it vanishes. So
        the clock remembers the own time of each process that it has seen.
        """
        everything = sum(item.seconds for item in found)
        if self._first_total is None:
            self._first_total, self._own_at_first = everything, {item.identity: item.own for item in found}
        self._own |= {item.identity: item.own for item in found}
        own = sum(seconds - self._own_at_first.get(identity, 0.0) for identity, seconds in self._own.items())
        return max(self._used, own, everything - self._first_total)


def _waits_for_machine(item: ProcessFacts, others: Sequence[ProcessFacts]) -> bool:
    """Return whether a process, or one of its threads, is runnable or waits for a disk."""
    if item.state != "R" and item.threads > 1:
        threads = list(_thread_states(item.pid))
    else:
        threads = [(str(item.pid), item.state)]
    if not any(state == "D" for _, state in threads):
        return any(state == "R" for _, state in threads)
    has_child = any(other.parent == item.pid and other.state != "Z" for other in others)
    return any(state == "R" or (state == "D" and not (has_child and _has_forked(name))) for name, state in threads)


def _has_forked(name: str) -> bool:
    """Return whether a thread in the state of one that waits for a disk waits for a child started by `vfork`, which
    takes as long as that child likes. Where the kernel does not tell in which function it waits, assume so."""
    try:
        where = Path(f"/proc/{name}/wchan").read_text()
    except OSError:
        where = ""
    return where in ("", "0") or any(word in where for word in _FORKING)


def _thread_states(pid: int) -> Iterator[tuple[str, str]]:
    """Yield the place of each thread in `/proc`, and its state."""
    with contextlib.suppress(OSError):
        for name in os.listdir(f"/proc/{pid}/task")[:_MAX_THREADS_READ]:
            with contextlib.suppress(OSError, ValueError, IndexError):
                yield f"{pid}/task/{name}", _facts(f"{pid}/task/{name}").state


class Allowance:
    """Seconds that all runs of one submission have together, as a `Clock` counts them. Nothing that a child says adds
    to them."""

    def __init__(self, limit: float, used: tuple[float, float] = (0.0, 0.0)) -> None:
        self.limit = limit
        self._used, self._wall = used

    @property
    def used(self) -> tuple[float, float]:
        """Return what has been taken so far: seconds as a `Clock` counts them, and on the wall clock."""
        return self._used, self._wall

    @property
    def left(self) -> float:
        return 0.0 if self._wall > _max_wall(self.limit) else max(0.0, self.limit - self._used)

    def take(self, clock: Clock) -> None:
        """Subtract what a run has taken by its clock."""
        wall = clock.wall_s
        self._used += wall if wall < _SHORT_RUN_S else clock.used_s()
        self._wall += wall


def _max_wall(limit: float) -> float:
    return max(MAX_WALL_FACTOR * limit, limit + MAX_WALL_EXTRA_S)


class ProcessFacts(NamedTuple):
    """A process as `/proc/PID/stat` describes it: `seconds` of processor time include those of children that it has
    waited for, `own` seconds do not; `start` is when it was started, in the kernel's ticks."""

    pid: int
    parent: int
    session: int
    state: str
    seconds: float
    threads: int = 1
    own: float = 0.0
    start: str = ""

    @property
    def identity(self) -> tuple[int, str]:
        """Return a key that no other process ever has: the kernel reuses process ids."""
        return self.pid, self.start


def processes() -> Iterator[ProcessFacts]:
    """List every process that can be seen; none where there is no `/proc`."""
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdecimal():
                with contextlib.suppress(OSError, ValueError, IndexError):
                    yield _facts(name)


def _facts(name: str) -> ProcessFacts:
    descriptor = os.open(f"/proc/{name}/stat", os.O_RDONLY)
    try:
        # The second field is the program's name in parentheses, which may itself hold spaces and parentheses.
        fields = os.read(descriptor, 4096).decode(errors="replace").rpartition(")")[2].split()
    finally:
        os.close(descriptor)
    seconds = sum(map(int, fields[11:15])) / _TICKS_PER_S
    own = sum(map(int, fields[11:13])) / _TICKS_PER_S
    return ProcessFacts(
        int(name.rpartition("/")[2]),
        int(fields[1]),
        int(fields[3]),
        fields[0],
        seconds,
        int(fields[17]),
        own,
        fields[19],
    )


def _members(pid: int) -> list[ProcessFacts]:
    """Return a session's leader, all in that session, and all that descend from those."""
    everybody = list(processes())
    found = {item.pid: item for item in everybody if pid in (item.pid, item.session)}
    new = bool(found)
    while new:
        more = {item.pid: item for item in everybody if item.parent in found and item.pid not in found}
        found |= more
        new = bool(more)
    return list(found.values())
