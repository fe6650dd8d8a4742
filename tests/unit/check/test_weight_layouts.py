"""Weights that lie otherwise are no mistake, and whether they do is not asked more often than it takes."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from goldsmith.check.replay_workspace import ReplayWorkspace
from goldsmith.process.fork_client import ForkClient
from support.check_course import judge, outcomes
from support.course import RECIPE_FILE, CourseOnDisk, edited, exercise, numpy_course

SOLUTION = """
    import torch


    class Pair(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = torch.nn.Parameter(torch.randn(4))
            self.b = torch.nn.Parameter(torch.randn(4))

        def forward(self, x):
            return x * self.a + self.b


    def first(model, x):
        return model(x)


    def second(model, x):
        return model(x) * 2


    def third(model, x):
        return model(model(x))
"""
RECIPE = """
    import torch

    import goldsmith as gs
    import ops


    @gs.case
    def one(case):
        model = case.model(ops.Pair, weights="stress")
        case.record("y", ops.first(model, case.input("x", lambda: torch.randn(3, 4))))


    @gs.case
    def two(case):
        model = case.model(ops.Pair, weights="stress")
        case.record("y", ops.second(model, case.input("x", lambda: torch.randn(3, 4))))


    @gs.case
    def three(case):
        model = case.model(ops.Pair, weights="stress")
        case.record("y", ops.third(model, case.input("x", lambda: torch.randn(3, 4))))
"""
ADAPTER = """
    from goldsmith.adapter import layout, rename

    with layout("the other way round"):
        rename("a", "b")
        rename("b", "a")
"""
SWAPPED = ("x * self.a + self.b", "x * self.b + self.a")


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    made = numpy_course(tmp_path_factory.mktemp("layouts") / "course")
    made.write(exercise(SOLUTION, RECIPE, "__init__") | {"src/assignments/hw1/adapt_submission.py": ADAPTER})
    run = made.run("generate", "hw1")
    assert run.code == 0, run.out + run.err
    return made


@pytest.fixture(scope="module")
def warm(warm_with_torch: ForkClient) -> ForkClient:
    return warm_with_torch


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Cases that were run in another layout, as they are."""
    found: list[str] = []
    run = ReplayWorkspace.run

    def noted(
        workspace: ReplayWorkspace, wanted: Mapping[str, Sequence[Any]], layouts: Any = None, until: Any = None
    ) -> Any:
        found.extend(name for name in wanted if (layouts or {}).get(name))
        return run(workspace, wanted, layouts, until)

    monkeypatch.setattr(ReplayWorkspace, "run", noted)
    return found


def heard(course: CourseOnDisk, warm: ForkClient, folder: Path, *changes: tuple[str, str]) -> Any:
    (folder / "ops.py").write_text(edited(SOLUTION, *changes))
    return judge(course, str(folder), warm)


def test_a_submission_is_judged_in_the_layout_in_which_it_is_right(
    course: CourseOnDisk, warm: ForkClient, tmp_path: Path
) -> None:
    found = heard(course, warm, tmp_path, SWAPPED)
    assert outcomes(found) == {"one": "agrees", "two": "agrees", "three": "agrees"}
    assert found.layout == "the other way round"
    assert all("the other way round" in " ".join(case.notes) for case in found.cases)


def test_what_is_wrong_in_every_layout_is_wrong_and_costs_no_other(
    course: CourseOnDisk, warm: ForkClient, tmp_path: Path
) -> None:
    found = heard(course, warm, tmp_path, SWAPPED, ("model(x) * 2", "model(x) * 3"))
    assert outcomes(found) == {"one": "agrees", "two": "differs", "three": "agrees"}


def test_what_is_right_as_it_comes_is_left_so(course: CourseOnDisk, warm: ForkClient, tmp_path: Path) -> None:
    found = heard(course, warm, tmp_path, ("model(x) * 2", "model(x) * 3"))
    assert outcomes(found) == {"one": "agrees", "two": "differs", "three": "agrees"}
    assert found.layout == ""


def test_two_cases_of_a_kind_are_tried_in_vain_and_no_third(
    course: CourseOnDisk, warm: ForkClient, tmp_path: Path, tried: list[str]
) -> None:
    found = heard(course, warm, tmp_path, ("x * self.a + self.b", "x * self.a + self.b + 1"))
    assert set(outcomes(found).values()) == {"differs"}
    assert set(tried) == {"one", "two"}


FUSED = """
    import torch


    class Attention(torch.nn.Module):
        def __init__(self, dim, num_heads):
            super().__init__()
            self.num_heads = num_heads
            self.qkv = torch.nn.Linear(dim, 3 * dim)

        def forward(self, x):
            q, k, v = (part.unflatten(-1, (self.num_heads, -1)).transpose(0, 1) for part in self.qkv(x).chunk(3, -1))
            return (q @ k.mT).softmax(-1) @ v
"""
ONE_CASE = """
    import torch

    import goldsmith as gs
    from ops import Attention


    @gs.case
    def attention(case):
        model = case.model(Attention, 8, 2, weights="stress")
        case.record("y", model(case.input("x", lambda: torch.randn(5, 8))))
"""
BESIDE = "self.to_q, self.to_kv = torch.nn.Linear(dim, dim), torch.nn.Linear(dim, 2 * dim)"
BY_HEAD = """q = self.to_q(x).unflatten(-1, (self.num_heads, -1)).transpose(0, 1)
        k, v = self.to_kv(x).unflatten(-1, (self.num_heads, 2, -1)).permute(2, 1, 0, 3)"""


@pytest.mark.long
def test_q_beside_a_kv_that_alternates_head_by_head_needs_no_adapter(tmp_path: Path, warm: ForkClient) -> None:
    course = numpy_course(tmp_path / "course")
    body = FUSED.partition("            q, k, v")[0] + "            raise NotImplementedError\n"
    files = {"src/assignments/hw1/ops.py": body, "private/solutions/hw1/ops_solution.py": FUSED, RECIPE_FILE: ONE_CASE}
    course.write(files)
    run = course.run("generate", "hw1")
    assert run.code == 0, run.out + run.err
    source = textwrap.dedent(FUSED).replace("self.qkv = torch.nn.Linear(dim, 3 * dim)", BESIDE)
    begin, end = source.index("q, k, v = "), source.index("        return")
    (tmp_path / "ops.py").write_text(source[:begin] + BY_HEAD + "\n" + source[end:])
    found = judge(course, str(tmp_path / "ops.py"), warm)
    assert outcomes(found) == {"attention": "agrees"}
    assert "rows alternating head by head: to_q.weight + to_kv.weight for qkv.weight" in " ".join(found.cases[0].notes)
    wrong = (tmp_path / "ops.py").read_text().replace("softmax(-1)", "softmax(-2)")
    (tmp_path / "ops.py").write_text(wrong)
    assert outcomes(judge(course, str(tmp_path / "ops.py"), warm)) == {"attention": "differs"}
