"""Gold on another machine: other instructions, threads and versions change bits, and nothing else.

Another machine is made out of this one by the variables that libraries choose their instructions by. The bundled
course, on more of them: `test_other_machines_bundled.py`.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch

from support import fork_cli
from support.course import RECIPE_FILE, SOLUTION_FILE, CourseOnDisk, Run, numpy_course

pytestmark = pytest.mark.torch
STARTER = """
    import torch
    from torch import nn


    class Norm(nn.Module):
        def __init__(self, size, eps=1e-3):
            super().__init__()
            self.eps = eps
            self.weight = nn.Parameter(torch.ones(size))

        def forward(self, x):
            raise NotImplementedError


    class Head(nn.Module):
        def __init__(self, size, classes):
            super().__init__()
            self.linear = nn.Linear(size, classes)

        def forward(self, x):
            raise NotImplementedError
"""
NORM = "return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight"
HEAD = "return torch.softmax(self.linear(x), -1)"
SOLUTION = STARTER.replace("raise NotImplementedError", NORM, 1).replace("raise NotImplementedError", HEAD)
RECIPE = """
    import torch

    import goldsmith as gs
    from ops import Head, Norm


    @gs.case
    def normed(case):
        model = case.model(Norm, 96, weights="stress")
        case.record("y", model(case.input("x", lambda: torch.randn(5, 96))))


    @gs.case
    def classified(case):
        model = case.model(Head, 96, 33, weights="stress")
        case.record("y", model(case.input("x", lambda: torch.randn(5, 96))))


    if __name__ == "__main__":
        gs.main()
"""
AS_DIFFERENT_AS_CAN_BE = (
    ("ATEN_CPU_CAPABILITY", "default"),
    ("MKL_ENABLE_INSTRUCTIONS", "SSE4_2"),
    ("ONEDNN_MAX_CPU_ISA", "SSE41"),
)


@pytest.fixture(scope="module")
def gold(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    """A course with gold of two cases, made on this machine."""
    course = numpy_course(tmp_path_factory.mktemp("machine") / "course")
    course.write({"src/assignments/hw1/ops.py": STARTER, SOLUTION_FILE: SOLUTION, RECIPE_FILE: RECIPE})
    return course.with_gold(calibrate=True)


@pytest.fixture
def course(gold: CourseOnDisk, tmp_path: Path) -> CourseOnDisk:
    shutil.copytree(gold.root, tmp_path / "course")
    return CourseOnDisk(tmp_path / "course")


def run_elsewhere(course: CourseOnDisk, *arguments: str) -> Run:
    return Run(*fork_cli.run(arguments, course.root, started_with=AS_DIFFERENT_AS_CAN_BE))


def test_gold_stands_on_another_machine(course: CourseOnDisk) -> None:
    before = course.gold_bytes()
    exact = run_elsewhere(course, "generate", "hw1", "--check", "--exact")
    if torch.backends.cpu.get_cpu_capability() != "DEFAULT":
        assert exact.code == 1, "bits differ there, or this would show nothing"
    made = run_elsewhere(course, "generate", "hw1", "--force", "--yes", "--json")
    assert made.code == 0, made.out + made.err
    assert made.json["assignments"][0]["outcome"] == "unchanged"
    assert course.gold_bytes() == before
    judged = run_elsewhere(course, "check", "hw1", str(course.root / SOLUTION_FILE))
    assert judged.code == 0, judged.out
    course.write({"goldsmith.toml": "threads = 2\n"})
    (item,) = run_elsewhere(course, "status", "--json").json["assignments"]
    assert (item["outcome"], item["reasons"]) == ("fresh", [])


def test_a_real_change_is_caught_there(course: CourseOnDisk) -> None:
    """And only the cases that it changes are listed."""
    solution = course.root / SOLUTION_FILE
    solution.write_text(solution.read_text().replace("+ self.eps", "+ 10 * self.eps"))
    run = run_elsewhere(course, "generate", "hw1", "--check", "--json")
    assert run.code == 1, run.out + run.err
    (item,) = run.json["assignments"]
    assert [change["case"] for change in item["changes"]] == ["normed"]
    would = {file["path"].rpartition("/")[2]: file["change"] for file in item["files"]}
    assert (would["normed.pt"], would["classified.pt"]) == ("changed", "same")
