"""Start, watch and end the processes that run a recipe. This side never imports the recipe."""

from __future__ import annotations

import contextlib
import logging
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import msgspec

from goldsmith.errors.gold import CannotWrite
from goldsmith.foundation.signals import pause, uninterrupted
from goldsmith.process.clocks import Allowance, Clock
from goldsmith.process.descendants import MAX_TASKS
from goldsmith.process.fork_client import ForkClient
from goldsmith.process.messages import EVENTS, JOB, LOG, RESULT, Event, Job, ReplayJob, Result
from goldsmith.process.process_exit import ProcessExit
from goldsmith.process.process_groups import Leader, Process, end_group
from goldsmith.process.untrusted_files import UntrustedFolder
from goldsmith.sandbox.cgroups import Cgroup, make_cgroup

_log = logging.getLogger(__name__)
"""Shown by `--debug`: what children are asked, never what they print or compute."""

POLL_INTERVAL_S = 0.02
READY_TIMEOUT_S = 120.0
"""What a child may take until it could run the first line of the course: to enter its sandbox and start its device. On
a busy card a context alone took longer than the 3 s that a case had."""
_SHORT_RUN_S = 1.0
"""In its first second a child is polled more often: most are done within it."""
_BEST_EFFORT_TIMEOUT_S = 60.0
_LOG_TAIL_BYTES = 4000
_EVENTS_TAIL_BYTES = 2**16
_MAX_RESULT_BYTES = 2**20
"""For the result of a sandboxed child, which takes some hundred bytes."""
_MAX_READ_BYTES = {EVENTS: 2**16, LOG: 2**20}


@dataclass
class Watcher:
    """Callbacks while a recipe runs: for each case that begins, for its output, for time that passes, and for what
    fails because something was used up that others use, too."""

    on_case: Callable[[Event], None] = lambda event: None
    on_print: Callable[[str], None] = lambda text: None
    on_tick: Callable[[], None] = lambda: None
    on_shortage: Callable[[], None] = lambda: None


def run_parallel(
    jobs: Sequence[Job],
    *,
    timeout: float,
    watcher: Watcher,
    best_effort: Sequence[Job] = (),
    case_timeout: float = math.inf,
    fork_server: ForkClient | None = None,
    fresh: Sequence[Job] = (),
) -> list[ProcessExit]:
    """Run all jobs at once, each in a process of its own. The first failure ends the others.

    They have `timeout` seconds in all, and `case_timeout` from one case to the next, as a `Clock` counts them.
    `best_effort` jobs run along and decide nothing: at the end they get a little more time, then they are stopped. With
    a `fork_server` children are forked, except for `fresh` jobs, each of which gets a new interpreter; so do all jobs
    if the fork server does not start.
    """
    children = [Child(job, None if job in fresh else fork_server) for job in jobs]
    others = [Child(job, fork_server) for job in best_effort]
    with uninterrupted():
        try:
            _start([*children, *others], watcher, timeout)
            watch(children, watcher, timeout, case_timeout)
            deadline = time.monotonic() + _BEST_EFFORT_TIMEOUT_S
            while any(child.running() for child in others) and time.monotonic() < deadline:
                watcher.on_tick()
                pause(POLL_INTERVAL_S)
        finally:
            for child in (*children, *others):
                child.stop()
    return [child.exit() for child in (*children, *others)]


def _start(children: Sequence[Child], watcher: Watcher, timeout: float) -> None:
    """Start the children, those first that need not wait for the fork server."""

    def wait() -> None:
        watcher.on_tick()
        pause(POLL_INTERVAL_S)

    for child in children:
        if child.fork_server is None:
            child.start()
    for child in children:
        if child.fork_server is not None:
            environment = environment_for(child.job)
            if not child.fork_server.is_ready(environment, timeout=timeout, on_wait=wait):
                child.fork_server = None
            child.start()


def watch(
    children: Sequence[Child],
    watcher: Watcher,
    timeout: float,
    case_timeout: float,
    until: Callable[[], bool] = lambda: False,
    allowance: Allowance | None = None,
    answers: int | None = None,
) -> None:
    """Wait until all have ended, one has failed, their time is up, or `until` returns true.

    Subtract the time that they take from an `allowance`. A byte from the pipe `answers` says that `until` is true; a
    child that sends one too early is looked at no more often than one that sends none.
    """
    started = time.monotonic()
    woken = False
    clocks = [Clock(child.pid) for child in children]
    while any(child.running() for child in children) and not until():
        began = [child for child in children if not child.is_ready]
        children[0].report(watcher)
        for child, clock in zip(children, clocks, strict=True):
            if child.is_ready and child in began:
                clock.restart()
        if woken and until():  # what the byte was about: to sleep before it is asked again would take 20 ms
            break
        watcher.on_tick()
        times = zip(children, clocks, strict=True)
        overrun = next(filter(None, (_overrun(*item, timeout, case_timeout) for item in times)), "")
        if overrun:
            for child in children:
                child.overrun = overrun if child.running() else ""
            break
        if any(not child.running() and child.has_failed() for child in children):
            break
        is_early = answers is None and time.monotonic() - started <= _SHORT_RUN_S
        woken = pause(POLL_INTERVAL_S / 4 if is_early else POLL_INTERVAL_S, None if woken else answers)
    if allowance is not None:
        for child, clock in zip(children, clocks, strict=True):
            if child.is_ready:
                allowance.take(clock)
    children[0].report(watcher)


