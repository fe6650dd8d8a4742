"""The bundled class after a change of its solution, its rubric and a student's file: who moves, and because of what."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from support.course import CourseOnDisk

pytestmark = [pytest.mark.long, pytest.mark.torch]
NAME = "scratch-2"
RECIPE = f"src/assignments/{NAME}/generate_fixtures.py"
SOLUTION = f"private/solutions/{NAME}/vision_solution.py"
BEN = f"private/submissions/{NAME}/ben/vision.py"
POINTS = ("@gs.case\ndef gradients", "@gs.case(points=2)\ndef gradients")
EPSILON = (
    "self.attend(self.norm_1(x))",
    "self.attend(F.layer_norm(x, x.shape[-1:], self.norm_1.weight, self.norm_1.bias, 1e-3))",
)
FIXED = ("q @ k.transpose(2, 3)", "q @ k.transpose(2, 3) / q.shape[-1] ** 0.5")
MOVES = dict[str, tuple[float, float, list[tuple[str, float]]]]


def edit(course: CourseOnDisk, file: str, change: tuple[str, str]) -> None:
    path = course.root / file
    text = path.read_text()
    assert text.count(change[0]) == 1
    path.write_text(text.replace(*change))


def graded(course: CourseOnDisk, to: str, *options: str) -> dict[str, Any]:
    run = course.run("grade", NAME, f"private/submissions/{NAME}", "--json", "--output", to, *options)
    assert run.code in (0, 1), run.err  # chi's could not be run
    return run.json


def moves(found: dict[str, Any]) -> MOVES:
    return {
        item["name"]: (
            item["moved"]["was"],
            item["score"],
            [(" + ".join(it["causes"]), it["points"]) for it in item["moved"]["because"]],
        )
        for item in found["submissions"]
        if item["moved"]
    }


def test_exactly_the_right_students_move_each_for_the_right_reason(example: CourseOnDisk, tmp_path: Path) -> None:
    first = graded(example, "first")
    points = {item["name"]: item["score"] for item in first["submissions"]}
    assert (points, first["ledger"]) == ({"ada": 17.0, "ben": 6.0, "chi": 9.0, "dora": 17.0}, None)
    before = shutil.copytree(example.root, tmp_path / "before", symlinks=True)

    edit(example, RECIPE, POINTS)
    by_rubric = moves(graded(example, "rubric", "--since", "first"))
    assert by_rubric == {"ada": (17.0, 18.0, [("rubric", 1.0)]), "dora": (17.0, 18.0, [("rubric", 1.0)])}

    shutil.copy2(before / RECIPE, example.root / RECIPE)
    edit(example, BEN, FIXED)
    assert moves(graded(example, "file", "--since", "first")) == {"ben": (6.0, 17.0, [("submission", 11.0)])}

    shutil.copy2(before / BEN, example.root / BEN)
    edit(example, SOLUTION, EPSILON)
    assert example.run("generate", NAME).code == 0
    by_gold = moves(graded(example, "gold", "--since", "first"))
    assert by_gold == {
        "ada": (17.0, 7.0, [("gold", -10.0)]),
        "chi": (9.0, 6.0, [("gold", -3.0)]),
        "dora": (17.0, 7.0, [("gold", -10.0)]),
    }, "ben is as wrong as before"

    edit(example, RECIPE, POINTS)
    edit(example, BEN, FIXED)
    at_once = graded(example, "all", "--since", "first")
    found = moves(at_once)
    assert found.pop("ben") == (6.0, 7.0, [("submission", 11.0), ("gold", -10.0)]), "both were seen alone before"
    assert found == by_gold, "nobody's gradients are right by the new gold, whatever they are worth"
    assert at_once["ledger"]["changed"] == ["gold", "rubric"]
    edit(example, BEN, ("self.norm_1(x)", EPSILON[1].removeprefix("self.attend(").removesuffix(")")))
    assert moves(graded(example, "right", "--since", "first"))["ben"] == (
        6.0,
        18.0,
        [("submission", 11.0), ("rubric", 1.0)],
    ), "by the new gold alone, his old file was judged before"
