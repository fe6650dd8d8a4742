"""What a model computes is part of the work: submissions are not given gold's, wherever they look for it.

A submission that leaves room for a table, or looks for one in memory, has no more than one that computes it wrong.
"""

from __future__ import annotations

import pytest

from goldsmith.gold.load import load_gold
from goldsmith.process.fork_client import ForkClient
from support.course import RECIPE_FILE, SOLUTION_FILE, CourseOnDisk, numpy_course
from support.points_course import judged

pytestmark = pytest.mark.torch
FULL = 6.0
NET = '''
"""Exercise: tables, and a weight."""

import numpy as np
import torch
from torch import nn


class Positions(nn.Module):
    def __init__(self, length, width):
        super().__init__()
        rates = torch.arange(length)[:, None] / 100 ** (torch.arange(width) / width)
        self.register_buffer("table", rates.sin())
        self.register_buffer("noise", torch.randn(width))

    def forward(self, x):
        return x + self.table[: x.shape[0]] + self.noise


class Frozen(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.line = nn.Linear(width, width).requires_grad_(False)
        self.rates = nn.Parameter(torch.linspace(0.5, 2, width).log(), requires_grad=False)

    def forward(self, x):
        return self.line(x) * self.rates


class Cosines:
    def __init__(self, size):
        places = np.arange(size)
        self.basis = np.cos(np.pi * places[:, None] * (2 * places + 1) / (2 * size))
        self.weight = np.random.randn(size)

    def __call__(self, x):
        return (x * self.weight) @ self.basis.T


class Drawn(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width, 3) * 0.3)

    def forward(self, x):
        return x @ self.weight
'''
CASES = """
import numpy as np
import torch

import goldsmith as gs
from net import Cosines, Drawn, Frozen, Positions


@gs.case
def placed(case):
    case.record("y", case.model(Positions, 9, 4)(case.input("x", lambda: torch.randn(5, 4))))


@gs.case
def shown(case):
    model = case.model(Positions, 9, 4)
    case.record("table", model.table)
    case.record("y", model(case.input("x", lambda: torch.randn(1, 4))))


@gs.case
def frozen(case):
    case.record("y", case.model(Frozen, 6)(case.input("x", lambda: torch.randn(3, 6))))


@gs.case
def turned(case):
    case.record("y", case.model(Cosines, 8)(case.input("x", lambda: np.random.randn(3, 8))))


@gs.case
def initial(case):
    case.initial(Drawn, 40)


@gs.case
def stressed(case):
    case.record("y", case.model(Drawn, 5, weights="stress")(case.input("x", lambda: torch.randn(2, 5))))


if __name__ == "__main__":
    gs.main()
"""
STARTER = NET.replace("super().__init__()\n", "super().__init__()\n        raise NotImplementedError\n").replace(
    "places = np.arange(size)\n", "places = np.arange(size)\n        raise NotImplementedError\n"
)
RUBRIC = "[assignment.hw1.rubric.cases]\nplaced = 1\nshown = 1\nfrozen = 1\nturned = 1\ninitial = 1\nstressed = 1\n"
GIVEN = """

def given(case):
    import pathlib
    import sys

    from goldsmith.gold.files import read_payload

    frame = sys._getframe()
    while not hasattr(frame.f_locals.get("self"), "_kept"):
        frame = frame.f_back
    return read_payload(pathlib.Path(frame.f_locals["self"]._kept[case].file))["state_dict"]
"""
LEFT_OUT = """
import goldsmith.worker.replay_session as replaying

_judged_part = replaying.judged_part
replaying.judged_part = lambda payload: {
    path: leaf for path, leaf in _judged_part(payload).items() if path != "output.table"
}
"""
"""Leaves a record out, as an implementation may that has no such buffer to record among its weights."""
ATTACKS = {
    "leaves_room_for_a_buffer": ("rates.sin()", "torch.zeros(length, width)"),
    "draws_a_buffer": ("rates.sin()", "torch.randn(length, width)"),
    "copies_a_buffer": ("rates.sin()", 'given("placed")["table"].clone()'),
    "leaves_a_table_out": ("rates.sin()", "torch.zeros(length, width)"),
    "leaves_room_for_a_frozen_parameter": ("torch.linspace(0.5, 2, width).log()", "torch.zeros(width)"),
    "copies_a_frozen_parameter": ("torch.linspace(0.5, 2, width).log()", 'given("frozen")["rates"].clone()'),
    "leaves_room_for_an_array": ("np.cos(np.pi * places[:, None] * (2 * places + 1) / (2 * size))", "np.eye(size)"),
    "measures_how_weights_are_drawn": ("* 0.3", '* given("initial")["weight"].std()'),
}
QUICK = ("leaves_a_table_out", "copies_a_frozen_parameter", "leaves_room_for_an_array")


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    course = numpy_course(tmp_path_factory.mktemp("withheld") / "course")
    files = {"src/assignments/hw1/net.py": STARTER, "private/solutions/hw1/net_solution.py": NET}
    old = {"src/assignments/hw1/ops.py": "", SOLUTION_FILE: ""}
    return course.write(old | files | {RECIPE_FILE: CASES, "goldsmith.toml": RUBRIC}).with_gold()


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.long) for name in ATTACKS]
)
def test_what_a_model_computes_cannot_be_had_from_gold(course: CourseOnDisk, warm: ForkClient, name: str) -> None:
    old, new = ATTACKS[name]
    assert old in NET
    forged = LEFT_OUT if name == "leaves_a_table_out" else GIVEN
    verdict, grade = judged(course, {"net.py": NET.replace(old, new) + forged}, warm)
    lost = 2 if "sin()" in old else 1
    assert (verdict.outcome, grade.score) == ("differs", FULL - lost), verdict.cases


def test_draws_are_given_all_the_same(course: CourseOnDisk, warm: ForkClient) -> None:
    others = NET.replace("torch.randn(width)", "torch.rand(width)").replace("np.random.randn(size)", "np.zeros(size)")
    assert judged(course, {"net.py": others}, warm)[1].score == FULL


def test_gold_says_what_is_withheld(course: CourseOnDisk) -> None:
    gold = load_gold(course.gold())
    withheld = {name: gold[name].entry.weights["initial" if name == "initial" else "model"].withheld for name in gold}
    assert withheld == {
        "placed": ("table",),
        "shown": ("table",),
        "frozen": ("rates",),
        "turned": ("basis",),
        "initial": ("weight",),
        "stressed": (),
    }
