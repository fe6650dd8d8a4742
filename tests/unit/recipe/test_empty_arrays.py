"""Arrays without elements, among inputs, weights and records: they are values like others, and nobody's mistake."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.course import RECIPE_FILE, SOLUTION_FILE, CourseOnDisk, numpy_course

STARTER_FILE = "src/assignments/hw1/ops.py"

NUMPY = """
    import numpy as np


    def chosen(x, least):
        return {"rows": x[x[:, 0] > least], "counts": [np.zeros((0,), dtype=np.int64), np.arange(len(x))]}


    class Table:
        def __init__(self, size):
            self.rows = np.random.randn(size, 3)
            self.extra = np.zeros((0, 3))

        def joined(self, x):
            return np.concatenate([self.rows, self.extra, x])
"""
NUMPY_RECIPE = """
    import numpy as np

    import goldsmith as gs
    from ops import Table, chosen


    @gs.case
    def nothing_chosen(case):
        x = case.input("x", lambda: np.random.randn(4, 3))
        case.record("some", chosen(x, -9.0))
        case.record("none", chosen(x, 9.0))


    @gs.case
    def nothing_given(case):
        nested = case.input("nested", lambda: {"x": np.zeros((0, 3)), "y": [np.random.randn(2, 3)]})
        table = case.model(Table, 2)
        case.record("y", table.joined(nested["x"]))
        case.record("z", table.joined(nested["y"][0]))
        case.record("x", nested["x"] * 2, allow={"constant": "its shape is the answer"})


    if __name__ == "__main__":
        gs.main()
"""
TORCH = """
    import torch
    from torch import nn


    class Chosen(nn.Module):
        def __init__(self, size):
            super().__init__()
            self.linear = nn.Linear(3, size)
            self.none = nn.Linear(3, 0)
            self.register_buffer("marks", torch.zeros(0))

        def forward(self, x):
            return {"y": self.linear(x), "rest": (self.none(x), self.marks.clone())}
"""
TORCH_RECIPE = """
    import torch

    import goldsmith as gs
    from ops import Chosen


    @gs.case
    def nothing_given(case):
        model = case.model(Chosen, 4, weights="stress")
        case.record("y", model(case.input("x", lambda: torch.randn(2, 3))))
        shapes = {"constant": "their shapes are the answer"}
        case.record("nothing", model(case.input("none", lambda: torch.randn(0, 3))), allow=shapes)
        image = case.input("image", lambda: [torch.zeros(2, 0, 5), torch.randn(2)])
        case.record("image", image[0] + 1, allow=shapes)


    if __name__ == "__main__":
        gs.main()
"""


@pytest.mark.parametrize(
    ("solution", "recipe", "mistake"),
    [
        (NUMPY, NUMPY_RECIPE, ("> least", ">= 0 * least")),
        pytest.param(TORCH, TORCH_RECIPE, ("self.marks.clone()", "torch.zeros(1)"), marks=pytest.mark.long),
    ],
    ids=["numpy", "torch"],
)
def test_arrays_without_elements_are_recorded_calibrated_replayed_and_compared(
    tmp_path: Path, solution: str, recipe: str, mistake: tuple[str, str]
) -> None:
    course = _course(tmp_path / "course", solution, recipe)
    made = course.run("generate", "hw1", "--json", calibrate=True)
    assert made.code == 0, made.out + made.err
    (outcome,) = made.json["assignments"]
    assert not [note for note in outcome["notes"] if "float64" in note or "failed" in note], outcome["notes"]
    again = course.run("generate", "hw1", "--force", "--json", calibrate=True)
    assert again.json["assignments"][0]["outcome"] == "unchanged"

    copy = course.root / SOLUTION_FILE
    assert course.run("check", "hw1", str(copy), "--json").json["submissions"][0]["outcome"] == "agrees"
    wrong = tmp_path / "wrong" / "ops.py"
    wrong.parent.mkdir()
    wrong.write_text(copy.read_text().replace(*mistake))
    (found,) = course.run("check", "hw1", str(wrong), "--json").json["submissions"]
    assert found["outcome"] == "differs", found


def _course(folder: Path, solution: str, recipe: str) -> CourseOnDisk:
    starter = re.sub("return .*", "raise NotImplementedError", solution)
    return numpy_course(folder).write({STARTER_FILE: starter, SOLUTION_FILE: solution, RECIPE_FILE: recipe})