def _overrun(child: Child, clock: Clock, timeout: float, case_timeout: float) -> str:
    """Return how long a child has taken in all or for its case, once that is too long: by `clock`, and by its own."""
    if not child.is_ready:
        return child.case_clock.overrun(READY_TIMEOUT_S)
    return clock.overrun(timeout) or child.case_clock.overrun(case_timeout)


def environment_for(job: Job) -> dict[str, str]:
    """Return a child's environment: deterministic, with its own temporary folder."""
    temporary = Path(job.scratch, "tmp")
    temporary.mkdir(exist_ok=True)
    own = {"TMPDIR": str(temporary), "PWD": job.folder, "OLDPWD": job.folder}
    return deterministic_environment(job.threads) | own | job.environment


def deterministic_environment(threads: int) -> dict[str, str]:
    """Return the caller's environment with the variables that must be set before an interpreter starts.

    Threads that wait for work sleep: several children share the cores, and one that spins takes another's. Two threads
    of Scratch-3's training took 11 s of processor time on two cores spinning, and take 0.6 s so.

    `torch.compile` leaves code as it is: a sandbox has no compiler, and what is right in `check` is right in `grade`.
    """
    return (
        {"OMP_WAIT_POLICY": "passive"}
        | os.environ
        | {
            "PYTHONHASHSEED": "0",
            "OMP_NUM_THREADS": str(threads),
            "MKL_NUM_THREADS": str(threads),
            "OPENBLAS_NUM_THREADS": str(threads),
            "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONUNBUFFERED": "1",
            "PYTHONIOENCODING": "utf-8",
            "TORCHDYNAMO_DISABLE": "1",
        }
    )


