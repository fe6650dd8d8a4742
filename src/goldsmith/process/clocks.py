"""How long a child has taken, by a clock that does not run faster because the machine is busy.

Under load a right answer takes longer on the wall clock and no more processor time. So a limit is reached by a child
that has used so many seconds on both clocks; by one that has had them on the wall clock and is idle, as one that sleeps
or waits for itself; and, whatever it does, after a generous time on the wall clock.
"""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

LAST_RESORT, LAST_RESORT_S = 10, 60.0
"""On the wall clock nothing has more than so many times its limit, or so many seconds more, whichever is later."""
IDLE_S, BUSY_S = 2.0, 0.02
"""Idle is who uses less than so much processor time for so long, and is neither about to run nor waiting for a disk.
The smallest share of a processor that Linux gives away, to the least important of two processes, is 1.5 %."""
_LOOK_S, _LOOK_RARELY_S = 0.2, 1.0
"""It is looked so often once a limit is passed, and before."""
_SHORT_S = 1.0
"""What is over sooner than this is never looked at."""
_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


class Clock:
    """The time of a child and all that it has started, from `begin` on."""

    def __init__(self, number: int) -> None:
        self._number = number
        self.begin()

    def begin(self) -> None:
        self._began = self._looked = self._busy = time.monotonic()
        self._first: float | None = None
        self._last = self._idle = 0.0
        self._own: dict[tuple[int, str], float] = {}
        self._before: dict[tuple[int, str], float] = {}

    @property
    def wall(self) -> float:
        return time.monotonic() - self._began

    def spent(self) -> float:
        """Seconds of processor time, and those in which it was idle; of the wall clock where /proc does not say."""
        now = time.monotonic()
        used = self._use(now)
        idle = now - self._busy if now - self._busy > IDLE_S else 0.0
        return now - self._began if used is None else used + self._idle + idle

    def over(self, limit: float) -> str:
        """How long it has taken, in words that say by which clock, once that is more than `limit` seconds; else ""."""
        now = time.monotonic()
        wall = now - self._began
        pause = _LOOK_S if wall > limit else _LOOK_RARELY_S
        if math.isinf(limit) or (self._first is not None and now - self._looked < pause):
            return ""
        if self._first is None and wall <= min(_SHORT_S, limit / 2):
            return ""
        self._looked = now
        used = self._use(now)
        most = max(LAST_RESORT * limit, limit + LAST_RESORT_S)
        if wall > most:
            return f"{most:g} s on the wall clock"
        if wall <= limit:
            return ""
        if used is None:
            return f"{limit:g} s"
        if used > limit:
            return f"{limit:g} s of processor time"
        return f"{limit:g} s and was idle" if now - self._busy > IDLE_S else ""

    def _use(self, now: float) -> float | None:
        """Processor time since it was first looked at; None where this system does not say."""
        found = _members(self._number)
        if not found:
            return None
        total = self._counted(found)
        if total - self._last > BUSY_S or any(item.state in "RD" for item in found):
            self._idle += now - self._busy if now - self._busy > IDLE_S else 0.0
            self._busy, self._last = now, total
        return total

    def _counted(self, found: Sequence[ProcessFacts]) -> float:
        """Processor time since the first look. What a process has computed that nobody waited for vanishes with it: so
        what each has computed itself is remembered."""
        everything = sum(item.seconds for item in found)
        if self._first is None:
            self._first, self._before = everything, {item.identity: item.own for item in found}
        self._own |= {item.identity: item.own for item in found}
        own = sum(seconds - self._before.get(identity, 0.0) for identity, seconds in self._own.items())
        return max(self._last, own, everything - self._first)


class Allowance:
    """Seconds that all runs of one submission have together, as a `Clock` counts them. Nothing that a child says adds
    to them."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self._spent = self._wall = 0.0

    @property
    def left(self) -> float:
        over = self._wall > max(LAST_RESORT * self.limit, self.limit + LAST_RESORT_S)
        return 0.0 if over else max(0.0, self.limit - self._spent)

    def take(self, clock: Clock) -> None:
        """Subtract what a run has taken by its clock."""
        wall = clock.wall
        self._spent += wall if wall < _SHORT_S else clock.spent()
        self._wall += wall


class ProcessFacts(NamedTuple):
    """A process, its parent and session, its state as the system writes it, the seconds that it has computed, with
    those of processes that it has waited for, its threads, its `own` seconds, and when it began."""

    number: int
    parent: int
    session: int
    state: str
    seconds: float
    threads: int = 1
    own: float = 0.0
    began: str = ""

    @property
    def identity(self) -> tuple[int, str]:
        """What no other process ever has: a number may be used again."""
        return self.number, self.began


def processes() -> Iterator[ProcessFacts]:
    """Every process that can be seen; none where there is no `/proc`."""
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdecimal():
                with contextlib.suppress(OSError, ValueError, IndexError):
                    yield _facts(name)


def _facts(name: str) -> ProcessFacts:
    descriptor = os.open(f"/proc/{name}/stat", os.O_RDONLY)
    try:
        fields = os.read(descriptor, 4096).decode(errors="replace").rpartition(")")[2].split()
    finally:
        os.close(descriptor)
    seconds = sum(map(int, fields[11:15])) / _TICKS
    own = sum(map(int, fields[11:13])) / _TICKS
    return ProcessFacts(int(name), int(fields[1]), int(fields[3]), fields[0], seconds, int(fields[17]), own, fields[19])


def _members(number: int) -> list[ProcessFacts]:
    """A process that leads a session, all in it, and all that descend from those."""
    everybody = list(processes())
    found = {item.number: item for item in everybody if number in (item.number, item.session)}
    grown = bool(found)
    while grown:
        more = {item.number: item for item in everybody if item.parent in found and item.number not in found}
        found |= more
        grown = bool(more)
    return list(found.values())
