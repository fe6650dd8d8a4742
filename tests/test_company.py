"""A child asked for one run after another: it stays, it may die, and what was taken from it is out of its reach."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

import numpy as np
import pytest

from checking import hand_in
from courses import CourseOnDisk
from goldsmith.check.check import Checking, Opened, Request
from goldsmith.check.replay_workspace import ReplayWorkspace
from goldsmith.check.submissions import open_submission
from goldsmith.course.layout import find_course
from goldsmith.generate.options import Options
from goldsmith.process.fork_client import ForkServer
from goldsmith.process.launcher import Watcher

CASES = ("centred", "scaled", "counted")


@contextlib.contextmanager
def stage_with(course: CourseOnDisk, what: str, warm: ForkServer) -> Iterator[ReplayWorkspace]:
    assignment = find_course(course.root).assignment("hw1")
    request = Request(options=Options(seed=42, threads=1, timeout=60), each=5.0, warm=warm)
    with open_submission(assignment, what) as submission:
        checking = Checking(assignment, Opened.of(assignment, submission, request), request, warm)
        with checking.stage(submission.placed) as stage:
            yield stage


def test_one_child_does_all_that_it_is_asked_for(checked: CourseOnDisk, warm: ForkServer) -> None:
    noting = "import os\nopen('numbers', 'a').write(f'{os.getpid()}\\n')\nreturn x * factor"
    with stage_with(checked, hand_in(checked, ("return x * factor", noting)), warm) as stage:
        numbers = stage.workspace.folder / "numbers"
        with stage.company() as company:
            first = company.replay(dict.fromkeys(CASES, ("once",)))
            second = company.replay({"scaled": ("again", "traced")})
        assert len(set(numbers.read_text().split())) == 1
        stage.replay(["scaled"], ("once",))
        assert len(set(numbers.read_text().split())) == 2
    assert list(first) == list(CASES)
    assert list(second["scaled"].attempts) == ["again", "traced"]
    assert np.array_equal(second["scaled"].leaves("again")["output"], first["scaled"].leaves("once")["output"])


def test_one_that_dies_when_it_is_asked_again_costs_one_case(checked: CourseOnDisk, warm: ForkServer) -> None:
    dying = """
    import os, sys
    if hasattr(sys, "scaled_before"):
        os._exit(3)
    sys.scaled_before = True
    return x * factor"""
    with stage_with(checked, hand_in(checked, ("return x * factor", dying)), warm) as stage, stage.company() as company:
        first = company.replay(dict.fromkeys(CASES, ("once",)))
        second = company.replay(dict.fromkeys(CASES, ("again",)))
        third = company.replay({"scaled": ("once",)})
    assert all(item.once.failure is None for item in (*first.values(), *third.values()))
    failures = {name: item.attempts["again"].failure for name, item in second.items()}
    assert failures["centred"] is None
    assert failures["counted"] is None
    assert failures["scaled"] is not None
    assert (failures["scaled"].kind, failures["scaled"].case) == ("exit", "scaled")


def test_one_that_was_gone_before_it_was_asked_costs_nothing(checked: CourseOnDisk, warm: ForkServer) -> None:
    leaving = "import os, threading\nthreading.Timer(0.3, os._exit, [3]).start()\nreturn x * factor"
    with (
        stage_with(checked, hand_in(checked, ("return x * factor", leaving)), warm) as stage,
        stage.company() as company,
    ):
        company.replay({"scaled": ("once",)})
        time.sleep(0.8)
        found = company.replay(dict.fromkeys(CASES, ("once",)))
    assert [item.once.failure for item in found.values()] == [None] * 3


def test_what_it_says_to_have_answered_unasked_is_not_believed(checked: CourseOnDisk, warm: ForkServer) -> None:
    early = """
    import pathlib
    for path in pathlib.Path.cwd().parents[3].glob("scratch/[0-9]*-????????/events.jsonl"):
        for number in (3, 2, 99):
            path.open("a").write('{"case": "", "number": %d, "of": 1}\\n' % number)
    return x * factor"""
    with stage_with(checked, hand_in(checked, ("return x * factor", early)), warm) as stage, stage.company() as company:
        first = company.replay(dict.fromkeys(CASES, ("once",)))
        second = company.replay(dict.fromkeys(CASES, ("again",)))
    assert [item.once.failure for item in first.values()] == [None] * 3
    assert [item.attempts["again"].failure for item in second.values()] == [None] * 3


def test_one_that_takes_too_long_when_it_is_asked_again_is_ended(checked: CourseOnDisk, warm: ForkServer) -> None:
    slow = """
    import sys, time
    time.sleep(30 if hasattr(sys, "scaled_before") else 0)
    sys.scaled_before = True
    return x * factor"""
    with stage_with(checked, hand_in(checked, ("return x * factor", slow)), warm) as stage, stage.company() as company:
        stage.each = 1.0
        company.replay({"scaled": ("once",)})
        time.sleep(1.5)  # nobody asks: that is no time of its own
        second = company.replay({"scaled": ("again",), "centred": ("again",)})
    assert second["scaled"].attempts["again"].failure is not None
    assert second["scaled"].attempts["again"].failure.kind == "timeout"
    assert second["centred"].attempts["again"].failure is None


def test_what_was_taken_from_it_is_out_of_its_reach(checked: CourseOnDisk, warm: ForkServer) -> None:
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
            time.sleep(0.001)
    answer = x * factor
    threading.Timer(0.5, spoil).start()
    return answer"""
    with stage_with(checked, hand_in(checked, ("return x * factor", rewriting)), warm) as stage:
        with stage.company() as company:
            found = company.replay({"scaled": ("once",)})["scaled"]
            time.sleep(1.0)
            again = company.replay({"centred": ("once",)})["centred"]
        assert found.leaves("once")["output"].sum() == stage.golds["scaled"].output.sum()
        assert again.once.failure is None or again.once.failure.kind in ("exit", "raised")


def test_an_interruption_ends_it(checked: CourseOnDisk, warm: ForkServer) -> None:
    class Enough(Exception):
        pass

    def tick() -> None:
        raise Enough

    with stage_with(checked, hand_in(checked), warm) as stage:
        with stage.company() as company:
            company.replay({"scaled": ("once",)})
            stage.watcher = Watcher(on_tick=tick)
            with pytest.raises(Enough):
                company.replay({"centred": ("once",)})
        stage.watcher = Watcher()
        assert stage.replay(["centred"], ("once",))["centred"].once.failure is None
