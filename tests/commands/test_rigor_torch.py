"""What a recipe lacks is found by trying it: weights off their identity, gradients, modes, more steps."""

from __future__ import annotations

import pytest

from goldsmith.mutants.results import Finding
from support.course import CourseOnDisk, exercise
from support.mutant_course import mutated_course, rigor_of

pytestmark = pytest.mark.long

SOLUTION = '''
    """Exercise: a scale, a layer with dropout, and its training."""

    import torch
    from torch import nn


    class Scale(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(width))

        def forward(self, x):
            return x * self.weight


    class Layer(nn.Module):
        def __init__(self, width, dropout=0.0):
            super().__init__()
            self.linear = nn.Linear(width, width)
            self.drop = nn.Dropout(dropout)

        def forward(self, x):
            return x + self.drop(self.linear(x))


    def train(model, batches, optimizer):
        for x in batches:
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
'''

RECIPE = """
    import torch

    import goldsmith as gs
    from ops import Layer, Scale, train


    @gs.case
    def gold_output(case):
        scale = case.model(Scale, 5, name="scale")
        layer = case.model(Layer, 5, name="layer")
        x = case.input("x", lambda: torch.randn(3, 5))
        case.record("y", layer(scale(x)))


    @gs.case
    def trained(case):
        model = case.model(Layer, 5, train=True)
        batches = case.input("batches", lambda: [torch.randn(3, 5)])
        train(model, batches, torch.optim.SGD(model.parameters(), lr=0.1))
        case.record_weights(model)
"""

OWN = {
    "own-scale": ("x * self.weight", "x"),
    "own-detach": ("self.linear(x)", "self.linear(x.detach())"),
    "own-dropout": ("self.drop(self.linear(x))", "self.linear(x)"),
    "own-zero-grad": ("optimizer.zero_grad()", "None"),
    "own-same": ("x + self.drop(self.linear(x))", "self.drop(self.linear(x)) + x"),
}


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    files = exercise(SOLUTION, RECIPE, "__init__")
    return mutated_course(tmp_path_factory.mktemp("rigor") / "course", OWN, files, calibrate=False)


@pytest.fixture(scope="module")
def found(course: CourseOnDisk) -> dict[str, Finding]:
    return {item.operator: item for item in rigor_of(course, *OWN, case_timeout=20.0).findings}


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("own-scale", 'use weights="stress"'),
        ("own-detach", "record gradients"),
        ("own-dropout", "dropout=1.0"),
        ("own-zero-grad", "take three optimiser steps"),
    ],
)
def test_the_advice_is_what_shows_the_mistake(found: dict[str, Finding], name: str, advice: str) -> None:
    assert found[name].outcome == "survived"
    assert advice in found[name].advice


def test_another_order_of_two_terms_is_not_told_apart(found: dict[str, Finding]) -> None:
    assert found["own-same"].outcome == "not-told-apart"
