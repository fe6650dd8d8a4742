"""`torch.compile` changes no verdict: code runs as it is written, in `check` and in the sandbox alike."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from goldsmith.courses.grade.collection import collect
from goldsmith.courses.grade.engines import Local
from goldsmith.courses.grade.grade_class import GradingOptions, grade_all
from goldsmith.courses.grade.grader import Grader, rubric_for
from goldsmith.courses.layout.layout import find_course
from goldsmith.generate.options import Options
from goldsmith.process.fork_client import ForkClient
from support.check_course import judge, outcomes
from support.course import RECIPE_FILE, CourseOnDisk, numpy_course

pytest.importorskip("torch")
pytestmark = pytest.mark.torch

STARTER = """
    import torch
    from torch import nn


    def squash(x):
        raise NotImplementedError


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(5, 3)

        def forward(self, x):
            raise NotImplementedError
"""
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


    if __name__ == "__main__":
        gs.main()
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
    files = {"src/assignments/hw1/ops.py": STARTER, "private/solutions/hw1/ops_solution.py": SOLUTION}
    made.write({**files, RECIPE_FILE: RECIPE})
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
