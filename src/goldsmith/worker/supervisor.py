"""Supervise the children of the fork server, each with all that it has started: grant new processes, count them,
measure what they use, and kill a child that has too much.

Measuring waits for locks that the measured processes hold: one that forks has its memory locked until it is done, and
where hundreds fork, each gets a processor so rarely that reading about a few took 22 s. So every child is measured in a
thread of its own, and delays neither counting nor the measurement of another.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from goldsmith.foundation.platforms import IS_LINUX
from goldsmith.process.clocks import ProcessFacts, processes
from goldsmith.process.descendants import (
    MAX_PROCESSES,
    MAX_THREADS,
    Quota,
    excess,
    excess_processes,
    excess_threads,
    kill_orphans,
)
from goldsmith.process.process_groups import signal_group
from goldsmith.sandbox.fork_requests import ForkRequests

POLL_INTERVAL_S, _MAX_INTERVAL_S = 0.2, 1.0
_DUTY = 5
"""Processes are counted again, and children measured again, after this many times as long as it took, within the two
intervals."""
_GRANTS, _GRANTS_INTERVAL_S = 256, 0.1
"""How many processes and threads a child may start in that time, whether or not they have ended: answering costs more
than asking."""
_HOLD_AFTER_S, _GIVE_UP_AFTER_S = 1.0, 30.0
"""A child whose memory is locked for longer is stopped until it has been measured: its processes no longer keep each
other from a processor, and it cannot use more meanwhile. If that does not help, it is killed."""


@dataclass(eq=False)
class _Child:
    """A child. `is_measured` says that a measurement runs, `waits_since` since when that waits for the child's own
    processes; `cost_s` is the last one's processor time."""

    quota: Quota | None
    kill_reason: str = ""
    is_measured: bool = False
    waits_since: float | None = None
    is_held: bool = False
    cost_s: float = 0.0


class Supervisor:
    """Knows every child from its fork until it is reaped: as long as its process id is its own."""

    def __init__(self, zygote: int) -> None:
        self._zygote = zygote
        self._children: dict[int, _Child] = {}
        self._next_count = self._next_measurement = 0.0
        self._lock = threading.Lock()  # held while children are reaped, and while one is looked up and signalled

    def add(self, pid: int, quota: Quota | None, channel: socket.socket | None = None) -> None:
        """Supervise a new child; one that is not sandboxed has no quota. At `channel` it asks for new processes."""
        child = self._children[pid] = _Child(quota)
        if channel is not None and quota is None:
            channel.close()
        elif channel is not None:
            arguments = pid, child, ForkRequests(channel)
            threading.Thread(target=self._grant_processes, args=arguments, daemon=True).start()

    def look(self) -> None:
        """Count and measure, each at its own interval."""
        start = time.monotonic()
        if start < self._next_count:
            return
        everybody = list(processes())
        kill_orphans(everybody, [*self._children, self._zygote])
        if IS_LINUX:
            _reap_orphans(self._children)
        members: dict[int, list[ProcessFacts]] = {pid: [] for pid in self._children}
        for item in everybody:
            if item.session in members:
                members[item.session].append(item)
        for pid, child in self._children.items():
            if reason := excess_processes(members[pid]) or (child.quota and excess_threads(members[pid])):
                self._kill(pid, child, reason)
        now = time.monotonic()
        self._next_count = now + _interval(now - start)
        self._hold_slow(now)
        if now >= self._next_measurement:
            self._next_measurement = now + _interval(sum(child.cost_s for child in self._children.values()))
            self._start_measurements(members)

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

    def _grant_processes(self, pid: int, child: _Child, requests: ForkRequests) -> None:
        """Let a child start processes and threads, until it has too many.

        Those that were granted and may have ended count, too; once these are too many, see how many there are.
        """
        if not requests.open():
            return  # this kernel cannot ask
        granted, number_of_processes, number_of_threads, burst_began = 0, 1, 1, time.monotonic()
        with contextlib.closing(requests), contextlib.suppress(EOFError):
            while self._children.get(pid) is child:
                request = requests.next(POLL_INTERVAL_S)
                if request is None:
                    continue
                granted += 1
                if granted % _GRANTS == 0:
                    time.sleep(max(0.0, _GRANTS_INTERVAL_S - (time.monotonic() - burst_began)))
                    burst_began = time.monotonic()
                number_of_processes += not request.is_thread
                number_of_threads += 1
                if number_of_processes > MAX_PROCESSES or number_of_threads > MAX_THREADS:
                    members = [item for item in processes() if item.session == pid]
                    if reason := excess_processes(members) or excess_threads(members):
                        with self._lock:
                            self._kill(pid, child, reason)
                        return
                    number_of_processes, number_of_threads = len(members), sum(item.threads for item in members)
                requests.grant(request)

    def _start_measurements(self, members: Mapping[int, Sequence[ProcessFacts]]) -> None:
        for pid, child in self._children.items():
            if child.quota is not None and not child.is_measured and not child.kill_reason:
                child.is_measured = True
                arguments = pid, child, child.quota, members[pid]
                threading.Thread(target=self._measure, args=arguments, daemon=True).start()

    def _measure(self, pid: int, child: _Child, quota: Quota, members: Sequence[ProcessFacts]) -> None:
        def wait() -> None:
            child.waits_since = time.monotonic()

        start = time.thread_time()
        try:
            reason = excess(members, quota, wait)
        except Exception as error:  # without a limit nothing may run on
            reason = f"what it used could not be measured ({type(error).__name__})"
        child.cost_s = time.thread_time() - start
        with self._lock:
            if reason:
                self._kill(pid, child, reason)
            if child.is_held:
                self._signal(pid, child, signal.SIGCONT)
            child.is_held, child.waits_since, child.is_measured = False, None, False

    def _hold_slow(self, now: float) -> None:
        """Stop children that could not be measured for long, and kill them in the end."""
        with self._lock:
            for pid, child in self._children.items():
                waited = 0.0 if child.waits_since is None else now - child.waits_since
                if waited > _GIVE_UP_AFTER_S:
                    self._kill(pid, child, f"its memory was locked for {_GIVE_UP_AFTER_S:g} s")
                elif waited > _HOLD_AFTER_S and not child.is_held:
                    self._signal(pid, child, signal.SIGSTOP)
                    child.is_held = True

    def _kill(self, pid: int, child: _Child, reason: str) -> None:
        child.kill_reason = child.kill_reason or reason
        self._signal(pid, child, signal.SIGKILL)

    def _signal(self, pid: int, child: _Child, number: int) -> None:
        """Send a signal to a child's group, unless it has been reaped and its process id may be another's."""
        if self._children.get(pid) is child:
            signal_group(pid, number)


def _interval(cost_s: float) -> float:
    return min(_MAX_INTERVAL_S, max(POLL_INTERVAL_S, _DUTY * cost_s))


def _reap_orphans(children: Collection[int]) -> None:
    """Wait for ended processes that children left running and this process has adopted."""
    with contextlib.suppress(ChildProcessError):
        while (status := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
            if status.si_pid in children:
                return
            os.waitpid(status.si_pid, 0)
