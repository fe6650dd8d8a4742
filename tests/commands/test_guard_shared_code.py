"""Code that the starter shows is evidence of nothing to the guard; a leaked starter shows nothing."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from goldsmith.courses.guard.leaks import leaks_in
from goldsmith.courses.guard.scan import guarded_by
from goldsmith.courses.layout.layout import find_course
from support.course import CourseOnDisk, numpy_course

GIVEN = """
    import numpy as np


    def resample(signal, times, rate):
        grid = np.arange(times[0], times[-1], 1.0 / rate)
        left = np.clip(np.searchsorted(times, grid, side="right") - 1, 0, len(times) - 2)
        share = (grid - times[left]) / (times[left + 1] - times[left])
        return (1.0 - share) * signal[left] + share * signal[left + 1]


    def smooth(signal, times, rate, width):
        grid = np.arange(times[0], times[-1], 1.0 / rate)
        left = np.clip(np.searchsorted(times, grid, side="right") - 1, 0, len(times) - 2)
        share = (grid - times[left]) / (times[left + 1] - times[left])
        even = (1.0 - share) * signal[left] + share * signal[left + 1]
        if even.ndim > 1 and even.shape[0] < even.shape[-1]:
            even = even.reshape(even.shape[0], -1).sum(axis=-1) / max(1, even.size // even.shape[0])
        outside = [index for index, time in enumerate(grid) if not times.min() <= time < times.max()]
        even[outside] = signal.mean(axis=0) if len(outside) > len(grid) // 2 else signal[-1]
        {}
        return {}


    def peaks(signal, height):
        {}
"""
ANSWERS = (
    "even = np.convolve(even, np.exp(-0.5 * (np.arange(-width, width + 1) / width) ** 2), mode='same')",
    "even / np.abs(even).max() if np.abs(even).max() > 0 else even - even.mean()",
    "return [n for n in range(1, len(signal) - 1) if signal[n - 1] < signal[n] >= signal[n + 1] and signal[n] > height"
    " and abs(signal[n] - signal[n - 1]) > 1e-9]",
)
STARTER = GIVEN.format("# TODO: weigh the neighbours", "even", "raise NotImplementedError")
SOLUTION = GIVEN.format(*ANSWERS)
ATTEMPT = GIVEN.format(
    "for n in range(width, len(even) - width): even[n] = sum(even[n - width : n + width + 1]) / (2 * width + 1)",
    "even",
    "raise NotImplementedError",
)


@pytest.fixture
def course(tmp_path: Path) -> CourseOnDisk:
    made = numpy_course(tmp_path / "course")
    made.write({"src/assignments/hw1/ops.py": STARTER, "private/solutions/hw1/ops_solution.py": SOLUTION})
    return made


def findings(course: CourseOnDisk, text: str, file: str = "handout/ops.py") -> set[str]:
    guarded = guarded_by(find_course(course.root), everything_public=False)
    return {item.part for item in leaks_in(file, textwrap.dedent(text).encode(), guarded) if item.kind == "solution"}


def test_the_guard_finds_the_solution_and_not_the_starter_in_it(course: CourseOnDisk) -> None:
    assert findings(course, STARTER) == set()
    assert findings(course, ATTEMPT) == set()
    assert findings(course, SOLUTION) == {"ops.smooth", "ops.peaks"}


def test_a_starter_that_has_leaked_hides_nothing(course: CourseOnDisk) -> None:
    course.git("init", "-q", "-b", "main")
    course.git("add", "-A")
    course.git("commit", "-qm", "the course")
    course.write({"src/assignments/hw1/ops.py": SOLUTION})
    assert findings(course, SOLUTION, "src/assignments/hw1/ops.py") == {"ops.smooth", "ops.peaks"}
    pasted = STARTER + "\n\n    def old_peaks(signal, height):\n        " + ANSWERS[2]
    course.write({"src/assignments/hw1/ops.py": pasted})
    assert findings(course, pasted, "src/assignments/hw1/ops.py") == {"ops.peaks"}


def test_what_a_later_assignment_gives_as_a_whole_file_is_no_leak_of_an_earlier_one(course: CourseOnDisk) -> None:
    course.write({"src/assignments/hw2/ops.py": SOLUTION, "src/assignments/hw2/next.py": "def f(x): ..."})
    course.write({"private/solutions/hw2/next.py": "def f(x): return x * 2"})
    assert findings(course, SOLUTION, "src/assignments/hw2/ops.py") == set()
    assert findings(course, SOLUTION, "src/assignments/hw2/hints.py") == {"ops.smooth", "ops.peaks"}


def test_what_an_earlier_assignment_gives_as_a_whole_file_is_a_leak_of_a_later_one(course: CourseOnDisk) -> None:
    course.write({"src/assignments/hw0/ops.py": SOLUTION})
    assert findings(course, SOLUTION, "src/assignments/hw0/ops.py") == {"ops.smooth", "ops.peaks"}
