"""Gold that is finer than its dtype, coarser, or wrong in it: who computes as everybody does agrees with it."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from goldsmith.gold.load import load_gold
from goldsmith.judge.verdicts import Verdict
from goldsmith.process.fork_client import ForkClient
from support.check_course import judge, outcomes
from support.course import RECIPE_FILE, CourseOnDisk, exercise, numpy_course

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

SOLUTION = """
    import torch


    def tables(positions, size):
        steps = torch.arange(0, size, 2, dtype={dtype}) / size
        angles = positions.to({dtype})[:, None] * 10000.0 ** -steps
        return angles.cos().float(), angles.sin().float()


    def rotate(x, positions):
        cos, sin = tables(positions, x.shape[-1])
        one, two = x.chunk(2, dim=-1)
        return torch.cat([one * cos - two * sin, one * sin + two * cos], dim=-1)
"""
RECIPE = """
    import torch

    import goldsmith as gs
    from ops import rotate


    @gs.case
    def rotated(case):
        x = case.input("x", lambda: torch.randn(6, 8))
        positions = case.input("positions", lambda: torch.tensor([0, 1, 17, 400, 3000, 9000]))
        case.record("y", rotate(x, positions))
"""
FLOAT32, FLOAT64 = "torch.float32", "torch.float64"


@pytest.fixture(scope="module", params=[FLOAT64, pytest.param(FLOAT32, marks=pytest.mark.long)])
def course(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    made = numpy_course(tmp_path_factory.mktemp("finer") / "course")
    solution = textwrap.dedent(SOLUTION).format(dtype=request.param)
    made.write(exercise(solution, RECIPE))
    run = made.run("generate", "hw1", calibrate=True)
    assert run.code == 0, run.err
    return made


def heard(course: CourseOnDisk, warm: ForkClient, folder: Path, dtype: str, *change: str) -> Verdict:
    source = textwrap.dedent(SOLUTION).format(dtype=dtype).replace(*(change or ("", "")))
    (folder / "ops.py").write_text(source)
    return judge(course, str(folder), warm)


@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64])
def test_angles_are_right_in_float32_and_in_float64(
    course: CourseOnDisk, warm: ForkClient, tmp_path: Path, dtype: str
) -> None:
    found = heard(course, warm, tmp_path, dtype, "10000.0 ** -steps", "torch.exp(-steps * 9.210340371976184)")
    assert outcomes(found) == {"rotated": "agrees"}, found.cases


@pytest.mark.long
@pytest.mark.parametrize("change", [("10000.0", "10005.0"), ("positions.to", "(positions + 0.01).to")])
def test_other_angles_are_wrong(
    course: CourseOnDisk, warm: ForkClient, tmp_path: Path, change: tuple[str, str]
) -> None:
    assert outcomes(heard(course, warm, tmp_path, FLOAT32, *change)) == {"rotated": "differs"}


def test_what_float32_would_do_is_measured_where_the_solution_is_finer(course: CourseOnDisk) -> None:
    gold = load_gold(course.gold())
    (tolerance,) = [item.tolerance for item in gold["rotated"].entry.tensors if item.path == "output"]
    assert tolerance is not None
    assert tolerance.noise is not None
    assert 1e-5 < tolerance.noise.max < 1e-2
    finer = "float64" in (course.root / "private/solutions/hw1/ops_solution.py").read_text()
    assert tolerance.noise.worst.startswith("narrowed-") is finer


UNSTABLE = """
    import torch
    import goldsmith as gs
    from ops import spread

    @gs.case
    def spreads(case):
        x = case.input("x", lambda: torch.randn(4, 50) + 3000)
        case.record("shift", x.mean(1))
        case.record("spread", spread(x){})

    if __name__ == "__main__":
        gs.main()
"""
SPREAD = "def spread(x):\n    return (x * x).mean(1) - x.mean(1) ** 2\n"


@pytest.mark.long
def test_gold_that_is_far_from_its_own_float64_value_is_refused_by_name(tmp_path: Path) -> None:
    course = numpy_course(tmp_path / "course")
    files = {"src/assignments/hw1/ops.py": "def spread(x):\n    raise NotImplementedError\n"}
    course.write({**files, "private/solutions/hw1/ops_solution.py": SPREAD, RECIPE_FILE: UNSTABLE.format("")})
    run = course.run("generate", "hw1", calibrate=True)
    assert run.code == 3
    said = " ".join(run.out.split())
    assert "case spreads: output.spread is " in said
    assert "away from what the solution itself computes in float64" in said
    assert "output.shift" not in said
    assert not course.gold().exists()
    allowed = ', allow={"float64": "the textbook does it so"}'
    course.write({RECIPE_FILE: UNSTABLE.format(allowed)})
    assert course.run("generate", "hw1", calibrate=True).code == 0
