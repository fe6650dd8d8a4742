"""Starting, watching and ending the processes that run a recipe. This side never imports the recipe."""

from __future__ import annotations

import contextlib
import math
import os
import signal
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
from goldsmith.process.fork_client import ForkServer
from goldsmith.process.messages import EVENTS, JOB, LOG, RESULT, Event, Job, Result
from goldsmith.process.process_groups import Leader, Process, end_group
from goldsmith.process.untrusted_files import UntrustedFolder

POLL = 0.02
_SHORT = 1.0
_PATIENCE = 60.0
_LOG_TAIL = 4000
_EVENTS_TAIL = 2**16
_LONGEST_RESULT = 2**20
"""Bytes of JSON in which a child that is locked in says how it ended: some hundreds."""
_MOST_AT_ONCE = {EVENTS: 2**16, LOG: 2**20}


@dataclass(frozen=True)
class ProcessExit:
    """How one child came to its end. One that was stopped because it was `late` says how long it had, and by
    which clock; one that took too much, `why` it was ended."""

    result: Result | None
    signal: str | None
    code: int | None
    late: str
    last_case: str | None
    log_tail: str
    seconds: float
    process: int = 0
    why: str = ""


@dataclass
class Watcher:
    """Whom to tell while a recipe runs: cases as they begin, its own prints, and that time passes."""

    on_case: Callable[[Event], None] = lambda event: None
    on_print: Callable[[str], None] = lambda text: None
    on_tick: Callable[[], None] = lambda: None


def run_parallel(
    jobs: Sequence[Job],
    *,
    timeout: float,
    watcher: Watcher,
    beside: Sequence[Job] = (),
    each: float = math.inf,
    warm: ForkServer | None = None,
    fresh: Sequence[Job] = (),
) -> list[ProcessExit]:
    """Run all jobs at once, each in a process of its own. The first failure ends the others.

    They have `timeout` seconds in all, and `each` from one case to the next, as a `Clock` counts them. Jobs that
    run `beside` them decide nothing: they are waited for a little longer, then stopped. From a `warm` process they
    start at once, but for `fresh` ones, each of which has an interpreter of its own; so do all if the warm process
    cannot be had.
    """
    children = [Child(job, None if job in fresh else warm) for job in jobs]
    others = [Child(job, warm) for job in beside]
    with uninterrupted():
        try:
            _start([*children, *others], watcher, timeout)
            watch(children, watcher, timeout, each)
            ended = time.monotonic()
            while any(child.running() for child in others) and time.monotonic() - ended < _PATIENCE:
                watcher.on_tick()
                pause(POLL)
        finally:
            for child in (*children, *others):
                child.stop()
    return [child.ending() for child in (*children, *others)]


def _start(children: Sequence[Child], watcher: Watcher, timeout: float) -> None:
    """Start those first that need not wait for the warm process."""

    def wait() -> None:
        watcher.on_tick()
        pause(POLL)

    for child in children:
        if child.warm is None:
            child.start()
    for child in children:
        if child.warm is not None:
            environment = environment_for(child.job)
            if not child.warm.is_ready(environment, timeout=timeout, meanwhile=wait):
                child.warm = None
            child.start()


def watch(
    children: Sequence[Child],
    watcher: Watcher,
    timeout: float,
    each: float,
    until: Callable[[], bool] = lambda: False,
    allowance: Allowance | None = None,
) -> None:
    """Until all have ended, one has failed, their time is up, or it need not be any longer. What they take is taken
    from an `allowance`."""
    started = time.monotonic()
    in_all = [Clock(child.number) for child in children]
    while any(child.running() for child in children) and not until():
        children[0].report(watcher)
        watcher.on_tick()
        late = next(filter(None, (clock.over(timeout) for clock in in_all)), "")
        late = late or next(filter(None, (child.clock.over(each) for child in children)), "")
        if late:
            for child in children:
                child.late = late if child.running() else ""
            break
        if any(not child.running() and child.read_result_failed() for child in children):
            break
        pause(POLL if time.monotonic() - started > _SHORT else POLL / 4)
    if allowance is not None:
        for clock in in_all:
            allowance.take(clock)
    children[0].report(watcher)


def environment_for(job: Job) -> dict[str, str]:
    """What one child has: settled variables, and a temporary folder of its own."""
    temporary = Path(job.scratch, "tmp")
    temporary.mkdir(exist_ok=True)
    own = {"TMPDIR": str(temporary), "PWD": job.folder, "OLDPWD": job.folder}
    return deterministic_environment(job.threads) | own | job.environment


