"""A course in torch judges work in JAX, and a course in JAX work in torch, with recipes as they stand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.across_course import EQUINOX, INSIDE, LINEN, NNX, TORCH_SOLUTION, hand_in, jax_course, torch_course
from support.course import CourseOnDisk

pytestmark = pytest.mark.timeout(900)
NO_SCALE = (" / x.shape[-1] ** 0.5", "")


def graded(course: CourseOnDisk) -> dict[str, dict[str, Any]]:
    """What is said of each submission of a class, each in the sandbox, by name."""
    run = course.run("grade", "hw1", str(course.root.parent / "handed in"), "--json")
    found = json.loads(run.out)
    assert found["sandbox"]["level"] == "full", run.err
    return {item["name"]: item for item in found["submissions"]}


def outcomes(grade: dict[str, Any], kind: str = "parts") -> dict[str, str]:
    return {item["name"]: item["outcome"] for item in grade[kind]}


def test_a_torch_course_judges_work_in_jax(tmp_path: Path) -> None:
    course = torch_course(tmp_path / "course", calibrate=True)
    hand_in(course, "nnx", NNX)
    hand_in(course, "equinox", EQUINOX)
    hand_in(course, "linen", LINEN)  # which has no weights before its first call
    hand_in(course, "torch", TORCH_SOLUTION)
    hand_in(course, "linen epsilon", LINEN, ("epsilon=1e-5, ", ""))
    hand_in(course, "nnx epsilon", NNX, ("epsilon=1e-5, ", ""))
    hand_in(course, "equinox scale", EQUINOX, NO_SCALE)
    found = graded(course)
    for right in ("nnx", "equinox", "linen", "torch"):
        assert (found[right]["outcome"], found[right]["score"]) == ("agrees", 6.0), found[right]["reason"]
        assert outcomes(found[right]) == dict.fromkeys(("Attention", "MLP", "softmax"), "agrees")
        precisions = {item["judged_in"] for item in found[right]["cases"]}
        assert right == "torch" or precisions == {"float64"}, found[right]["notes"]
    for wrong in ("nnx epsilon", "linen epsilon"):
        assert outcomes(found[wrong]) == {"Attention": "agrees", "MLP": "differs", "softmax": "agrees"}
    assert outcomes(found["equinox scale"]) == {"Attention": "differs", "MLP": "agrees", "softmax": "agrees"}
    assert not any("provided code is not as it was given" in note for note in found["nnx"]["notes"])


def test_a_jax_course_judges_work_in_torch(tmp_path: Path) -> None:
    course = jax_course(tmp_path / "course")
    renamed = TORCH_SOLUTION.replace("self.up", "self.fc1").replace("self.down", "self.fc2")
    hand_in(course, "same names", TORCH_SOLUTION)
    hand_in(course, "other names", renamed)
    hand_in(course, "epsilon", TORCH_SOLUTION, ("nn.LayerNorm(width)", "nn.LayerNorm(width, eps=1e-3)"))
    hand_in(course, "scale", renamed, NO_SCALE)
    found = graded(course)
    for right in ("same names", "other names"):
        assert (found[right]["outcome"], found[right]["score"]) == ("agrees", 5.0), found[right]["reason"]
    assert outcomes(found["epsilon"]) == {"Attention": "agrees", "MLP": "differs", "softmax": "agrees"}
    assert outcomes(found["scale"]) == {"Attention": "differs", "MLP": "agrees", "softmax": "agrees"}


def test_a_case_that_cannot_cross_is_staffs_to_fix(tmp_path: Path) -> None:
    course = torch_course(tmp_path / "course", recipe=INSIDE)
    submitted = hand_in(course, "nnx", NNX)
    run = course.run("check", "hw1", submitted, "--json")
    cases = {item["name"]: item for item in run.json["submissions"][0]["cases"]}
    assert cases["as_it_is"]["outcome"] == "agrees"
    for name, why in (
        ("of_a_layer", "it uses up of the model by itself"),
        ("layers", "it looks for modules of torch inside of the model, by `modules`"),
        ("changed", "it changes its input x"),
    ):
        assert (cases[name]["outcome"], cases[name]["kind"]) == ("could-not-run", "form"), cases[name]
        assert f"this case needs a jax form: {why}" in cases[name]["reason"]
    says_so = ("return x + self.down", "raise TypeError('torch.Tensor')\n        return x + self.down")
    hand_in(course, "torch that says so", TORCH_SOLUTION, ("import torch\n", "import jax\nimport torch\n"), says_so)
    grades = graded(course)
    forged = {item["name"]: item["outcome"] for item in grades["torch that says so"]["items"]}
    assert forged["as_it_is"] == "could-not-run"
    grade = grades["nnx"]
    kinds = {item["name"]: (item["outcome"], item["why"]) for item in grade["items"]}
    assert kinds["as_it_is"][0] == "agrees"
    assert kinds["layers"][0] == "error"
    assert "points withheld: this case needs a jax form" in kinds["layers"][1]
    assert any("points of layers are withheld" in told for told in grade["not_given"])
