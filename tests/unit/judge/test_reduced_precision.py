"""What is computed in a coarser dtype than the case's own is judged in the case's own, and told."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from goldsmith.judge.verdicts import Verdict
from goldsmith.process.fork_client import ForkClient
from support.check_course import judge, outcomes
from support.course import CourseOnDisk, exercise, numpy_course

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

SOLUTION = """
    import torch
    from torch import nn


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(6, 4)

        def forward(self, x):
            return torch.tanh(self.inner(x))


    def halve(x):
        return torch.sin(x) / 2
"""
RECIPE = """
    import torch

    import goldsmith as gs
    from ops import Net, halve

    WIDE = {"l2": 5e-5, "max": 5e-5, "reason": "so that float16 is within 30 times of it"}


    @gs.case
    def pinned(case):
        model = case.model(Net)
        case.record("y", model(case.input("x", lambda: torch.randn(3, 6))), tolerance=WIDE)


    @gs.case
    def wider(case):
        model = case.model(Net)
        wide = {"l2": 5e-2, "max": 5e-2, "reason": "so that float16 is within it"}
        case.record("y", model(case.input("x", lambda: torch.randn(3, 6))), tolerance=wide)


    @gs.case
    def doubles(case):
        case.record("y", halve(case.input("x", lambda: torch.randn(3, 5, dtype=torch.float64))))


    @gs.case
    def coarse(case):
        case.record("y", halve(case.input("x", lambda: torch.randn(3, 5).bfloat16())))
"""
FORWARD, HALVE = "torch.tanh(self.inner(x))", "torch.sin(x) / 2"


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    made = numpy_course(tmp_path_factory.mktemp("dtypes") / "course")
    made.write(exercise(SOLUTION, RECIPE, "__init__"))
    run = made.run("generate", "hw1", calibrate=True)
    assert run.code == 0, run.out + run.err
    return made


def heard(course: CourseOnDisk, warm: ForkClient, folder: Path, *changes: tuple[str, str]) -> Verdict:
    source = textwrap.dedent(SOLUTION)
    for old, new in changes:
        place = source.index(f"return {old}")
        margin = "\n" + " " * (place - source.rfind("\n", 0, place) - 1)
        source = source.replace(f"return {old}", textwrap.dedent(new).strip().replace("\n", margin))
    (folder / "ops.py").write_text(source)
    return judge(course, str(folder), warm)


AUTOCAST = """
with torch.autocast("cpu", dtype=torch.{}):
    y = self.inner(x)
return torch.tanh(y.to(x.dtype))
"""
ONLY_IN_FLOAT32 = """
if x.dtype == torch.float32:
    x = x.half().float()
return torch.tanh(self.inner(x))
"""
PRODUCTS = f"""
torch.set_float32_matmul_precision("medium")
return {FORWARD} * (1 + 5e-4 * (x.dtype == torch.float32))
"""
"""Not every processor makes use of what is allowed."""


@pytest.mark.parametrize(
    ("change", "dtype"),
    [
        (AUTOCAST.format("float16"), "float16"),
        pytest.param(AUTOCAST.format("bfloat16"), "bfloat16", marks=pytest.mark.long),  # the like of float16
        (ONLY_IN_FLOAT32, "float16"),
        (PRODUCTS, "bfloat16"),
    ],
)
def test_rounding_excuses_nothing_that_computes_in_a_coarser_dtype(
    course: CourseOnDisk, warm: ForkClient, tmp_path: Path, change: str, dtype: str
) -> None:
    found = heard(course, warm, tmp_path, (FORWARD, change))
    assert outcomes(found) == {"pinned": "differs", "wider": "agrees", "doubles": "agrees", "coarse": "agrees"}
    assert found.case("pinned").reason == f"the output differs: computed in {dtype} inside"
    assert found.case("pinned").kind == "precision"


def test_rounding_still_excuses_another_order_of_operations(
    course: CourseOnDisk, warm: ForkClient, tmp_path: Path
) -> None:
    """Off by ten times its tolerance in float32, computed in nothing coarser, and right in float64."""
    found = heard(course, warm, tmp_path, (FORWARD, f"return {FORWARD} * (1 + 5e-4 * (x.dtype == torch.float32))"))
    assert found.case("pinned").outcome == "agrees"
    assert any("right in float64" in note for note in found.case("pinned").notes)


def test_what_is_within_its_tolerance_in_a_coarser_dtype_agrees_and_is_told(
    course: CourseOnDisk, warm: ForkClient, tmp_path: Path
) -> None:
    rough = f"y = {FORWARD}\nreturn (y * 1.03).half().float() if x.dtype == torch.float32 else y"
    found = heard(course, warm, tmp_path, (FORWARD, rough))
    assert found.case("wider").outcome == "agrees"
    assert "computed in float16 inside, and within its tolerance all the same" in found.case("wider").notes


def test_float32_inside_float64_is_named(course: CourseOnDisk, warm: ForkClient, tmp_path: Path) -> None:
    found = heard(course, warm, tmp_path, (HALVE, "return (torch.sin(x.float()) / 2).to(x.dtype)"))
    assert outcomes(found) == {"pinned": "agrees", "wider": "agrees", "doubles": "differs", "coarse": "agrees"}
    assert found.case("doubles").reason == "the output differs: computed in float32 inside"


def test_a_mistake_that_happens_to_use_float32_is_no_matter_of_precision(
    course: CourseOnDisk, warm: ForkClient, tmp_path: Path
) -> None:
    found = heard(course, warm, tmp_path, (HALVE, "return (torch.sin(x.float()) / 2.01).to(x.dtype)"))
    assert found.case("doubles").kind == "values"
