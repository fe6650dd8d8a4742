"""What a student reads: names that can be read as they stand, the case that shows a mistake clearly, plain words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldsmith import compare
from goldsmith.check.check import first_case
from goldsmith.comparison.results import SKETCHED
from goldsmith.courses.grade.feedback import feedback_markdown
from goldsmith.courses.grade.grades import grade
from goldsmith.courses.grade.overview import overview_of
from goldsmith.courses.grade.redaction import code, escaped
from goldsmith.courses.grade.rubric import make_rubric
from goldsmith.courses.grade.verdict_markdown import verdict_markdown
from goldsmith.courses.layout.config import RubricConfig
from goldsmith.judge.decision import shown_path
from goldsmith.judge.leaf_words import STEP_WORDS, how_far, leaf_lines, step_of
from support.made_verdicts import CASES, case, failed, leaf, part, rubric, shown, source, texts, verdict


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


# --- students are told in steps, and by name -------------------------------------------------------------------------


@given(st.floats(1.0, 1e15, exclude_min=True), st.integers(0, 8), st.sampled_from(["", SKETCHED]))
def test_how_far_is_told_to_students_in_steps(excess: float, mismatched: int, tolerance: str) -> None:
    off = leaf(excess=excess, mismatched=mismatched, tolerance=tolerance, index=None, actual=None)
    (line,) = leaf_lines(off, reveal=False)
    assert "times" not in line
    assert STEP_WORDS[step_of(excess)] in line
    (told,) = leaf_lines(off, reveal=True)[:1]
    assert "as allowed" in told


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("output", "the output"),
        ("output.y", "y"),
        ("output.long.24", "item 24 of long"),
        ("output.1", "item 1 of the output"),
        ("output.pairs.2.0", "item 0 of item 2 of pairs"),
        ("output.gradients.blocks.0.weight", "gradients.blocks.0.weight"),
        ("gradients.0.weight", "gradients.0.weight"),
        ("model_state_dict", "the checkpoint"),
    ],
)
def test_what_has_no_name_is_an_item_of_what_has_one(path: str, name: str) -> None:
    assert shown_path(path) == name


def test_an_item_is_marked_as_code_by_the_name_of_its_record() -> None:
    for path, said in (
        ("output.long.24", "item 24 of `long`"),
        ("output.1", "item 1 of the output"),
        ("output.y", "`y`"),
    ):
        found = verdict(case("whole", "differs", leaves=(leaf(path=path),), natural=()), parts=())
        assert f"- {said} is off by 25% of its size" in verdict_markdown(found)


@pytest.mark.parametrize(
    ("others", "said"),
    [
        ({"Head": "agrees", "Model": "agrees", "loss": "agrees"}, "it is the only part that is wrong."),
        (
            {"Head": "agrees", "Model": "agrees"},
            "it is the only part that is known to be wrong; `loss` could not be judged.",
        ),
        (
            {"Head": "differs", "Model": "could-not-run", "loss": "agrees"},
            "it is the first part that goes wrong; `Head` is wrong, too; `Model` could not be run.",
        ),
    ],
)
def test_what_is_the_only_wrong_part_is_said_to_be_the_only_one(others: dict[str, str], said: str) -> None:
    parts = [part(name, outcome, case="whole") for name, outcome in ({"Norm": "differs"} | others).items()]
    whole = case("whole", "differs", first_divergence="norm1", first_part="Norm", modules=(source("norm1", "Norm"),))
    found = verdict(whole, parts=parts, first_functions=("Norm.forward",), first_place="model.py:3")
    lines = feedback_markdown(grade(found, rubric()), found).splitlines()
    first = "" if said.endswith("is wrong.") else " first"
    assert lines[2] == f"**Next step.** Look at `norm1` (`Norm.forward`){first}, in `model.py`, line 3: {said}"


def test_the_next_step_names_few_of_many_parts() -> None:
    whole = case("whole", "differs", first_divergence="Norm", first_part="Norm", modules=(source("", "Norm"),))
    names = [f"part_{number}" for number in range(20)]
    found = verdict(whole, parts=[part("Norm", "differs"), *(part(name, "could-not-run") for name in names)])
    graded = grade(found, make_rubric(RubricConfig(), CASES, ["Norm", *names]))
    (line,) = [it for it in feedback_markdown(graded, found).split("\n") if "Next step" in it]
    assert line.endswith("`part_5` and 14 more could not be run.")


def test_of_cases_that_nobody_can_explain_no_part_is_called_the_only_wrong_one() -> None:
    parts = [part("Norm", "differs"), *(part(name) for name in ("Head", "Model", "loss"))]
    whole = case("whole", "differs", first_divergence="Norm", first_part="Norm", modules=(source("", "Norm"),))
    found = verdict(whole, case("steps", "differs"), parts=parts)
    assert "it is the first to go wrong" in feedback_markdown(grade(found, rubric()), found)


def test_what_is_not_judged_says_why_and_what_would_change_it() -> None:
    explained = case("whole", "differs", first_divergence="Norm", first_part="Norm", modules=(source("", "Norm"),))
    tied = case("whole", "differs", corrected=("Head", "Norm"), modules=(source("", "Norm"),))
    for wrong, name, why in (
        (
            explained,
            "Head",
            "in whole Norm goes wrong, and nothing shows this part by itself; correct Norm, and it can be judged",
        ),
        (tied, "Head", "whole is right only once this part and Norm are; correct Norm, and it can be judged"),
        (
            case("whole", "differs", unseen=("Head.forward",)),
            "Head",
            "whole is not right, and it is not known whether because of this part; staff will look at it",
        ),
        (case("norm"), "Head", "no case shows it by itself; staff will look at it"),
        (
            case("whole", unseen=("Head.forward",)),
            "Head",
            "whole is right without showing whether this part is; staff will look at it",
        ),
    ):
        found = verdict(wrong, parts=())
        scored = grade(found, rubric(parts={name: 1.0}))
        assert scored.items[0].why == f"not judged: {why}"
        assert f": {escaped(why)}." in feedback_markdown(scored, found)


def test_everything_is_said_in_one_word() -> None:
    found = verdict(*(case(name, "could-not-run", **failed("raised", "ValueError: no")) for name in CASES))
    text = feedback_markdown(grade(found, rubric()), found)
    assert "**No points yet**, could not run: everything." in text
    assert "Marked for review by staff: everything." in text
    assert "- the same in every case" in text


def test_where_one_part_keeps_a_case_from_running_the_others_are_said_to_be_right() -> None:
    parts = [part("Norm", "could-not-run", case="norm"), *(part(name) for name in ("Head", "Model", "loss"))]
    found = verdict(case("norm", "could-not-run"), case("whole"), parts=parts)
    said = feedback_markdown(grade(found, rubric()), found).splitlines()[2]
    assert said.startswith("**Next step.** 1 of 2 cases could not be run, so it was not judged.")
    assert said.endswith("All other parts are right.")
