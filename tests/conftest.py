"""Throw-away courses on disk, driven through the real command line."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from checking import checked_course
from courses import CourseOnDisk, copy_of_example, numpy_course
from goldsmith.process.fork_client import ForkServer, fork_server
from injecting import make_rich

pytest_plugins = ["pytester", "plugging", "spreading"]

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


@pytest.fixture(scope="module")
def warm() -> Iterator[ForkServer]:
    """A warm process without torch, for checks of NumPy courses."""
    with fork_server(torch=False) as process:
        yield process


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    """A course with gold to check against. One for all tests of a file: a check writes nothing into it."""
    return checked_course(tmp_path_factory.mktemp("check") / "course")


@pytest.fixture(scope="session")
def without_torch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a real environment with every package of this one but torch."""
    folder = tmp_path_factory.mktemp("no-torch") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    site = next(folder.glob("lib/python*/site-packages"))
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if not entry.name.startswith(("torch", "functorch")):
            (site / entry.name).symlink_to(entry)
    return folder / "bin/python"
