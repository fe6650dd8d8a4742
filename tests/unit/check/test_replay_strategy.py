"""No case agrees because of one run, and none differs because of what another run has left behind."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from goldsmith.judge.verdicts import Verdict
from goldsmith.process.fork_client import ForkClient
from support.check_course import judge, outcomes
from support.course import CourseOnDisk, exercise, numpy_course

SOLUTION = """
    import numpy as np


    def grow(x):
        return np.exp(x) * 3


    def largest(x):
        return x.argmax(axis=-1)


    def count(x):
        return int((x > 0).sum())
"""
RECIPE = """
    import numpy as np

    import goldsmith as gs
    from ops import count, grow, largest


    @gs.case
    def grown(case):
        case.record("y", grow(case.input("x", lambda: np.random.randn(3, 5).astype("float32"))))


    @gs.case
    def both(case):
        x = case.input("x", lambda: np.random.randn(4, 5).astype("float32"))
        case.record("y", grow(x))
        case.record("at", largest(x))


    @gs.case
    def counted(case):
        case.record("n", count(case.input("x", lambda: np.random.randn(3, 5).astype("float32"))))
"""
NEARLY = "* x.dtype.type(3 * (1 + 1.2e-7 * (x.dtype == np.float32)))"
"""Off in the last bit, and right in float64."""


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    made = numpy_course(tmp_path_factory.mktemp("hearing") / "course")
    made.write(exercise(SOLUTION, RECIPE))
    assert made.run("generate", "hw1", calibrate=True).code == 0
    return made


def heard(
    course: CourseOnDisk, warm: ForkClient, folder: Path, *changes: tuple[str, str], case_timeout: float = 20.0
) -> Verdict:
    source = textwrap.dedent(SOLUTION)
    for old, new in changes:
        source = source.replace(f"    return {old}\n", textwrap.indent(textwrap.dedent(new).strip() + "\n", "    "))
    (folder / "ops.py").write_text(source)
    return judge(course, str(folder), warm, case_timeout=case_timeout)


GROW, LARGEST, COUNT = "np.exp(x) * 3", "x.argmax(axis=-1)", "int((x > 0).sum())"
WORSE = """
    seen = globals().setdefault("seen", {{}})
    key = x.astype("float32").tobytes()
    seen[key] = seen.get(key, 0) + 1
    {}
    return np.exp(x) {} * x.dtype.type(1 if seen[key] == 1 else 2)
"""


def test_what_comes_near_and_is_right_in_float64_agrees(course: CourseOnDisk, warm: ForkClient, tmp_path: Path) -> None:
    found = heard(course, warm, tmp_path, (GROW, f"return np.exp(x) {NEARLY}"))
    assert outcomes(found) == {"grown": "agrees", "both": "agrees", "counted": "agrees"}
    assert found.case("grown").judged_in == "float64"


@pytest.mark.parametrize("float64", ["", "if x.dtype == np.float64: raise TypeError('float32 only')"])
def test_right_the_first_time_and_wrong_ever_after_is_wrong(
    course: CourseOnDisk, warm: ForkClient, tmp_path: Path, float64: str
) -> None:
    """Also where every other run is in a process of its own, in which it is the first."""
    found = heard(course, warm, tmp_path, (GROW, WORSE.format(float64, NEARLY)))
    assert (found.case("grown").outcome, found.case("grown").kind) == ("differs", "second-run")
    exact = heard(course, warm, tmp_path, (GROW, WORSE.format(float64, "* 3")))
    assert (exact.case("grown").outcome, exact.case("grown").kind) == ("differs", "second-run")


def test_what_float64_says_nothing_about_runs_twice_all_the_same(
    course: CourseOnDisk, warm: ForkClient, tmp_path: Path
) -> None:
    later = """
        globals()["times"] = globals().get("times", 0) + 1
        return x.argmax(axis=-1) if globals()["times"] == 1 else x.argmin(axis=-1)
    """
    found = heard(course, warm, tmp_path, (GROW, f"return np.exp(x) {NEARLY}"), (LARGEST, later))
    assert outcomes(found) == {"grown": "agrees", "both": "differs", "counted": "agrees"}


def test_what_failed_has_failed_although_it_works_when_it_is_watched(
    course: CourseOnDisk, warm: ForkClient, tmp_path: Path
) -> None:
    at_last = """
        start, globals()["start"] = globals().get("start"), 0
        return start + int((x > 0).sum())
    """
    found = heard(course, warm, tmp_path, (COUNT, at_last))
    assert outcomes(found) == {"grown": "agrees", "both": "agrees", "counted": "could-not-run"}


@pytest.mark.parametrize("off", [1e-6, 1e-5])
def test_a_table_kept_in_float32_is_no_mistake_in_float64(
    course: CourseOnDisk, warm: ForkClient, tmp_path: Path, off: float
) -> None:
    cached = f"""
        table = globals().setdefault("tables", {{}}).setdefault(x.shape, np.full(1, 1 / 3, x.dtype))
        if table.dtype != x.dtype:
            raise RuntimeError("expected both to have the same dtype, but got: double != float")
        return np.exp(x) * table * x.dtype.type(9 * (1 + {off} * (x.dtype == np.float32)))
    """
    found = heard(course, warm, tmp_path, (GROW, cached))
    assert outcomes(found) == {"grown": "agrees", "both": "agrees", "counted": "agrees"}
    assert "right in float64" in " ".join(found.case("grown").notes)


@pytest.mark.parametrize("ends", ["while True: pass", "import os; os._exit(0)", "import os; os.kill(os.getpid(), 9)"])
def test_a_part_is_not_right_that_does_not_come_back_from_one_of_its_cases(
    course: CourseOnDisk, warm: ForkClient, tmp_path: Path, ends: str
) -> None:
    sometimes = f"""
        if len(x) == 4:
            {ends}
        return np.exp(x) * 3
    """
    found = heard(course, warm, tmp_path, (GROW, sometimes), case_timeout=0.4)
    assert outcomes(found) == {"grown": "agrees", "both": "could-not-run", "counted": "agrees"}
    assert {part.name: part.outcome for part in found.parts}["grow"] == "could-not-run"
