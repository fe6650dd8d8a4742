"""Throw-away courses on disk, driven through the real command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from courses import CourseOnDisk, copy_of_example, numpy_course
from injecting import make_rich

pytest_plugins = ["pytester", "plugging"]

Make = Callable[..., CourseOnDisk]


@pytest.fixture
def course(tmp_path: Path) -> CourseOnDisk:
    """A course with one NumPy assignment, `hw1`, complete and without gold."""
    return numpy_course(tmp_path / "course")


@pytest.fixture
def example(tmp_path: Path) -> CourseOnDisk:
    """The bundled course, copied out."""
    return copy_of_example(tmp_path / "example")


@pytest.fixture
def rich(course: CourseOnDisk) -> CourseOnDisk:
    """A course in which a solution is hard to put in place."""
    return make_rich(course)
