"""A function that nobody has written is one finding, in the same words everywhere, whatever its stub happens to do; and
"not started" is said of code that is as it was given, not of marks that were left in it."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

from goldsmith.courses.grade.feedback import feedback_markdown
from goldsmith.courses.grade.grader import rubric_for
from goldsmith.courses.grade.grades import grade
from goldsmith.courses.layout.layout import find_course
from goldsmith.judge import words
from goldsmith.judge.verdicts import Verdict
from goldsmith.process.fork_client import ForkClient
from support.check_course import judge
from support.course import CourseOnDisk, exercise, numpy_course

SOLUTION = '''
    """Exercise: smooth signals, in place and not."""

    import numpy as np


    def shrink(x, rate):
        """In place."""
        # YOUR CODE HERE
        x *= 1 - rate


    def smooth(x):
        # YOUR CODE HERE
        return (x + np.roll(x, 1)) / 2


    class Mixer:
        def __init__(self, size):
            # YOUR CODE HERE
            self.weight = np.random.randn(size)

        def mix(self, x):
            # YOUR CODE HERE
            y = smooth(x) * self.weight
            shrink(y, 0.3)
            return y
'''
BODIES = {
    "shrink": "x *= 1 - rate",
    "smooth": "return (x + np.roll(x, 1)) / 2",
    "Mixer.__init__": "self.weight = np.random.randn(size)",
    "Mixer.mix": "y = smooth(x) * self.weight\n        shrink(y, 0.3)\n        return y",
}
RECIPE = """
    import numpy as np

    import goldsmith as gs
    from ops import Mixer, shrink, smooth


    @gs.case
    def shrunk(case):
        x = case.input("x", lambda: np.random.rand(11))
        shrink(x, 0.2)
        case.record("x", x)


    @gs.case
    def smoothed(case):
        case.record("y", smooth(case.input("x", lambda: np.random.rand(13))))


    @gs.case
    def whole(case):
        mixer = case.model(Mixer, 7)
        case.record("y", mixer.mix(case.input("x", lambda: np.random.rand(7))))
"""


def long(value: object) -> Any:
    return pytest.param(value, marks=pytest.mark.long)


def starter() -> str:
    text = textwrap.dedent(SOLUTION)
    for body in BODIES.values():
        assert body in text, body
        text = text.replace(body, "raise NotImplementedError")
    return text


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    found = numpy_course(tmp_path_factory.mktemp("unwritten"))
    return found.write(exercise(SOLUTION, RECIPE, starter=starter())).with_gold()


def judged(course: CourseOnDisk, warm: ForkClient, source: str) -> tuple[Verdict, str]:
    folder = course.root.parent / "submissions" / "ada"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "ops.py").write_text(source)
    verdict = judge(course, str(folder), warm)
    made = grade(verdict, rubric_for(find_course(course.root).assignment("hw1"), allow_stale=False))
    return verdict, feedback_markdown(made, verdict, verbose=True)


def without(*names: str, body: str = "pass") -> str:
    text = textwrap.dedent(SOLUTION)
    for name in names:
        text = text.replace(BODIES[name], body)
    return text


@pytest.mark.parametrize(
    "body", ["pass", *map(long, ["return None", "...", '"""Later."""', "raise NotImplementedError"])]
)
@pytest.mark.parametrize(
    ("name", "cases"),
    [
        ("shrink", ["shrunk", "whole"]),
        ("smooth", ["smoothed", "whole"]),
        ("Mixer.__init__", ["whole"]),
        ("Mixer.mix", ["whole"]),
    ],
)
def test_one_unwritten_function_is_one_finding(
    course: CourseOnDisk, warm: ForkClient, name: str, cases: list[str], body: str
) -> None:
    verdict, feedback = judged(course, warm, without(name, body=body))
    wrong = {case.name: (case.outcome, case.kind, case.reason) for case in verdict.cases if case.outcome != "agrees"}
    assert wrong == dict.fromkeys(cases, ("could-not-run", "stub", f"{name} is not written yet"))
    assert words.headline(verdict) == f"{len(cases)} of 3 cases could not run: {name} is not written yet"
    assert (verdict.outcome, verdict.first_part) == ("could-not-run", name.partition(".")[0])
    parts = {part.name for part in verdict.parts if part.outcome == "agrees"}
    assert parts == {"shrink", "smooth", "Mixer"} - {name.partition(".")[0]}
    assert "missing" not in feedback
    assert "NoneType" not in feedback


def test_marks_that_were_left_say_nothing_and_hide_nothing(course: CourseOnDisk, warm: ForkClient) -> None:
    verdict, _ = judged(course, warm, without("smooth", "shrink", "Mixer.mix", body="raise ValueError('too short')"))
    assert not verdict.not_started
    assert verdict.unwritten == ()
    assert "ValueError: too short" in words.headline(verdict)
    verdict, _ = judged(course, warm, textwrap.dedent(SOLUTION))
    assert (verdict.outcome, verdict.not_started, verdict.unwritten) == ("agrees", False, ())


@pytest.mark.parametrize(
    "change", [long(("# YOUR CODE HERE", "# tomorrow")), ("raise NotImplementedError", "pass"), long(("", ""))]
)
def test_not_started_is_said_of_code_that_is_as_it_was_given(
    course: CourseOnDisk, warm: ForkClient, change: tuple[str, str]
) -> None:
    verdict, feedback = judged(course, warm, starter().replace(*change))
    assert verdict.not_started
    assert words.headline(verdict) == "not started: what is left to write is as it was given"
    assert "Not started yet: start with" in feedback


def test_not_started_hides_nothing_that_is_wrong_besides(course: CourseOnDisk, warm: ForkClient) -> None:
    verdict, feedback = judged(course, warm, f"import numby\n{starter()}")
    assert verdict.not_started
    assert words.headline(verdict).startswith(
        "not started: what is left to write is as it was given; no case could run"
    )
    assert "No module named 'numby'" in feedback


def test_what_is_wrong_elsewhere_is_still_told(course: CourseOnDisk, warm: ForkClient) -> None:
    verdict, _ = judged(course, warm, without("shrink").replace("(x + np.roll(x, 1)) / 2", "(x + np.roll(x, 1)) / 3"))
    assert (verdict.outcome, verdict.first_part, verdict.unwritten) == ("differs", "smooth", ("shrink",))
    outcomes = {part.name: part.outcome for part in verdict.parts}
    assert outcomes == {"smooth": "differs", "shrink": "could-not-run", "Mixer": "agrees"}
    assert {case.name: case.outcome for case in verdict.cases} == {
        "shrunk": "could-not-run",
        "smoothed": "differs",
        "whole": "differs",
    }
