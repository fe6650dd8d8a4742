"""`goldsmith calibrate`: a ruler for another setting, measured on the solution, and `check` by it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from goldsmith.gold.manifest import read_manifest
from support.calibration_course import calibrated
from support.course import CourseOnDisk, starter_of

pytestmark = pytest.mark.torch
SOLUTION = """import torch


def scale(x):
    a, b = x.unbind()
    return torch.softmax(a @ b.transpose(-1, -2), -1) @ b


def cancel(x):
    return (x * x + 900) - 900
"""
BODY = """
    @gs.case
    def gold_output(case):
        x = case.input("x", lambda: torch.randn(2, 24, 16))
        case.record("y", scale(x))


    @gs.case
    def cancelled(case):
        case.record("y", cancel(case.input("x", lambda: torch.randn(7, 5))))
"""


@pytest.fixture
def made(course: CourseOnDisk) -> CourseOnDisk:
    course.write({"src/assignments/hw1/ops.py": starter_of(SOLUTION)})
    calibrated(course, BODY, "import torch\nfrom ops import cancel", SOLUTION)
    return course


def test_a_ruler_is_measured_once_and_used_in_its_setting(made: CourseOnDisk, tmp_path: Path) -> None:
    before = made.gold_bytes()
    (tmp_path / "ops.py").write_text(SOLUTION)
    there = ("--dtype", "bfloat16", "--case", "gold_output")

    none = made.run("check", "hw1", str(tmp_path / "ops.py"), *there)
    assert none.code == 3
    assert "measure one with `goldsmith calibrate hw1 --dtype bfloat16`" in " ".join(none.err.split())
    assert made.run("calibrate", "hw1").code == 2, "gold's own tolerances are for the plain setting"

    run = made.run("calibrate", "hw1", "--dtype", "bfloat16", "--json")
    assert run.code == 0, run.out + run.err
    (found,) = run.json["assignments"]
    assert (found["outcome"], found["setting"], found["tensors"]) == ("published", "cpu bfloat16", 2)
    assert list(found["unjudged"]) == ["cancelled: output.y"]
    after = made.gold_bytes()
    changed = {name for name in after if after[name] != before.get(name)}
    assert {Path(name).name for name in changed} == {"manifest.json", "README.md"}
    (ruler,) = read_manifest(made.gold()).rulers
    assert 0.002 < (ruler.cases["gold_output"]["output"].l2 or 0) < 0.1

    again = made.run("calibrate", "hw1", "--dtype", "bfloat16", "--json")
    assert again.json["assignments"][0]["outcome"] == "unchanged"
    forced = made.run("calibrate", "hw1", "--dtype", "bfloat16", "--force")
    assert forced.code == 0
    assert made.gold_bytes() == after, "measured again, it is the same"
    step = re.findall(r"^Next: goldsmith (.+)$", forced.out, re.M)[-1]
    assert made.run(*shlex.split(step)).code == 3, "the tree has the starter, which cannot run"

    assert made.run("check", "hw1", str(tmp_path / "ops.py"), *there).code == 0
    only_there = SOLUTION.replace("a, b =", "assert x.dtype == torch.bfloat16\n    a, b =")
    (tmp_path / "ops.py").write_text(only_there)
    own = made.run("check", "hw1", str(tmp_path / "ops.py"), *there)
    assert own.code == 0, own.out
    (tmp_path / "ops.py").write_text(only_there.replace("x.unbind()", "(1.2 * x).unbind()"))
    wrong = made.run("check", "hw1", str(tmp_path / "ops.py"), *there, "--json")
    assert wrong.code == 1
    (case,) = wrong.json["submissions"][0]["cases"]
    assert "times the limit in cpu bfloat16, where the solution itself is off by" in case["reason"]


def test_stale_gold_is_not_measured_and_the_way_out_is_one_that_there_is(made: CourseOnDisk) -> None:
    made.write({"private/solutions/hw1/ops_solution.py": SOLUTION.replace("900", "800")})
    run = made.run("calibrate", "hw1", "--dtype", "bfloat16")
    said = " ".join(run.err.split())
    assert (run.code, "regenerate it with `goldsmith generate hw1`, then measure." in said) == (3, True), said


def test_what_cannot_be_told_apart_there_is_inconclusive(made: CourseOnDisk, tmp_path: Path) -> None:
    assert made.run("calibrate", "hw1", "--dtype", "bfloat16").code == 0
    (tmp_path / "ops.py").write_text(
        SOLUTION.replace("return (x", "assert x.dtype == torch.bfloat16\n    return (0 * x")
    )
    run = made.run("check", "hw1", str(tmp_path / "ops.py"), "--dtype", "bfloat16", "--case", "cancelled", "--json")
    (found,) = run.json["submissions"]
    assert (run.code, found["outcome"]) == (3, "inconclusive"), run.out


@pytest.mark.parametrize(("instead", "outcome"), [("(x * x + 900) - 900", "agrees"), ("0 * x", "differs")])
def test_what_a_ruler_says_nothing_about_float64_decides(
    course: CourseOnDisk, tmp_path: Path, instead: str, outcome: str
) -> None:
    course.write({"src/assignments/hw1/ops.py": starter_of(SOLUTION)})
    body = BODY.replace("case.record", 'case.record("n", 35)\n        case.record')
    calibrated(course, body, "import torch\nfrom ops import cancel", SOLUTION)
    assert course.run("calibrate", "hw1", "--dtype", "bfloat16").code == 0
    (tmp_path / "ops.py").write_text(SOLUTION.replace("(x * x + 900) - 900", instead))
    asked = ("--dtype", "bfloat16", "--case", "cancelled", "--json")
    (found,) = course.run("check", "hw1", str(tmp_path / "ops.py"), *asked).json["submissions"]
    assert (found["outcome"], found["cases"][0]["judged_in"]) == (outcome, "float64")


@pytest.mark.parametrize(
    ("factor", "whole", "outcome"), [("1.0", "1.0", "agrees"), ("1.2", "1.0", "differs"), ("1.0", "1.02", "differs")]
)
def test_what_rounds_inside_out_of_sight_is_judged_by_the_ruler(
    made: CourseOnDisk, tmp_path: Path, factor: str, whole: str, outcome: str
) -> None:
    """As a kernel may that is handed float64: by NumPy, which torch does not watch."""
    assert made.run("calibrate", "hw1", "--dtype", "bfloat16").code == 0
    rounded = """scores = {factor} * (a @ b.transpose(-1, -2))
    if scores.dtype == torch.float64:
        bits = scores.numpy().astype("float32").view("uint32")
        scores = ((bits + 0x8000) & 0xFFFF0000).astype("uint32").view("float32").astype("float64")
        scores = torch.from_numpy(scores)
    return {whole} * (torch.softmax(scores, -1) @ b)"""
    right = "return torch.softmax(a @ b.transpose(-1, -2), -1) @ b"
    assert right in SOLUTION
    (tmp_path / "ops.py").write_text(SOLUTION.replace(right, rounded.format(factor=factor, whole=whole)))
    asked = ("--dtype", "bfloat16", "--case", "gold_output", "--json")
    (found,) = made.run("check", "hw1", str(tmp_path / "ops.py"), *asked).json["submissions"]
    assert found["outcome"] == outcome, found["cases"][0]
    assert ("rounds to bfloat16 inside" in " ".join(found["cases"][0]["notes"])) == (outcome == "agrees")


def test_rigor_counts_what_a_ruler_lets_through(made: CourseOnDisk) -> None:
    none = made.run("rigor", "hw1", "--ruler", "cpu bfloat16", "--max", "3", "--variants", "0")
    assert none.code == 3
    assert "goldsmith calibrate hw1 --dtype bfloat16" in " ".join((none.out + none.err).split())
    assert made.run("calibrate", "hw1", "--dtype", "bfloat16").code == 0
    run = made.run("rigor", "hw1", "--ruler", "cpu bfloat16", "--max", "3", "--variants", "0", "--json")
    assert run.code == 0, run.out + run.err
    outcomes = [item["outcome"] for item in run.json["mutants"]]
    assert len(outcomes) == 3
    assert "killed" in outcomes
    assert made.run("rigor", "hw1", "--ruler", "tf32 cuda").code == 2
