"""What a student reads: names that can be read as they stand, the case that shows a mistake clearly, plain words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given

from goldsmith import compare
from goldsmith.check.check import first_case
from goldsmith.check.leaf_words import how_far, leaf_lines
from goldsmith.grade.feedback import feedback_markdown
from goldsmith.grade.grades import grade
from goldsmith.grade.overview import overview_of
from goldsmith.grade.redaction import code, escaped
from goldsmith.grade.verdict_markdown import verdict_markdown
from support.made_verdicts import case, leaf, rubric, shown, source, texts, verdict


@pytest.mark.parametrize(
    ("text", "shown_as"),
    [
        ("gold_output is off", "`gold_output` is off"),
        ("blocks.0.norm (RMSNorm; model.py, line 3)", "`blocks.0.norm` (`RMSNorm`; `model.py`, line 3)"),
        ("`act` alone: a chunk", "`act` alone: a chunk"),
        ("e.g. 4.71e+05 times, NaN, a*b", "e.g. 4.71e+05 times, NaN, a\\*b"),
        ("see www.here.example", "see `www.here.example`"),
        ("[x](http://a)", "\\[x\\](http:\\//a)"),
        ("ask @ta_one <b>", "ask \\@`ta_one` \\<b\\>"),
        ("a_b`c_d", "a\\_b\\`c\\_d"),
    ],
)
def test_names_are_code_and_nothing_else_is_markup(text: str, shown_as: str) -> None:
    assert escaped(text) == shown_as


@given(texts)
def test_whatever_is_shown_every_code_span_ends(text: str) -> None:
    for line in (escaped(text), code(text)):
        assert line.replace("\\\\", "").replace("\\`", "").count("`") % 2 == 0


def test_of_cases_that_run_as_little_the_first_that_shows_it_clearly_is_told() -> None:
    """An eps in the wrong place is a hair beyond the tolerance where numbers are large."""
    by_case = shown(
        {"large": ["Norm"], "small": ["Norm"], "again": ["Norm"], "other": ["Head"], "whole": ["Norm", "Head"]}
    )

    def wrong(name: str, part: str, off: float) -> object:
        leaves = (leaf(relative=off),)
        found = {"first_divergence": part, "first_part": part, "modules": (source("", part, off, name),)}
        return case(name, "differs", leaves=leaves, natural=leaves, **found)

    cases = [wrong("whole", "Norm", 0.9), wrong("large", "Norm", 5e-7), wrong("other", "Head", 0.9)]
    cases += [wrong("small", "Norm", 0.4), wrong("again", "Norm", 0.8)]
    assert first_case(cases, by_case).name == "small"  # type: ignore[arg-type, union-attr]
    assert first_case(cases[:3], by_case).name == "large"  # type: ignore[arg-type, union-attr]


def test_a_function_that_is_wrong_in_two_ways_is_two_mistakes() -> None:
    """Where it is not known how far the function itself is off, its first wrong record says it."""
    grades = []
    for name, off in (("ada", 0.01), ("ben", 0.3), ("cai", 0.3)):
        bad = source("train", "train", float("inf"))
        leaves = (leaf(path="output.loss", relative=off, elements=1), leaf(path="output.weights.w", relative=0.9))
        wrong = case("steps", "differs", leaves=leaves, first_divergence="train", first_part="train", modules=(bad,))
        grades.append(grade(verdict(wrong, name=name), rubric()))
    assert [item.names for item in overview_of("hw1", grades).clusters] == [("ben", "cai"), ("ada",)]


def test_a_gradient_that_is_not_there_is_told_as_that() -> None:
    missing = leaf(path="output.gradients.embedding.weight", problem="type", actual_dtype="None", gold_dtype="float32")
    assert how_far(missing) == "is None: no gradient reaches it"
    assert how_far(leaf(path="output.y", problem="type", actual_dtype="None", gold_dtype="float32")).startswith(
        "is None,"
    )


def test_a_hint_speaks_to_who_wrote_it() -> None:
    hinted = leaf(guess="actual is gold with its sign flipped")
    assert "it looks like this: yours is the right result with its sign flipped (checked)" in leaf_lines(
        hinted, reveal=False
    )
    assert "it looks like this: actual is gold with its sign flipped (checked)" in leaf_lines(hinted, reveal=True)


@pytest.mark.parametrize("made", [bool, np.bool_, lambda value: np.array([value, value])])
def test_a_flag_that_is_wrong_can_be_graded(made: Any) -> None:
    leaves = compare({"output.flag": made(False)}, {"output.flag": made(True)}).leaves
    found = verdict(case("whole", "differs", leaves=leaves, natural=leaves))
    text = feedback_markdown(grade(found, rubric()), found)
    assert "flag" in text
    assert "True" not in text, "it is gold's"


def test_reduced_precision_is_told_beside_the_values() -> None:
    why = "the output differs: computed in float16 inside"
    found = verdict(case("whole", "differs", kind="precision", reason=why))
    assert f"\n- {why}\n" in feedback_markdown(grade(found, rubric()), found)


def test_a_lone_output_has_no_name_of_its_own() -> None:
    bad = case("whole", "differs", leaves=(leaf(),), natural=(leaf(),))
    assert "\n- the output is off by 25% of its size\n" in verdict_markdown(verdict(bad))