@dataclass
class Child:
    """One process that runs a recipe. `answered` counts the requests that it reports as done."""

    job: Job
    fork_server: ForkClient | None = None
    overrun: str = ""
    answered: int = 0
    _process: Process | None = None
    _start_time: float = 0.0
    _end_time: float | None = None
    case_clock: Clock = field(default_factory=lambda: Clock(0))
    """Runs since the child's last sign of life."""
    is_ready: bool = True
    """Whether the machine has done its part, and time counts as the course's and the submission's. Of a child that is
    asked for runs, which each have their time, it is awaited."""
    _cases_begun: set[str] = field(default_factory=set)
    _expected_cases: frozenset[str] = frozenset()
    _request_count: int = 0
    _partial_line: str = ""
    _readers: dict[str, IO[bytes]] = field(default_factory=dict)
    _cgroup: Cgroup | None = None
    left: UntrustedFolder = field(init=False)
    """Its scratch folder, opened before it begins."""

    def __post_init__(self) -> None:
        try:
            self.left = UntrustedFolder(self._scratch)
        except OSError as error:
            raise CannotWrite(self._scratch, error.strerror or str(error)) from None
        self.is_ready = not isinstance(self.job, ReplayJob) or bool(self.job.trials)

    @property
    def _scratch(self) -> Path:
        return Path(self.job.scratch)

    def start(self) -> None:
        job_file = self._scratch / JOB
        self._start_time = time.monotonic()
        if self.job.confinement is not None:
            self._cgroup = make_cgroup(MAX_TASKS, self.job.confinement.limits.memory)
        try:
            job = self.job
            if self._cgroup is not None:
                hierarchies = self._cgroup.hierarchies
                job = msgspec.structs.replace(job, cgroup=self._cgroup.name, cgroup_hierarchies=hierarchies)
                if self._cgroup.limits_tasks:
                    job = _without_limit_on_processes(job)
            job_file.write_bytes(msgspec.json.encode(job))
            self._launch(job_file)
            if self._cgroup is not None:
                with contextlib.suppress(OSError):  # it has ended, or it waits in vain and then ends
                    self._cgroup.add(self.pid)
            _log.debug("job %s started in process %d: %s", self.job.__struct_config__.tag, self.pid, self._scratch)
            self.case_clock = Clock(self.pid)  # a fork server may have had to be started first
        except OSError as error:
            raise CannotWrite(self._scratch, error.strerror or str(error)) from None

    def _launch(self, job_file: Path) -> None:
        if self.fork_server is not None:
            environment = environment_for(self.job)
            self._process = self.fork_server.start(job_file, self._scratch / LOG, self.job.folder, environment)
            return
        with (self._scratch / LOG).open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "goldsmith.worker.run_job", str(job_file)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.job.folder,
                env=environment_for(self.job),
                start_new_session=True,
            )
            self._process = Leader(process)

    @property
    def pid(self) -> int:
        """Return its process id; 0 before it is started."""
        return self._process.pid if self._process else 0

    def running(self) -> bool:
        if self._process is None:
            return False
        if self._process.poll() is None:
            return True
        if self._end_time is None:
            self._end_time = time.monotonic()
        return False

    def has_failed(self) -> bool:
        result = self._result()
        return result is None or result.failure is not None

    def report(self, watcher: Watcher) -> None:
        """Pass on to `watcher` what the child has written since the last call."""
        whole, _, self._partial_line = (self._partial_line + self._new_text(EVENTS)).rpartition("\n")
        self._partial_line = self._partial_line[-_EVENTS_TAIL_BYTES:]
        for event in _events(whole.splitlines()):
            if not event.case and not event.number:
                if not self.is_ready:
                    self.is_ready = True
                    self.case_clock.restart()
                continue
            if not event.case:
                self.answered += self.answered < self._request_count and event.number == self.answered + 1
                continue
            if self._is_sign_of_life(event):
                self.case_clock.restart()
            watcher.on_case(event)
        text = self._new_text(LOG)
        if text:
            watcher.on_print(text)

    def _is_sign_of_life(self, event: Event) -> bool:
        """Say whether an event restarts the case's clock.

        A sandboxed child may claim anything, so each expected case counts once.
        """
        if self.job.confinement is None:
            return True
        if event.case not in self._expected_cases:
            return False
        if event.case in self._cases_begun:
            return False
        self._cases_begun.add(event.case)
        return True

    def expect(self, cases: Collection[str]) -> None:
        """Note a request for these cases: from now on only they restart the child's clock."""
        self.case_clock.restart()
        self._expected_cases = frozenset(cases)
        self._request_count += 1
        self._cases_begun.clear()

    def stop(self) -> None:
        """End the child and everything it started, whatever state it is in."""
        if self._process is None:
            return
        end_group(self._process)
        if self._cgroup is not None:
            self._process.kill_reason = self._process.kill_reason or self._cgroup.excess()
            self._cgroup.remove()
        self._end_time = self._end_time or time.monotonic()
        why = self.overrun or self._process.kill_reason or "no limit reached"
        seconds = self._end_time - self._start_time
        _log.debug("process %d ended with %s after %.2f s: %s", self.pid, self._process.returncode, seconds, why)
        for reader in self._readers.values():
            reader.close()
        self._readers.clear()

    def exit(self) -> ProcessExit:
        """Return how the child ended."""
        return ProcessExit(
            pid=self.pid,
            code=self._process.returncode if self._process else None,
            overrun=self.overrun,
            result=None if self.overrun else self._result(),
            last_case=self._last_event(),
            log_tail=self._tail(LOG, _LOG_TAIL_BYTES),
            seconds=(self._end_time or time.monotonic()) - self._start_time,
            kill_reason=self._process.kill_reason if self._process else "",
            is_ready=self.is_ready,
        )

    def _tail(self, name: str, size: int) -> str:
        try:
            return self.left.tail(name, size).decode("utf-8", "replace")
        except OSError:
            return ""

    def _result(self) -> Result | None:
        """Read the child's result; None unless the child itself wrote one."""
        try:
            content = self.left.read(RESULT)
            if self.job.confinement is not None and len(content) > _MAX_RESULT_BYTES:
                return None
            result = msgspec.json.decode(content, type=Result)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        return result if self._process is not None and result.process == self._process.pid else None

    def _last_event(self) -> str | None:
        events = _events(self._tail(EVENTS, _EVENTS_TAIL_BYTES).splitlines())
        return (events[-1].case or None) if events else None

    def _new_text(self, name: str) -> str:
        if name not in self._readers:
            try:
                self._readers[name] = self.left.open(name)
            except OSError:
                return ""
        return self._readers[name].read(_MAX_READ_BYTES[name]).decode("utf-8", "replace")


def _without_limit_on_processes(job: Job) -> Job:
    """Leave counting processes to the job's cgroup: the limit of a user counts those of neighbours."""
    assert job.confinement is not None
    limits = msgspec.structs.replace(job.confinement.limits, processes=None)
    return msgspec.structs.replace(job, confinement=msgspec.structs.replace(job.confinement, limits=limits))


def _events(lines: Sequence[str]) -> list[Event]:
    """Decode lines, skipping those that are not events: code that runs in the child can write there, too."""
    found = []
    for line in lines:
        with contextlib.suppress(msgspec.DecodeError, RecursionError):
            found.append(msgspec.json.decode(line, type=Event))
    return found
