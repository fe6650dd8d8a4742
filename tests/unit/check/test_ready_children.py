"""What a machine takes before the first line of the course is its own time: it is no case's, and no submission's."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from goldsmith.check.check_context import CheckContext
from goldsmith.check.request import OpenGold, Request
from goldsmith.courses.layout.layout import find_course
from goldsmith.courses.layout.resolve import resolve
from goldsmith.courses.submissions.open_submission import open_submission
from goldsmith.errors.recipe import NeverReady
from goldsmith.process import launcher
from goldsmith.process.clocks import Allowance
from goldsmith.runs.conditions import PLAIN
from goldsmith.runs.run import CaseRuns
from support.check_course import hand_in
from support.course import CourseOnDisk

SLOW = """
import time
import goldsmith.frameworks.devices as devices

devices.check_device = lambda device: time.sleep({seconds})
"""


@pytest.fixture
def slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A device that takes 2 s to start, in every new interpreter; its context is made where a card's would be."""
    (tmp_path / "sitecustomize.py").write_text(SLOW.format(seconds=2))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]))
    return tmp_path


def replayed(course: CourseOnDisk, what: str, allowance: Allowance, case_timeout: float = 1.0) -> CaseRuns:
    assignment, request = find_course(course.root).assignment("hw1"), Request()
    with open_submission(assignment, what) as submission:
        target = replace(resolve(assignment), timeout=1.0, case_timeout=case_timeout, device="slow")
        context = CheckContext(target, OpenGold.of(target, submission, request), request, None)
        with context.open_workspace(submission.placed) as workspace:
            workspace.allowance = allowance
            return workspace.run({"scaled": (PLAIN,)})["scaled"]


def test_a_device_that_starts_slowly_takes_nothing_of_the_first_case(checked: CourseOnDisk, slow: Path) -> None:
    allowance = Allowance(1.5)
    found = replayed(checked, hand_in(checked), allowance)
    assert found.first.failure is None
    assert allowance.used[0] < 1.5
    ending = hand_in(checked, ("return x * factor", "import os\nos._exit(3)"))
    failure = replayed(checked, ending, Allowance(60.0)).first.failure
    assert failure is not None
    assert failure.kind == "exit"


def test_one_that_never_starts_is_the_machines_failure(
    checked: CourseOnDisk, slow: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launcher, "READY_TIMEOUT_S", 0.5)
    with pytest.raises(NeverReady, match="was not ready to run anything on slow"):
        replayed(checked, hand_in(checked), Allowance(60.0), case_timeout=60.0)
    monkeypatch.setattr(launcher, "READY_TIMEOUT_S", 60.0)
    (slow / "sitecustomize.py").write_text("import goldsmith.frameworks.devices as d\nd.check_device = lambda _: 1 / 0")
    with pytest.raises(NeverReady, match="division by zero"):
        replayed(checked, hand_in(checked), Allowance(60.0))
