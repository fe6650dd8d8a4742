"""Single numbers have no dtype of their own: `np.mean(losses)` is right where `sum(losses) / n` is. Tensors have."""

from __future__ import annotations

import textwrap
from pathlib import Path

import numpy as np
import pytest

import goldsmith
from goldsmith.process.fork_client import ForkClient
from support.check_course import judge, outcomes
from support.course import CourseOnDisk, exercise, numpy_course

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

SOLUTION = """
    import numpy as np
    import torch


    def mean(losses):
        return {}


    def scale(x):
        return x * 3
"""
RECIPE = """
    import numpy as np
    import torch
    from torch import tensor

    import goldsmith as gs
    from ops import mean, scale


    @gs.case
    def listed(case):
        x = case.input("x", lambda: torch.randn(3, 4))
        means = [mean([float(item) for item in row]) for row in x]
        case.record("means", torch.tensor(means))
        case.record("again", {"inner": tensor(means)})
        case.record("arrays", np.array(means))


    @gs.case
    def lone(case):
        x = case.input("x", lambda: torch.randn(5))
        case.record("mean", torch.as_tensor(mean(x.tolist())))


    @gs.case
    def scaled(case):
        case.record("y", scale(case.input("x", lambda: torch.randn(3, 4))))


    @gs.case
    def scaled_number(case):
        case.record("y", scale(case.input("x", lambda: torch.randn(1)).sum()))
"""
PYTHON, NUMPY, TORCH = "sum(losses) / len(losses)", "np.mean(losses)", "torch.tensor(losses).mean()"
HALVES = "np.float32(np.mean(losses))"


@pytest.fixture(scope="module", params=[PYTHON, pytest.param(NUMPY, marks=pytest.mark.long)])
def course(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    made = numpy_course(tmp_path_factory.mktemp("numbers") / "course")
    solution = textwrap.dedent(SOLUTION).format(request.param)
    made.write(exercise(solution, RECIPE))
    run = made.run("generate", "hw1")
    assert run.code == 0, run.err
    return made


def handed_in(folder: Path, mean: str, *change: str) -> str:
    (folder / "ops.py").write_text(textwrap.dedent(SOLUTION).format(mean).replace(*(change or ("", ""))))
    return str(folder)


@pytest.mark.parametrize("mean", [NUMPY, TORCH, HALVES])
def test_the_mean_of_numbers_is_right_in_any_library(
    course: CourseOnDisk, warm: ForkClient, tmp_path: Path, mean: str
) -> None:
    found = judge(course, handed_in(tmp_path, mean), warm)
    assert set(outcomes(found).values()) == {"agrees"}, found.cases


@pytest.mark.parametrize("mean", [f"{NUMPY} + 0.01", "int(np.mean(losses))"])
def test_a_wrong_number_stays_wrong(course: CourseOnDisk, warm: ForkClient, tmp_path: Path, mean: str) -> None:
    found = judge(course, handed_in(tmp_path, mean), warm)
    assert outcomes(found) == {"listed": "differs", "lone": "differs", "scaled": "agrees", "scaled_number": "agrees"}


def test_what_comes_out_of_their_code_as_a_tensor_keeps_its_dtype(
    course: CourseOnDisk, warm: ForkClient, tmp_path: Path
) -> None:
    found = judge(course, handed_in(tmp_path, PYTHON, "x * 3", "x.double() * 3"), warm)
    assert outcomes(found) == {"listed": "agrees", "lone": "agrees", "scaled": "differs", "scaled_number": "agrees"}
    assert found.case("scaled").natural[0].problem == "dtype"
    assert any("is float64, gold's is float32" in note for note in found.case("scaled_number").notes)


def test_the_comparison_by_itself_is_as_strict_as_ever() -> None:
    one, two = np.float32(1.5) * np.ones(()), np.ones(()) * 1.5
    assert not goldsmith.compare({"a": one.astype("float32")}, {"a": two})
    assert goldsmith.compare({"a": one.astype("float32")}, {"a": two}, check_dtype=["a"])
    assert not goldsmith.compare({"a": one.astype("float16")}, {"a": two}, check_dtype=["a"])
    assert not goldsmith.compare({"a": np.ones((), dtype=int)}, {"a": np.ones(())}, check_dtype=["a"])
