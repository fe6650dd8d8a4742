"""A child asked for one run after another: it stays, it may die, and what was taken from it is out of its reach."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from goldsmith.check.check_context import CheckContext
from goldsmith.check.replay_workspace import ReplayWorkspace
from goldsmith.check.request import OpenGold, Request
from goldsmith.courses.layout.layout import find_course
from goldsmith.courses.layout.resolve import resolve
from goldsmith.courses.submissions.open_submission import open_submission
from goldsmith.process.fork_client import ForkClient
from goldsmith.process.launcher import Watcher
from goldsmith.runs.conditions import PLAIN, REPEAT, TRACED
from support.check_course import hand_in
from support.course import CourseOnDisk, wait_until

CASES = ("centred", "scaled", "counted")


@contextlib.contextmanager
def workspace_with(course: CourseOnDisk, what: str, warm: ForkClient) -> Iterator[ReplayWorkspace]:
    assignment = find_course(course.root).assignment("hw1")
    request = Request(fork_server=warm)
    with open_submission(assignment, what) as submission:
        target = replace(resolve(assignment), timeout=60.0, case_timeout=5.0)
        context = CheckContext(target, OpenGold.of(target, submission, request), request, warm)
        with context.open_workspace(submission.placed) as workspace:
            yield workspace


def test_one_child_does_all_that_it_is_asked_for(checked: CourseOnDisk, warm: ForkClient) -> None:
    noting = "import os\nopen('numbers', 'a').write(f'{os.getpid()}\\n')\nreturn x * factor"
    with workspace_with(checked, hand_in(checked, ("return x * factor", noting)), warm) as workspace:
        numbers = workspace.workspace.folder / "numbers"
        with workspace.one_worker():
            first = workspace.run(dict.fromkeys(CASES, (PLAIN,)))
            second = workspace.run({"scaled": (REPEAT, TRACED)})
        assert len(set(numbers.read_text().split())) == 1
        workspace.replay(["scaled"], (PLAIN,))
        assert len(set(numbers.read_text().split())) == 2
    assert list(first) == list(CASES)
    assert list(second["scaled"].runs) == ["repeat", "traced"]
    assert np.array_equal(second["scaled"].values("repeat")["output"], first["scaled"].values("plain")["output"])


def test_one_that_dies_when_it_is_asked_again_costs_one_case(checked: CourseOnDisk, warm: ForkClient) -> None:
    dying = """
    import os, sys
    if hasattr(sys, "scaled_before"):
        os._exit(3)
    sys.scaled_before = True
    return x * factor"""
    with (
        workspace_with(checked, hand_in(checked, ("return x * factor", dying)), warm) as workspace,
        workspace.one_worker(),
    ):
        first = workspace.run(dict.fromkeys(CASES, (PLAIN,)))
        second = workspace.run(dict.fromkeys(CASES, (REPEAT,)))
        third = workspace.run({"scaled": (PLAIN,)})
    assert all(item.first.failure is None for item in (*first.values(), *third.values()))
    failures = {name: item.runs["repeat"].failure for name, item in second.items()}
    assert failures["centred"] is None
    assert failures["counted"] is None
    assert failures["scaled"] is not None
    assert (failures["scaled"].kind, failures["scaled"].case) == ("exit", "scaled")


def test_one_that_was_gone_before_it_was_asked_costs_nothing(checked: CourseOnDisk, warm: ForkClient) -> None:
    leaving = """
    import os, threading
    open("number", "w").write(str(os.getpid()))
    threading.Timer(0.3, os._exit, [3]).start()
    return x * factor"""
    with (
        workspace_with(checked, hand_in(checked, ("return x * factor", leaving)), warm) as workspace,
        workspace.one_worker(),
    ):
        workspace.run({"scaled": (PLAIN,)})
        number = (workspace.workspace.folder / "number").read_text()
        wait_until(lambda: not Path("/proc", number, "exe").exists())  # nor has one that nobody has waited for
        found = workspace.run(dict.fromkeys(CASES, (PLAIN,)))
    assert [item.first.failure for item in found.values()] == [None] * 3


def test_what_it_says_to_have_answered_unasked_is_not_believed(checked: CourseOnDisk, warm: ForkClient) -> None:
    early = """
    import pathlib
    for path in pathlib.Path.cwd().parents[3].glob("scratch/[0-9]*-????????/events.jsonl"):
        for number in (3, 2, 99):
            path.open("a").write('{"case": "", "number": %d, "of": 1}\\n' % number)
    return x * factor"""
    with (
        workspace_with(checked, hand_in(checked, ("return x * factor", early)), warm) as workspace,
        workspace.one_worker(),
    ):
        first = workspace.run(dict.fromkeys(CASES, (PLAIN,)))
        second = workspace.run(dict.fromkeys(CASES, (REPEAT,)))
    assert [item.first.failure for item in first.values()] == [None] * 3
    assert [item.runs["repeat"].failure for item in second.values()] == [None] * 3


@pytest.mark.parametrize(
    "act",
    [
        "pipe.is_dir() or (pipe.unlink(), pipe.mkdir())",
        "os.write(os.open(pipe, os.O_RDWR | os.O_NONBLOCK), b'.' * 2**16)",
    ],
    ids=["replaced", "filled"],
)
def test_answers_arrive_whatever_becomes_of_the_pipe_that_announces_them(
    checked: CourseOnDisk, warm: ForkClient, act: str
) -> None:
    meddling = f"""
    import os, pathlib, sys
    for pipe in pathlib.Path.cwd().parents[3].glob("scratch/[0-9]*-????????/answered"):
        sys.seen = {act}
    assert hasattr(sys, "seen")
    return x * factor"""
    with (
        workspace_with(checked, hand_in(checked, ("return x * factor", meddling)), warm) as workspace,
        workspace.one_worker(),
    ):
        first = workspace.run(dict.fromkeys(CASES, (PLAIN,)))
        second = workspace.run(dict.fromkeys(CASES, (REPEAT,)))
    assert [item.first.failure for item in first.values()] == [None] * 3
    assert [item.runs["repeat"].failure for item in second.values()] == [None] * 3


def test_a_timeout_ends_one_that_hangs_when_it_is_asked_again(checked: CourseOnDisk, warm: ForkClient) -> None:
    slow = """
    import sys
    while hasattr(sys, "scaled_before"): pass
    sys.scaled_before = True
    return x * factor"""
    with (
        workspace_with(checked, hand_in(checked, ("return x * factor", slow)), warm) as workspace,
        workspace.one_worker(),
    ):
        workspace.case_timeout = 0.4
        workspace.run({"scaled": (PLAIN,)})
        time.sleep(0.5)  # nobody asks: that is no time of its own
        second = workspace.run({"scaled": (REPEAT,), "centred": (REPEAT,)})
    assert second["scaled"].runs["repeat"].failure is not None
    assert second["scaled"].runs["repeat"].failure.kind == "timeout"
    assert second["centred"].runs["repeat"].failure is None


def test_what_was_taken_from_it_is_out_of_its_reach(checked: CourseOnDisk, warm: ForkClient) -> None:
    """Neither changed, nor cut short under the reader's hands, nor swapped for a link."""
    rewriting = """
    import os, pathlib, threading, time
    def spoil():
        while True:
            for path in pathlib.Path.cwd().parents[3].rglob("[0-9]*-????????/out/*"):
                try:
                    os.truncate(path, 0)
                except OSError:
                    pass
            pathlib.Path("spoilt").touch()
            time.sleep(0.001)
    answer = x * factor
    threading.Timer(0.5, spoil).start()
    return answer"""
    with workspace_with(checked, hand_in(checked, ("return x * factor", rewriting)), warm) as workspace:
        with workspace.one_worker():
            found = workspace.run({"scaled": (PLAIN,)})["scaled"]
            wait_until((workspace.workspace.folder / "spoilt").exists)
            again = workspace.run({"centred": (PLAIN,)})["centred"]
        assert found.values("plain")["output"].sum() == workspace.golds["scaled"].output.sum()
        assert again.first.failure is None or again.first.failure.kind in ("exit", "raised")


def test_an_interruption_ends_it(checked: CourseOnDisk, warm: ForkClient) -> None:
    class Enough(Exception):
        pass

    def tick() -> None:
        raise Enough

    with workspace_with(checked, hand_in(checked), warm) as workspace:
        with workspace.one_worker():
            workspace.run({"scaled": (PLAIN,)})
            workspace.watcher = Watcher(on_tick=tick)
            with pytest.raises(Enough):
                workspace.run({"centred": (PLAIN,)})
        workspace.watcher = Watcher()
        assert workspace.replay(["centred"], (PLAIN,))["centred"].first.failure is None
