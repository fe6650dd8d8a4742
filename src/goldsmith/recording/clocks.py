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
from collections.abc import Iterator
from typing import NamedTuple

LAST_RESORT, LAST_RESORT_S = 10, 60.0
"""On the wall clock nothing has more than so many times its limit, or so many seconds more, whichever is later."""
IDLE_S, BUSY_S = 2.0, 0.02
"""Idle is who uses less than so much processor time for so long, and is neither about to run nor waiting for a disk.
The smallest share of a processor that Linux gives away, to the least important of two processes, is 1.5 %."""
_LOOK_S = 0.2
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
        self._last = 0.0

    def over(self, limit: float) -> str:
        """How long it has taken, in words that say by which clock, once that is more than `limit` seconds; else ""."""
        now = time.monotonic()
        wall = now - self._began
        if math.isinf(limit) or (self._first is not None and (wall <= limit or now - self._looked < _LOOK_S)):
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
        total = max(self._last, sum(item.seconds for item in found))  # that of processes nobody waited for is lost
        if self._first is None:
            self._first = self._last = total
        if total - self._last > BUSY_S or any(item.state in "RD" for item in found):
            self._busy, self._last = now, total
        return total - self._first


class ProcessFacts(NamedTuple):
    """A process, its parent and session, its state as the system writes it, and the seconds that it has computed, with
    those of processes that it has waited for."""

    number: int
    parent: int
    session: int
    state: str
    seconds: float


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
    return ProcessFacts(int(name), int(fields[1]), int(fields[3]), fields[0], sum(map(int, fields[11:15])) / _TICKS)


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
