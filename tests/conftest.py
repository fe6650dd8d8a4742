"""Throw-away courses on disk, driven through the real command line."""

from __future__ import annotations

import compileall
import gc
import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import goldsmith
from goldsmith.process.fork_client import ForkClient, fork_server
from support import course as courses
from support.check_course import checked_course
from support.course import CourseOnDisk, copy_of_example, numpy_course
from support.injection_course import make_rich

pytest_plugins = [
    "pytester",
    "support.browser",
    "support.pytest_course",
    "support.pytest_values",
    "support.xdist_groups",
]

Make = Callable[..., CourseOnDisk]

_GIT_COMPRESSES_NOTHING = {
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "core.compression",
    "GIT_CONFIG_VALUE_0": "0",
}
"""Two thirds of the time that the bundled course takes to be committed."""


def pytest_configure(config: pytest.Config) -> None:
    """Compile goldsmith, and what tests start, once. An interpreter that writes no bytecode, as those of recipes and
    submissions do not, compiles all that it imports, and what only those import is compiled each time: half of what a
    command takes."""
    if "GIT_CONFIG_COUNT" not in os.environ:
        os.environ |= _GIT_COMPRESSES_NOTHING
    if not hasattr(config, "workerinput"):
        for folder in (Path(goldsmith.__file__).parent, Path(__file__).parent / "support"):
            compileall.compile_dir(folder, quiet=2)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Keep the bytecode of the tests even where Python is told to write none: rewriting their assertions takes each
    worker most of the time that it needs to collect them."""
    told, sys.dont_write_bytecode = sys.dont_write_bytecode, False
    try:
        return (yield)
    finally:
        sys.dont_write_bytecode = told


def pytest_collection_finish() -> None:
    """Keep the garbage collector away from what has been collected, which stays until the end."""
    gc.freeze()
    gc.set_threshold(20_000)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Iterator[object]:
    """Undo what torch adds to the environment as soon as a test makes an optimiser. Commands fork their workers only
    from servers that were started in the same environment (`warm_workers.py`), and share gold only there: else every
    command of every test that follows starts new interpreters, which takes three times as long."""
    name = "TORCHINDUCTOR_CACHE_DIR"
    before = os.environ.get(name)
    try:
        return (yield)
    finally:
        if before is None:
            os.environ.pop(name, None)


@pytest.fixture(scope="session", autouse=True)
def shelf(tmp_path_factory: pytest.TempPathFactory) -> None:
    """One for all workers: their own folders lie in one."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "courses-with-gold"
    folder.mkdir(exist_ok=True)
    courses.SHELF[:] = [folder]


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


@pytest.fixture
def no_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for no disk: what a killed process has written is there for the next one, synced or not."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture(scope="session")
def warm_with_torch() -> Iterator[ForkClient]:
    """A warm process that has imported torch, which takes seconds."""
    with fork_server(preload=["torch"]) as process:
        yield process


@pytest.fixture(scope="module")
def warm(request: pytest.FixtureRequest) -> Iterator[ForkClient]:
    """A warm process for checks: of NumPy courses, or of torch courses in files that are marked so."""
    if request.node.get_closest_marker("torch"):
        yield request.getfixturevalue("warm_with_torch")
        return
    with fork_server() as process:
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
