"""The internal tests, run on solution and starter in parallel, each in a fresh pytest in its own workspace."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from goldsmith.courses.internal_tests.suite_result import (
    COUNTS,
    Chosen,
    SuiteReport,
    pytest_arguments,
    read_suite,
    started_count,
)
from goldsmith.courses.layout.layout import Assignment
from goldsmith.courses.layout.resolve import resolve
from goldsmith.errors.gold import CannotWrite
from goldsmith.errors.internal_tests import PytestMissing
from goldsmith.foundation.signals import pause, uninterrupted
from goldsmith.process.clocks import Clock
from goldsmith.process.launcher import environment_for
from goldsmith.process.messages import TestsJob
from goldsmith.process.process_exit import ProcessExit
from goldsmith.process.process_groups import Leader, end_group
from goldsmith.process.progress import Progress
from goldsmith.process.untrusted_files import UntrustedFolder
from goldsmith.workspace.copies import Workspace, make_workspaces

"""Called often, with how many tests have begun on the solution and on the starter."""

_POLL_INTERVAL_S = 0.02
_MOST_OF_A_LOG, _MOST_OF_JUNIT = 2**20, 2**26
_LOG, _JUNIT = "output.log", "junit.xml"


@dataclass(frozen=True)
class Side:
    """One run: the outcomes, what pytest printed, its JUnit XML."""

    report: SuiteReport
    log: str
    junit: bytes | None


def run_sides(
    assignment: Assignment, chosen: Chosen, *, timeout: float, select: str, progress: Progress
) -> tuple[Side, Side]:
    """Run the tests on the solution and on the starter, each within `timeout` seconds."""
    if importlib.util.find_spec("pytest") is None:
        raise PytestMissing
    with _workspaces(assignment) as workspaces:
        one, two = runs = [_Run(assignment, workspace, chosen, timeout, select) for workspace in workspaces]
        with uninterrupted():
            try:
                for run in runs:
                    run.start()
                while sum(run.running() for run in runs):
                    progress.step(f"internal tests begun: {one.started} on the solution, {two.started} on the starter")
                    pause(_POLL_INTERVAL_S)
            finally:
                for run in runs:
                    run.stop()
        return one.side(), two.side()


@contextlib.contextmanager
def _workspaces(assignment: Assignment) -> Iterator[Sequence[Workspace]]:
    target = resolve(assignment)
    with (
        make_workspaces(target, target.placed, 1, whole=True) as (solution,),
        make_workspaces(target, (), 1, whole=True) as (starter,),
    ):
        yield solution, starter


@dataclass
class _Run:
    assignment: Assignment
    workspace: Workspace
    chosen: Chosen
    timeout: float
    select: str
    _process: Leader | None = None
    _begun: float = 0.0
    _ended: float | None = None
    _clock: Clock | None = None
    _overrun: str = ""
    _left: UntrustedFolder = field(init=False)

    def __post_init__(self) -> None:
        self._left = UntrustedFolder(self.workspace.scratch)

    @property
    def started(self) -> int:
        return started_count(self._left)

    def start(self) -> None:
        name, scratch = self.assignment.name, self.workspace.scratch
        arguments = pytest_arguments(
            self.chosen, self.workspace.root, scratch / COUNTS, junit=scratch / _JUNIT, select=self.select
        )
        self._begun = time.monotonic()
        try:
            with (scratch / _LOG).open("wb") as log:
                process = subprocess.Popen(
                    [sys.executable, "-m", "pytest", "-o", f"junit_suite_name={name}", *arguments],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    cwd=self.workspace.root,
                    env=self._environment(),
                    start_new_session=True,
                )
                self._process = Leader(process)
                self._clock = Clock(process.pid)
        except OSError as error:
            raise CannotWrite(self.workspace.scratch, error.strerror or str(error)) from None

    def _environment(self) -> dict[str, str]:
        """Return the environment of a recipe's process, without the caller's own settings for pytest."""
        config = self.assignment.course.config
        root = str(self.workspace.root)
        job = TestsJob(
            root=root,
            folder=root,
            recipe="",
            output="",
            scratch=str(self.workspace.scratch),
            seed=config.seed,
            threads=config.threads,
            device="cpu",
            parent=os.getpid(),
        )
        return {name: value for name, value in environment_for(job).items() if not name.startswith("PYTEST_")}

    def running(self) -> bool:
        if self._process is None or self._process.poll() is not None:
            self._ended = self._ended or time.monotonic()
            return False
        if self._clock is not None:
            self._overrun = self._overrun or self._clock.overrun(self.timeout)
        return not self._overrun

    def stop(self) -> None:
        """Kill pytest and everything it started, whatever state it is in."""
        if self._process is None:
            return
        end_group(self._process)
        self._ended = self._ended or time.monotonic()

    def side(self) -> Side:
        assert self._process is not None
        log = self._text(lambda: self._left.tail(_LOG, _MOST_OF_A_LOG)) or ""
        ending = ProcessExit(
            pid=self._process.pid,
            code=self._process.returncode,
            overrun=self._overrun,
            seconds=(self._ended or time.monotonic()) - self._begun,
            log_tail=log,
        )
        junit = self._text(lambda: self._left.read(_JUNIT, _MOST_OF_JUNIT))
        return Side(read_suite(self._left, ending), log, None if junit is None else junit.encode())

    def _text(self, read: Callable[[], bytes]) -> str | None:
        """Read text and make its paths relative to the course, not to the workspace; None if it cannot be read."""
        try:
            text = read().decode("utf-8", "replace")
        except OSError:
            return None
        root, scratch = str(self.workspace.root), str(self.workspace.scratch)
        return text.replace(root + os.sep, "").replace(root, ".").replace(scratch + os.sep, "")
