"""Two baselines run on the same mutants: the course's internal tests, and a plain comparison of one case's outputs.

Neither decides anything; they are only compared with the gold.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from goldsmith.comparison.api import compare
from goldsmith.gold.arrays import judged_part
from goldsmith.gold.load import GoldCase
from goldsmith.process.fork_client import ForkClient
from goldsmith.process.launcher import Watcher
from goldsmith.runs.run import CaseRuns
from goldsmith.sandbox.limits import Limits
from goldsmith.targets.target import Placement, Target

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


class InternalTests(Protocol):
    """The course's internal tests, which the solution passes."""

    def fail_with(self, placed: Sequence[Placement], watcher: Watcher, limits: Limits) -> bool:
        """Say whether any test fails, or pytest does not finish, with these files in place."""


FindTests = Callable[[Target, Sequence[Placement], ForkClient], InternalTests | None]
"""Returns the internal tests of an assignment; None where there are none or the solution does not pass them."""
