"""Advice where a case is blind by construction: given once, cured by the one change it names, silenced by name."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

from support.course import RECIPE_FILE, CourseOnDisk, recipe

TORCH = "import torch"
SHARP = """
    @gs.case
    def a(case):
        model = case.model(torch.nn.LayerNorm, 5, weights="stress")
        model(case.input("x", lambda: torch.randn(3, 5))).pow(2).sum().backward()
        case.record_gradients(model)
"""


def advice(course: CourseOnDisk, body: str, imports: str = "") -> dict[str, str]:
    course.write({RECIPE_FILE: recipe(body, imports)})
    run = course.run("generate", "hw1", "--json")
    assert run.code == 0, run.out + run.err
    (item,) = run.json["assignments"]
    return {piece["name"]: piece["text"] for piece in item["advice"]}


def case(lines: str) -> str:
    return "@gs.case\ndef a(case):\n" + "".join(f"    {line}\n" for line in lines.splitlines())


@pytest.mark.parametrize(
    ("blind", "cured", "name"),
    [
        ("np.random.randn(4, 4)", "np.random.randn(4, 3)", "coinciding-sizes:a"),
        pytest.param(
            "np.random.randn(2, 3, 3, 7)", "np.random.randn(2, 3, 7, 7)", "coinciding-sizes:a", marks=pytest.mark.long
        ),
        ("np.ones(6)", "np.arange(6.0)", "uniform-input:a"),
        pytest.param("np.ones(6, dtype=bool)", "np.arange(6) > 2", "uniform-input:a", marks=pytest.mark.long),
    ],
)
def test_a_blind_input_is_named_and_a_sharp_one_is_not(course: CourseOnDisk, blind: str, cured: str, name: str) -> None:
    body = "x = case.input('x', lambda: {})\ncase.record('y', np.cumsum(x) * 1.5)"
    found = advice(course, case(body.format(blind)))
    assert list(found) == [name]
    assert "input.x" in found[name]
    assert advice(course, case(body.format(cured))) == {}


def test_an_output_that_equals_its_input_is_named(course: CourseOnDisk) -> None:
    body = "x = case.input('x', lambda: np.arange(3.0))\ncase.record('y', np.abs(x))\ncase.record('z', x * 2)"
    found = advice(course, case(body))
    assert list(found) == ["output-equals-input:a"]
    assert "output.y equals input.x, so doing nothing passes" in found["output-equals-input:a"]


def test_a_layer_that_returns_its_input_beside_its_output_is_not_named(course: CourseOnDisk) -> None:
    body = "x = case.input('x', lambda: np.arange(3.0))\ncase.record('y', (x * 2, x))"
    assert advice(course, case(body)) == {}


def test_an_answer_that_another_case_is_given_is_named(course: CourseOnDisk) -> None:
    body = """
    @gs.case
    def a(case):
        case.record("y", scale(case.input("x", lambda: np.arange(3.0))))


    @gs.case
    def b(case):
        case.record("z", case.input("y", lambda: scale(np.arange({}))).cumsum())
"""
    found = advice(course, textwrap.dedent(body.format("3.0")))
    assert list(found) == ["given-away:a"]
    assert "its output.y is input.y of case b" in found["given-away:a"]
    assert advice(course, textwrap.dedent(body.format("4.0"))) == {}


@pytest.mark.long
def test_weights_at_identity_and_missing_gradients_are_named_until_cured(course: CourseOnDisk) -> None:
    blind = SHARP.replace(', weights="stress"', "").replace("record_gradients(model)", "record('y', case.seed * 1.5)")
    found = advice(course, blind, TORCH)
    assert list(found) == ["identity-weights", "no-gradients"]
    assert 'weights="stress"' in found["identity-weights"]
    assert advice(course, SHARP, TORCH) == {}


def test_a_batch_as_large_as_the_heads_is_named(course: CourseOnDisk) -> None:
    body = SHARP.replace("torch.nn.LayerNorm, 5,", "(lambda num_heads: torch.nn.LayerNorm(5)), num_heads=3,")
    assert "num_heads is 3 too" in advice(course, body, TORCH)["coinciding-sizes:a"]


OPTIMISER = """
    class Plain(torch.optim.Optimizer):
        def __init__(self, params):
            super().__init__(params, {"lr": 0.1})

        @torch.no_grad()
        def step(self):
            for group in self.param_groups:
                for weight in group["params"]:
                    weight -= group["lr"] * weight.grad
"""
STEPS = """
    @gs.case
    def {name}(case):
        model = case.model(torch.nn.Linear, 3, 5, weights="stress", train=True)
        optimiser = {optimiser}
        model(case.input("x", lambda: torch.randn(2, 3))).pow(2).sum().backward()
        optimiser.step()
        case.record_weights(model)
"""


def test_an_optimiser_is_tried_on_several_parameters_and_groups(course: CourseOnDisk) -> None:
    optimisers = {
        "one": "Plain([model.weight])",
        "group": "Plain(model.parameters())",
        "several": "Plain([{'params': [model.weight]}, {'params': [model.bias]}])",
        "torchs_own": "torch.optim.SGD(model.parameters(), lr=0.1)",
    }
    cases = "".join(STEPS.format(name=name, optimiser=optimiser) for name, optimiser in optimisers.items())
    found = advice(course, OPTIMISER + cases, TORCH)
    assert [name for name in found if "twin" not in name] == ["single-parameter:one", "single-parameter:group"]
    assert "Plain takes its steps on a single parameter," in found["single-parameter:one"]
    assert "Plain takes its steps on a single group of parameters," in found["single-parameter:group"]


def test_advice_is_shown_kept_in_the_manifest_and_silenced_with_a_reason(course: CourseOnDisk) -> None:
    body = case("x = case.input('x', lambda: np.random.randn(4, 4))\ncase.record('y', x * 2)")
    course.write({RECIPE_FILE: recipe(body)})
    run = course.run("generate", "hw1")
    assert "Advice, to make the gold sharper:" in run.out
    assert "(coinciding-sizes:a)" in run.out
    verified: dict[str, Any] = course.run("verify", "--json").json["assignments"][0]
    assert [piece["name"] for piece in verified["advice"]] == ["coinciding-sizes:a"]
    assert "(coinciding-sizes:a)" in course.run("verify").out
    toml = '[assignment.hw1.silence]\n"coinciding-sizes:a" = "the function is symmetric"\n'
    course.write({"goldsmith.toml": toml})
    assert "Advice" not in course.run("generate", "hw1", "--force").out
    course.write({"goldsmith.toml": toml.replace("the function is symmetric", " ")})
    assert "needs its reason as text" in course.run("generate", "hw1").err


def test_the_bundled_course_needs_no_advice(example: CourseOnDisk) -> None:
    for item in example.run("verify", "--json").json["assignments"]:
        assert item["advice"] == [], item["name"]
