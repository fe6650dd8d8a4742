"""The internal tests, run on mutants beside the gold: in processes of a fork server, until one fails."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass

from goldsmith.courses.internal_tests.suite_result import (
    COUNTS,
    Chosen,
    SuiteReport,
    pytest_arguments,
    read_suite,
    tests_of,
)
from goldsmith.courses.layout.layout import Assignment
from goldsmith.errors.internal_tests import NoInternalTests
from goldsmith.generate.jobs import make_job
from goldsmith.process.fork_client import ForkClient
from goldsmith.process.launcher import Watcher, run_parallel
from goldsmith.process.messages import TestsJob
from goldsmith.process.untrusted_files import UntrustedFolder
from goldsmith.sandbox.limits import Limits
from goldsmith.targets.target import Placement, Target
from goldsmith.workspace.copies import make_workspaces


@dataclass(frozen=True)
class ForkedTests:
    """The course's internal tests, run in processes of the fork server."""

    target: Target
    placed: Sequence[Placement]
    chosen: Chosen
    fork_server: ForkClient

    def pass_on_the_solution(self) -> bool:
        report = self._run(self.placed, Watcher(), Limits())
        return bool(report.counts.passed) and not report.counts.failed and not report.problem

    def fail_with(self, placed: Sequence[Placement], watcher: Watcher, limits: Limits) -> bool:
        """Say whether any test fails, or pytest does not finish, with these files in place."""
        report = self._run(placed, watcher, limits)
        return bool(report.counts.failed or report.problem)

    def _run(self, placed: Sequence[Placement], watcher: Watcher, limits: Limits) -> SuiteReport:
        timeout = self.target.timeout
        with make_workspaces(self.target, placed, 1, whole=True) as (workspace,):
            left = UntrustedFolder(workspace.scratch)
            arguments = pytest_arguments(self.chosen, workspace.root, left.path / COUNTS, stop=True)
            job = make_job(TestsJob, self.target, workspace, self.target, arguments=tuple(arguments), limits=limits)
            (ending,) = run_parallel([job], timeout=timeout, watcher=watcher, fork_server=self.fork_server)
            return read_suite(left, ending)


def forked_tests(
    assignment: Assignment, target: Target, placed: Sequence[Placement], fork_server: ForkClient
) -> ForkedTests | None:
    """Return the assignment's internal tests; None where there are none or the solution does not pass them."""
    with contextlib.suppress(NoInternalTests):
        found = ForkedTests(target, placed, tests_of(assignment), fork_server)
        if found.pass_on_the_solution():
            return found
    return None