def deterministic_environment(threads: int) -> dict[str, str]:
    """The caller's environment with what must be fixed before an interpreter starts.

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
    """One process that runs a recipe. `answered` counts what it was asked for and says to have done."""

    job: Job
    warm: ForkServer | None = None
    late: str = ""
    answered: int = 0
    _process: Process | None = None
    _started: float = 0.0
    _ended: float | None = None
    clock: Clock = field(default_factory=lambda: Clock(0))
    """Since its last sign of life."""
    _begun: set[str] = field(default_factory=set)
    _expected: frozenset[str] | None = None
    _asked: int = 0
    _unfinished: str = ""
    _readers: dict[str, IO[bytes]] = field(default_factory=dict)
    left: UntrustedFolder = field(init=False)
    """Its scratch folder, opened before it begins."""

    def __post_init__(self) -> None:
        try:
            self.left = UntrustedFolder(self._scratch)
        except OSError as error:
            raise CannotWrite(self._scratch, error.strerror or str(error)) from None

    @property
    def _scratch(self) -> Path:
        return Path(self.job.scratch)

    def start(self) -> None:
        job_file = self._scratch / JOB
        self._started = time.monotonic()
        try:
            job_file.write_bytes(msgspec.json.encode(self.job))
            self._launch(job_file)
            self.clock = Clock(self.number)  # a warm process may have had to be started first
        except OSError as error:
            raise CannotWrite(self._scratch, error.strerror or str(error)) from None

    def _launch(self, job_file: Path) -> None:
        if self.warm is not None:
            environment = environment_for(self.job)
            self._process = self.warm.start(job_file, self._scratch / LOG, self.job.folder, environment)
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
    def number(self) -> int:
        """That of its process; 0 before there is one."""
        return self._process.pid if self._process else 0

    def running(self) -> bool:
        if self._process is None:
            return False
        if self._process.poll() is None:
            return True
        if self._ended is None:
            self._ended = time.monotonic()
        return False

    def read_result_failed(self) -> bool:
        result = self._result()
        return result is None or result.failure is not None

    def report(self, watcher: Watcher) -> None:
        """Pass on what the child has written since the last time."""
        whole, _, self._unfinished = (self._unfinished + self._new_text(EVENTS)).rpartition("\n")
        self._unfinished = self._unfinished[-_EVENTS_TAIL:]
        for event in _events(whole.splitlines()):
            if not event.case:
                self.answered += self.answered < self._asked and event.number == self.answered + 1
                continue
            if self._is_sign_of_life(event):
                self.clock.begin()
            watcher.on_case(event)
        text = self._new_text(LOG)
        if text:
            watcher.on_print(text)

    def _is_sign_of_life(self, event: Event) -> bool:
        """What is locked in may say what it likes: a case of its own begins once, and no other does."""
        if self.job.confinement is None:
            return True
        if event.case not in (self.job.kept if self._expected is None else self._expected):
            return False
        if event.case in self._begun:
            return False
        self._begun.add(event.case)
        return True

    def expect(self, cases: Collection[str]) -> None:
        """It has been asked for these cases: from now on it has time for them, and for no others."""
        self.clock.begin()
        self._expected = frozenset(cases)
        self._asked += 1
        self._begun.clear()

    def stop(self) -> None:
        """End the child and everything it started, whatever state it is in."""
        if self._process is None:
            return
        end_group(self._process)
        self._ended = self._ended or time.monotonic()
        for reader in self._readers.values():
            reader.close()
        self._readers.clear()

    def ending(self) -> ProcessExit:
        code = self._process.returncode if self._process else None
        log = self._tail(LOG, _LOG_TAIL)
        return ProcessExit(
            result=None if self.late else self._result(),
            signal=_signal_name(-code) if code is not None and code < 0 else None,
            code=code,
            late=self.late,
            last_case=self._last_event(),
            log_tail=log,
            seconds=(self._ended or time.monotonic()) - self._started,
            process=self.number,
            why=self._process.why if self._process else "",
        )

    def _tail(self, name: str, size: int) -> str:
        try:
            return self.left.tail(name, size).decode("utf-8", "replace")
        except OSError:
            return ""

    def _result(self) -> Result | None:
        """What the child left behind, if it was the child itself that did."""
        try:
            content = self.left.read(RESULT)
            if self.job.confinement is not None and len(content) > _LONGEST_RESULT:
                return None
            result = msgspec.json.decode(content, type=Result)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        return result if self._process is not None and result.process == self._process.pid else None

    def _last_event(self) -> str | None:
        events = _events(self._tail(EVENTS, _EVENTS_TAIL).splitlines())
        return (events[-1].case or None) if events else None

    def _new_text(self, name: str) -> str:
        if name not in self._readers:
            try:
                self._readers[name] = self.left.open(name)
            except OSError:
                return ""
        return self._readers[name].read(_MOST_AT_ONCE[name]).decode("utf-8", "replace")


def _events(lines: Sequence[str]) -> list[Event]:
    """What can be read of them: the code that runs in the child could write there, too."""
    found = []
    for line in lines:
        with contextlib.suppress(msgspec.DecodeError, RecursionError):
            found.append(msgspec.json.decode(line, type=Event))
    return found


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
