"""What agrees only because rounding moves gold as far is not judged."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import msgspec
import pytest

from goldsmith.judge.case import Judge
from goldsmith.judge.verdicts import AGREES, INCONCLUSIVE, CaseVerdict
from goldsmith.weights.rules import Adapter
from support.calibration_course import calibrated
from support.course import CourseOnDisk
from support.gold_judgement import judge

CANCELLED = "def scale(x):\n    return (x * x + 1e6) - 1e6\n"
RIGHT = """import torch


def scale(x):
    assert x.dtype == torch.float32  # so that no run in float64 decides
    return (x * x + 4e5 + 6e5) - 1e6
"""
BODY = """
    @gs.case
    def gold_output(case):
        x = case.input("x", lambda: torch.randn(40, 30))
        case.record("y", scale(x), ALLOW)
        MORE
"""
pytestmark = pytest.mark.torch


def recipe_body(allow: str, more: str = "") -> str:
    return BODY.replace("ALLOW", f"allow={{{allow}}}").replace("MORE", more)


def test_a_record_beside_others_is_named_and_the_others_count(course: CourseOnDisk, tmp_path: Path) -> None:
    body = recipe_body('"float64": "cancelled"', 'case.record("z", torch.tanh(x))')
    calibrated(course, body, "import torch", CANCELLED)
    (tmp_path / "ops.py").write_text(RIGHT)
    run = course.run("check", "hw1", str(tmp_path / "ops.py"))
    assert run.code == 0, run.out
    assert "y was not judged: rounding alone moves it by more than 10% of its size" in " ".join(run.out.split())


def test_where_nothing_else_was_recorded_it_is_inconclusive(course: CourseOnDisk) -> None:
    gold = calibrated(course, recipe_body('"float64": "x", "noise": "x"'), "import torch", CANCELLED)["gold_output"]
    found = judge({"output": gold.output + 0.0625}, gold).comparison
    assert found.agrees
    verdict = CaseVerdict(name=gold.name, title="", outcome=AGREES, natural=found.leaves, leaves=found.leaves)
    accepted = Judge({gold.name: gold}, Adapter())
    assert accepted.without_blind_records(verdict) == verdict, "the recipe says that it may be noise"
    entry = msgspec.structs.replace(gold.entry, allowed={})  # as in gold that was made before noise was looked at
    before = Judge({gold.name: dataclasses.replace(gold, entry=entry)}, Adapter())
    plain = before.without_blind_records(verdict)
    assert (plain.outcome, plain.kind) == (INCONCLUSIVE, INCONCLUSIVE)
    assert plain.reason.startswith("the output is all that was recorded, and rounding alone moves it by ")
    lost = plain.cancels
    assert lost is not None
    assert (lost.tensor, lost.dtype) == ("output", "float32")
    terms = 1e6 / float(gold.output.square().mean().sqrt())  # what is added and taken away, over what is left
    assert terms / 4 < lost.amplified < terms * 4
