"""A course with gold whose own tests are run by a real pytest, in this process."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.course import RECIPE_FILE, CourseOnDisk, numpy_course, recipe
from support.warm_workers import Lender

CASES = '''
    @gs.case
    def gold_output(case):
        """A straight line."""
        x = case.input("x", lambda: np.random.randn(3, 5))
        case.record("y", scale(x))


    @gs.case
    def negative(case):
        """Left of zero."""
        x = case.input("x", lambda: -np.abs(np.random.randn(4)) - 1)
        case.record("y", scale(x))


    @gs.case
    def nested(case):
        x = case.input("x", lambda: np.random.randn(2))
        case.record("parts", {"a.b": scale(x), "c": [scale(-x)]})
        case.record("label", "line")
'''
STUB = "src/assignments/hw1/ops.py"
RIGHT = "def scale(x):\n    return x * 2.0 + 1.0\n"
WRONG_LEFT_OF_ZERO = "def scale(x):\n    return abs(x) * 2.0 + 1.0 if (x < 0).all() else x * 2.0 + 1.0\n"
EACH_CASE = """
    import pytest

    @pytest.mark.gold("hw1")
    def test_case(gold_case):
        gold_case.assert_agrees()
"""

NEEDS_GOLD = (
    EACH_CASE
    + """
    @pytest.mark.gold("hw1")
    def test_marked():
        pass

    @pytest.mark.xfail
    def test_in_the_body(gold):
        gold("hw1").output
"""
)
LEAN = [word for plugin in ("cacheprovider", "hypothesispytest", "datadir") for word in ("-p", f"no:{plugin}")]


@dataclass(frozen=True)
class PluggedCourse(CourseOnDisk):
    pytester: pytest.Pytester

    def pytest(self, tests: str, *arguments: str) -> pytest.RunResult:
        """What pytest makes of `tests`, as a file among the internal ones."""
        self.write({"tests/internal/test_it.py": tests})
        return self.pytester.runpytest_inprocess(*LEAN, "-rA", *arguments)


@pytest.fixture(scope="session")
def finished_course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    course = numpy_course(tmp_path_factory.mktemp("finished") / "course")
    course.write({RECIPE_FILE: recipe(CASES), "goldsmith.toml": "calibrate = false\n"})
    return course.with_gold().root


@pytest.fixture(scope="session")
def lender() -> Lender:
    """Fork servers for the pytests that run in this process, which would each start some."""
    return Lender()


@pytest.fixture
def plugged(
    imported: None,
    lender: Lender,
    pytester: pytest.Pytester,
    finished_course: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> PluggedCourse:
    """A NumPy course of three cases with fresh gold, and pytest as strict as it can be."""
    lender.renew()
    lender.lend_workers(monkeypatch.setattr)
    shutil.copytree(finished_course, pytester.path, dirs_exist_ok=True)
    shutil.rmtree(pytester.path / ".goldsmith", ignore_errors=True)
    course = PluggedCourse(pytester.path, pytester)
    course.write({"pytest.ini": "[pytest]\naddopts = --strict-markers --strict-config\n"})
    return course


def failures(result: pytest.RunResult) -> list[str]:
    """The lines that pytest marks as what went wrong."""
    return [line[1:].strip() for line in result.outlines if line.startswith("E  ")]


def arrays(files: dict[str, bytes]) -> dict[str, bytes]:
    return {name: data for name, data in files.items() if name.endswith(".npz")}
