"""Two baselines run on the same mutants: the course's internal tests, and a plain comparison of one case's outputs.

Neither decides anything; they are only compared with the gold.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import msgspec

from goldsmith.comparison.api import compare
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
from goldsmith.generate.options import Options
from goldsmith.gold.arrays import judged_part
from goldsmith.gold.load import GoldCase
from goldsmith.process.fork_client import ForkClient
from goldsmith.process.launcher import Watcher, run_parallel
from goldsmith.process.untrusted_files import UntrustedFolder
from goldsmith.runs.run import CaseRuns
from goldsmith.sandbox.limits import Limits
from goldsmith.targets.target import Placement
from goldsmith.workspace.copies import make_workspaces

CUSTOMARY = "gold_output"
RTOL, ATOL = 1e-4, 1e-5


def customary_case(cases: Collection[str]) -> str:
    """Return `gold_output`, the outputs of the whole model, which nearly every course has; else the first case."""
    return CUSTOMARY if CUSTOMARY in cases else next(iter(cases))


def plainly_differs(gold: GoldCase, replay: CaseRuns) -> bool:
    """Say whether a case fails, or its outputs, apart from weights, are off by more than `RTOL` and `ATOL`."""
    if replay.first.failure is not None:
        return True
    weights = {name for facts in gold.initial_weights.values() for name in facts}
    expected = {
        path: leaf
        for path, leaf in judged_part(gold.data).items()
        if path.startswith("output") and not any(path.endswith(f".{name}") for name in weights)
    }
    actual = {path: leaf for path, leaf in replay.values("plain").items() if path in expected}
    return bool(expected) and not compare(actual, expected, rtol=RTOL, atol=ATOL, check_dtype=False, equal_nan=True)


@dataclass(frozen=True)
class InternalTests:
    """The course's internal tests, run in processes of the fork server."""

    assignment: Assignment
    placed: Sequence[Placement]
    options: Options
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
        timeout = self.options.timeout
        with make_workspaces(self.assignment, placed, 1, whole=True) as (workspace,):
            left = UntrustedFolder(workspace.scratch)
            arguments = pytest_arguments(self.chosen, workspace.root, left.path / COUNTS, stop=True)
            job = make_job(self.assignment, workspace, self.options, task="tests")
            job = msgspec.structs.replace(job, arguments=tuple(arguments), limits=limits)
            (ending,) = run_parallel([job], timeout=timeout, watcher=watcher, fork_server=self.fork_server)
            return read_suite(left, ending)


def internal_tests(
    assignment: Assignment, placed: Sequence[Placement], options: Options, fork_server: ForkClient
) -> InternalTests | None:
    """Return the assignment's internal tests; None where there are none or the solution does not pass them."""
    with contextlib.suppress(NoInternalTests):
        found = InternalTests(assignment, placed, options, tests_of(assignment), fork_server)
        if found.pass_on_the_solution():
            return found
    return None
