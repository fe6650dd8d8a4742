"""The method is named, not only its class; where one of several may be wrong, all of them, the likeliest first."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldsmith.courses.grade.feedback import feedback_markdown
from goldsmith.courses.grade.grades import grade
from goldsmith.process.fork_client import ForkClient
from support.check_course import judge
from support.course import CourseOnDisk, exercise, numpy_course
from support.made_verdicts import make_rubric_of

SOLUTION = """\
import numpy as np


class Meter:
    def __init__(self):
        self.total, self.count = 0.0, 0

    def add(self, x):
        self.total = self.total + x.sum(axis=0)
        self.count += len(x)

    def mean(self):
        return self.total / self.count

    def half(self, x):
        return x / 2


def spread(meter, x):
    meter.add(x)
    return x - meter.mean()
"""
RECIPE = """\
import numpy as np

import goldsmith as gs
from ops import Meter, spread


@gs.case
def halved(case):
    case.record("y", Meter().half(case.input("x", lambda: np.random.randn(4, 7))))


@gs.case
def spreading(case):
    meter = Meter()
    batches = case.input("batches", lambda: [np.random.randn(size, 7) for size in (4, 5)])
    case.record("spread", [spread(meter, x) for x in batches])
"""


@pytest.fixture(scope="module")
def metered(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    course = numpy_course(tmp_path_factory.mktemp("methods") / "course")
    return course.write(exercise(SOLUTION, RECIPE, "__init__")).with_gold()


def feedback(course: CourseOnDisk, folder: Path, warm: ForkClient, old: str, new: str) -> list[str]:
    assert SOLUTION.count(old) == 1
    (folder / "ops.py").write_text(SOLUTION.replace(old, new))
    found = judge(course, str(folder), warm)
    return feedback_markdown(grade(found, make_rubric_of(found)), found).splitlines()


def test_a_method_that_was_seen_to_be_wrong_is_named(metered: CourseOnDisk, tmp_path: Path, warm: ForkClient) -> None:
    lines = feedback(metered, tmp_path, warm, "return x / 2", "return x / 3")
    assert lines[2] == ("**Next step.** Look at `Meter.half`, in `ops.py`, line 15: it is the only part that is wrong.")


def test_where_only_the_class_is_known_its_methods_are_named(
    metered: CourseOnDisk, tmp_path: Path, warm: ForkClient
) -> None:
    """`mean` returns something wrong because of what `add` has left behind."""
    lines = feedback(metered, tmp_path, warm, "self.count += len(x)", "self.count = len(x)")
    assert lines[2].startswith("**Next step.** Look at `Meter.mean` or `Meter.add`, in `ops.py`, line 4: ")
    assert "- Meter (`ops.py`, line 4) is wrong, in mean or add" in lines
    assert "- with Meter as in the solution this case agrees, so the rest of it is right" in lines
    assert any(line.startswith("- item 1 of the output is off by ") for line in lines)
