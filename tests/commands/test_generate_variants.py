"""Several right answers: a case accepts what named variants of the solution give, and comparison says which was met."""

from __future__ import annotations

import numpy as np
import pytest

from goldsmith.gold.load import load_gold
from support.course import RECIPE_FILE, SOLUTION_FILE, CourseOnDisk, recipe
from support.gold_judgement import judge

BODY = """
    @gs.case(accepts=["unbiased"])
    def gold_output(case):
        case.record("y", scale(case.input("x", lambda: np.random.randn(7, 5))))

    @gs.case
    def other(case):
        case.record("y", scale(case.input("x", lambda: np.random.randn(3, 2))))
"""
VARIANT_FILE = "private/solutions/hw1/variants/unbiased/ops_solution.py"


@pytest.fixture
def accepted(course: CourseOnDisk) -> CourseOnDisk:
    return course.write(
        {
            RECIPE_FILE: recipe(BODY),
            SOLUTION_FILE: "def scale(x):\n    return x.std(axis=0)\n",
            VARIANT_FILE: "def scale(x):\n    return x.std(axis=0, ddof=1)\n",
        }
    )


def test_every_right_answer_is_gold_and_comparison_says_which_was_met(accepted: CourseOnDisk) -> None:
    run = accepted.run("generate", "hw1", calibrate=True)
    assert run.code == 0, run.out + run.err
    assert "the variant unbiased disagrees with the solution: the output is off by 8% of its size, " in run.out
    assert " x its tolerance" in run.out
    assert sorted(accepted.gold_bytes()) == [
        "README.md",
        "gold_output.npz",
        "gold_output.trace.safetensors",
        "gold_output.unbiased.npz",
        "manifest.json",
        "other.npz",
        "other.trace.safetensors",
    ]
    gold = load_gold(accepted.gold())
    assert list(gold) == ["gold_output", "other"]
    case = gold["gold_output"]
    assert np.array_equal(case.variants["unbiased"].input, case.input), "on the same inputs"
    for ddof, met in ((0, ""), (1, "unbiased")):
        found = judge({"output": case.input.std(axis=0, ddof=ddof)}, case)
        assert (found.agrees, found.met) == (True, met)
    assert not judge({"output": case.input.std(axis=0, ddof=2)}, case).agrees
    other = gold["other"]
    assert not judge({"output": other.input.std(axis=0, ddof=1)}, other).agrees, "which only that case accepts"


@pytest.mark.long
def test_variants_are_verified_traced_and_stable(accepted: CourseOnDisk) -> None:
    assert accepted.run("generate", "hw1").code == 0
    assert VARIANT_FILE in load_gold(accepted.gold()).manifest.provenance.solution
    before = accepted.gold_bytes()
    assert accepted.run("generate", "hw1", "--force").last_line.startswith("hw1: not a byte changed")
    assert accepted.gold_bytes() == before
    assert accepted.run("verify", "hw1", "--reproduce").code == 0
    accepted.write({VARIANT_FILE: "def scale(x):\n    return x.std(axis=0, ddof=1) / 0\n"})
    assert "changed since" in accepted.run("status").out
    run = accepted.run("generate", "hw1")
    assert run.code == 3
    assert "gold_output.unbiased" in run.out
    assert "Inf" in run.out
    assert accepted.gold_bytes() == before


def test_a_variant_must_be_there_and_must_differ(accepted: CourseOnDisk) -> None:
    accepted.write({VARIANT_FILE: "def scale(x):\n    return x.std(axis=0)\n"})
    run = accepted.run("generate", "hw1")
    assert run.code == 0
    assert "the variant unbiased gives the same answer, so it need not be accepted" in run.out
    accepted.write({RECIPE_FILE: recipe(BODY.replace("unbiased", "nowhere"))})
    run = accepted.run("generate", "hw1")
    assert run.code == 3
    assert "accepts the variant 'nowhere', but private/solutions/hw1/variants/nowhere/ is not there" in run.last_line
    assert "there are unbiased" in run.last_line


def test_a_variant_must_fit_the_starter_too(accepted: CourseOnDisk) -> None:
    accepted.write({VARIANT_FILE: "def scale(x, ddof):\n    return x.std(axis=0, ddof=ddof)\n"})
    run = accepted.run("generate", "hw1")
    assert run.code == 3
    assert "ops.scale has another signature" in run.out
