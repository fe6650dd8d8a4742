"""Supervise the children of the fork server, each with all that it has started: count processes, measure what they
use, and kill a child that has too much.

Counting never waits. Measuring waits for locks that the measured processes hold: one that forks has its memory locked
until it is done, and where hundreds fork, each gets a processor so rarely that reading about a few took 22 s. So every
child is measured in a thread of its own, and delays neither counting nor the measurement of another.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from goldsmith.foundation.platforms import IS_LINUX
from goldsmith.process.clocks import ProcessFacts, processes
from goldsmith.process.descendants import Quota, excess, excess_processes, excess_threads, kill_orphans
from goldsmith.process.process_groups import signal_group

POLL_INTERVAL_S = 0.2
_MAX_INTERVAL_S = 1.0
_DUTY = 5
"""Children are measured again after this many times as long as it took, within the two intervals."""
_HOLD_AFTER_S = 1.0
"""A child whose measurement takes longer is stopped until that is done: its processes no longer keep each other from a
processor, and it cannot use more meanwhile."""


@dataclass(eq=False)
class _Child:
    """A child; `measured_since` is when the measurement that runs was begun, `cost_s` the last one's processor time."""

    quota: Quota | None
    kill_reason: str = ""
    measured_since: float | None = None
    is_held: bool = False
    cost_s: float = 0.0


class Supervisor:
    """Knows every child from its fork until it is reaped: as long as its process id is its own."""

    def __init__(self, zygote: int) -> None:
        self._zygote = zygote
        self._children: dict[int, _Child] = {}
        self._next_count = self._next_measurement = 0.0
        self._lock = threading.Lock()  # held while children are reaped, and while one is looked up and signalled

    def add(self, pid: int, quota: Quota | None) -> None:
        """Supervise a new child; one that is not sandboxed has no quota."""
        self._children[pid] = _Child(quota)
        self._next_count = min(self._next_count, time.monotonic() + POLL_INTERVAL_S)

    def look(self) -> None:
        """Count and measure, each at its own interval. Without children, once nothing is left of any, there is nothing
        to look for until the next: listing all processes takes a percent of a processor, and more where there are many.
        """
        now = time.monotonic()
        if now < self._next_count:
            return
        everybody = list(processes())
        is_idle = not kill_orphans(everybody, [*self._children, self._zygote]) and not self._children
        if IS_LINUX:
            _reap_orphans(self._children)
        members: dict[int, list[ProcessFacts]] = {pid: [] for pid in self._children}
        for item in everybody:
            if item.session in members:
                members[item.session].append(item)
        self._kill_crowds(members)
        self._hold_slow(now)
        if now >= self._next_measurement:
            cost = sum(child.cost_s for child in self._children.values())
            self._next_measurement = now + min(_MAX_INTERVAL_S, max(POLL_INTERVAL_S, _DUTY * cost))
            self._start_measurements(members)
        self._next_count = math.inf if is_idle else time.monotonic() + POLL_INTERVAL_S

    def reap(self, reap: Callable[[], Iterable[tuple[int, int]]]) -> list[tuple[int, int, str]]:
        """Forget the children that `reap` returns; add the reason to each that was killed here."""
        found = []
        with self._lock:
            for pid, status in reap():
                child = self._children.pop(pid, None)
                found.append((pid, status, "" if child is None else child.kill_reason))
        return found

    def kill_all(self) -> None:
        """Kill all children, and what they left running."""
        with self._lock:
            for pid in self._children:
                signal_group(pid, signal.SIGKILL)
        kill_orphans(processes(), ())

    def _kill_crowds(self, members: Mapping[int, Sequence[ProcessFacts]]) -> None:
        for pid, child in self._children.items():
            reason = excess_processes(members[pid])
            if child.quota is not None:
                reason = reason or excess_threads(members[pid])
            if reason:
                self._kill(pid, child, reason)

    def _start_measurements(self, members: Mapping[int, Sequence[ProcessFacts]]) -> None:
        for pid, child in self._children.items():
            if child.quota is not None and child.measured_since is None and not child.kill_reason:
                child.measured_since = time.monotonic()
                arguments = pid, child, child.quota, members[pid]
                threading.Thread(target=self._measure, args=arguments, daemon=True).start()

    def _measure(self, pid: int, child: _Child, quota: Quota, members: Sequence[ProcessFacts]) -> None:
        start = time.thread_time()
        try:
            reason = excess(members, quota)
        except Exception as error:  # without a limit nothing may run on
            reason = f"what it used could not be measured ({type(error).__name__})"
        child.cost_s = time.thread_time() - start
        with self._lock:
            if reason:
                self._kill(pid, child, reason)
            if child.is_held:
                self._signal(pid, child, signal.SIGCONT)
            child.is_held, child.measured_since = False, None

    def _hold_slow(self, now: float) -> None:
        """Stop children whose measurement takes long."""
        with self._lock:
            for pid, child in self._children.items():
                since = child.measured_since
                if since is not None and not child.is_held and now - since > _HOLD_AFTER_S:
                    self._signal(pid, child, signal.SIGSTOP)
                    child.is_held = True

    def _kill(self, pid: int, child: _Child, reason: str) -> None:
        child.kill_reason = child.kill_reason or reason
        self._signal(pid, child, signal.SIGKILL)

    def _signal(self, pid: int, child: _Child, number: int) -> None:
        """Send a signal to a child's group, unless it has been reaped and its process id may be another's."""
        if self._children.get(pid) is child:
            signal_group(pid, number)


def _reap_orphans(children: Collection[int]) -> None:
    """Wait for ended processes that children left running and this process has adopted."""
    with contextlib.suppress(ChildProcessError):
        while (status := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
            if status.si_pid in children:
                return
            os.waitpid(status.si_pid, 0)
