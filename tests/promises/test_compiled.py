"""`torch.compile` changes no verdict: code runs as it is written, in `check` and in the sandbox alike."""

from __future__ import annotations

import shutil
import textwrap
from pathlib import Path

import pytest

from goldsmith.courses.grade.collection import collect
from goldsmith.courses.grade.grade_class import GradingOptions, grade_all
from goldsmith.courses.grade.grader import Grader, rubric_for
from goldsmith.courses.layout.layout import find_course
from goldsmith.engines.engine import Local
from goldsmith.generate.options import Options
from goldsmith.process.fork_client import ForkClient
from support.check_course import judge, outcomes
from support.course import CourseOnDisk, Run, exercise, numpy_course

pytest.importorskip("torch")
pytestmark = pytest.mark.torch

SOLUTION = """
    import torch
    from torch import nn


    def squash(x):
        return torch.tanh(x) * 2


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(5, 3)

        def forward(self, x):
            return squash(self.inner(x))
"""
RECIPE = """
    import torch

    import goldsmith as gs
    from ops import Net, squash


    @gs.case
    def squashed(case):
        case.record("y", squash(case.input("x", lambda: torch.randn(4, 7))))


    @gs.case
    def whole(case):
        model = case.model(Net)
        y = model(case.input("x", lambda: torch.randn(2, 5)))
        case.record("y", y)
        y.square().sum().backward()
        case.record("gradient", model.inner.weight.grad)
"""
INIT = "self.inner = nn.Linear(5, 3)"
WAYS = {
    "function": ("def squash", "@torch.compile\ndef squash"),
    "options": ("def squash", '@torch.compile(fullgraph=True, mode="max-autotune", dynamic=True)\ndef squash'),
    "inner": (INIT, "self.inner = torch.compile(nn.Linear(5, 3))"),
    "in-place": (INIT, f"{INIT}\n        self.compile()"),
    "forward": ("def forward", '@torch.compile(backend="inductor")\n    def forward'),
    "script": ("def squash", "@torch.jit.script\ndef squash"),
    "trace": (INIT, "self.inner = torch.jit.trace(nn.Linear(5, 3), torch.zeros(2, 5))"),
}


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    made = numpy_course(tmp_path_factory.mktemp("compiled") / "course")
    made.write(exercise(SOLUTION, RECIPE, "__init__"))
    run = made.run("generate", "hw1")
    assert run.code == 0, run.err
    return made


@pytest.fixture(scope="module")
def handed_in(course: CourseOnDisk) -> Path:
    folder = course.root.parent / "handed in"
    for name, (old, new) in WAYS.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "ops.py").write_text(textwrap.dedent(SOLUTION).replace(old, new))
    return folder


@pytest.mark.parametrize("way", WAYS)
def test_compiled_code_agrees_in_check(course: CourseOnDisk, handed_in: Path, warm: ForkClient, way: str) -> None:
    found = judge(course, str(handed_in / way), warm)
    assert outcomes(found) == {"squashed": "agrees", "whole": "agrees"}, found.cases


@pytest.mark.parametrize(
    "ways", [["options", "in-place", "script"], pytest.param([*WAYS], marks=pytest.mark.long)], ids=["some", "all"]
)
def test_compiled_code_agrees_in_the_sandbox(
    course: CourseOnDisk, handed_in: Path, tmp_path: Path, ways: list[str]
) -> None:
    assignment = find_course(course.root).assignment("hw1")
    rubric = rubric_for(assignment, allow_stale=False)
    grader = Grader(assignment, rubric, Options(seed=42, threads=1, timeout=60), 30.0, 6.0, keep=False)
    items = collect(assignment, [str(handed_in / way) for way in ways], []).items
    made = grade_all(GradingOptions(grader, items, tmp_path / "graded", Local(1)))
    assert {grade.name: grade.outcome for grade in made.grades} == dict.fromkeys(ways, "agrees")


ODD = ("return torch.tanh(x) * 2", "return torch.tanh(x) * (2.01 if torch.compiler.is_compiling() else 2)")


def _compiled_check(course: CourseOnDisk, folder: Path, code: str, **environment: str) -> Run:
    folder.mkdir()
    (folder / "ops.py").write_text(textwrap.dedent(code))
    return course.run("check", "hw1", str(folder), "--compiled", "--json", new_workers=True, **environment)


@pytest.mark.long  # compiling takes half a minute
@pytest.mark.skipif(not shutil.which("g++"), reason="there is no compiler")
def test_what_is_right_as_written_and_not_compiled_is_said_so(course: CourseOnDisk, tmp_path: Path) -> None:
    right = _compiled_check(course, tmp_path / "right", SOLUTION)
    assert right.code == 0, right.out
    assert "what agrees was run once more, compiled, and agrees so, too" in right.out
    odd = _compiled_check(course, tmp_path / "odd", textwrap.dedent(SOLUTION).replace(*ODD))
    assert odd.code == 1, odd.out
    (verdict,) = odd.json["submissions"]
    assert {case["kind"] for case in verdict["cases"]} == {"compiled"}
    assert all("agrees as it is written; compiled," in case["reason"] for case in verdict["cases"])


def test_without_a_compiler_nothing_passes_as_compiled(course: CourseOnDisk, tmp_path: Path) -> None:
    found = _compiled_check(course, tmp_path / "right", SOLUTION, CXX="no-such-compiler")
    assert found.code == 3, found.out
    assert found.json["error"]["kind"] == "cannot-compile-here"
    assert "torch finds no C++ compiler" in found.json["error"]["message"]
    parity = ("parity", "ops.py:squash", "ops.py:squash", "--input", "torch.randn(3)", "--compiled", "--json")
    report = course.run(*parity, cwd=tmp_path / "right", new_workers=True, CXX="no-such-compiler")
    assert report.code == 3, report.out
    assert "the candidate cannot be compiled" in report.json["candidates"][0]["reason"]
