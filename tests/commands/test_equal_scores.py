"""Equal scores: which are so by rounding alone, which rule the solution follows, and gold that float64 decides
otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from goldsmith.gold.load import load_gold
from support.course import RECIPE_FILE, SOLUTION_FILE, CourseOnDisk, numpy_course, recipe

SOLUTION = """
    import numpy as np

    WEIGHTS = np.random.default_rng(3).normal(size=(24, 17))
    WEIGHTS[:, [2, 13]] *= 2
    WEIGHTS[:, 11] = WEIGHTS[:, 2] * (1 + 1e-4)
    WEIGHTS[:, 4] = WEIGHTS[:, 13]
    TABLE = np.random.default_rng(4).normal(size=(17, 24))


    def score(x):
        return (x.astype(np.float64) @ WEIGHTS).astype(x.dtype)


    def best(scores):
        return scores.argmax(-1)


    def scale(x, steps=9):
        tokens, scores = [best(x @ WEIGHTS.astype(x.dtype))], []
        for _ in range(steps):
            hidden = TABLE.astype(x.dtype)[tokens[-1]] + x
            found = hidden @ WEIGHTS.astype(x.dtype)
            backwards = (hidden * WEIGHTS.astype(x.dtype)[:, 2])[:, ::-1].cumsum(-1)[:, -1]
            found[:, 11] = backwards
            scores.append(found)
            tokens.append(best(found))
        return np.stack(tokens[1:], 1), np.stack(scores, 1)
"""
STARTER = "".join(
    f"def {name}:\n    raise NotImplementedError\n\n\n" for name in ("score(x)", "best(scores)", "scale(x, steps=9)")
)
RECIPE = """
    @gs.case
    def gold_output(case):
        x = case.input("x", lambda: np.random.randn(12, 24).astype(np.float32))
        tokens, scores = scale(x)
        case.choice("tokens", tokens, scores=scores, steps=1)

    @gs.case
    def half(case):
        x = case.input("x", lambda: np.random.randn(60, 24).astype(np.float16))
        scores = score(x)
        case.choice("best", best(scores), scores=scores, ties="first")

    @gs.case
    def undeclared(case):
        x = case.input("x", lambda: np.random.randn(60, 24).astype(np.float32))
        scores = score(x)
        case.record("scores", scores)
        case.record("best", best(scores))
"""


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    """Gold of which some tokens are others in float64, and what was scored after them: it is not refused for that."""
    course = numpy_course(tmp_path_factory.mktemp("equal") / "course")
    text = recipe(RECIPE).replace("import scale", "import best, scale, score")
    course.write({RECIPE_FILE: text, SOLUTION_FILE: SOLUTION, "src/assignments/hw1/ops.py": STARTER})
    return course.with_gold(calibrate=True)


def checked(course: CourseOnDisk, *edits: tuple[str, str]) -> dict[str, dict[str, Any]]:
    """The verdicts on an edited solution, by case."""
    code = SOLUTION
    for old, new in edits:
        assert old in code
        code = code.replace(old, new)
    course.write({"submission/ops.py": code})
    run = course.run("check", "hw1", str(Path(course.root, "submission", "ops.py")), "--json")
    return {case["name"]: case for case in run.json["submissions"][0]["cases"]}


def test_gold_whose_choices_tie_and_are_others_in_float64_is_gold(course: CourseOnDisk) -> None:
    case = load_gold(course.gold())["gold_output"]
    assert case.entry.choices[0].close
    assert "output.tokens_scores" not in (case.reference or {}), "float64 follows other tokens, and says nothing of it"
    assert checked(course)["gold_output"]["outcome"] == "agrees"
    wrong = checked(course, ("found[:, 11] = backwards", "found[:, 11] = backwards + 0.1"))["gold_output"]
    assert wrong["outcome"] == "differs"


def test_which_scores_are_equal_by_rounding_alone_is_kept(course: CourseOnDisk) -> None:
    gold = load_gold(course.gold())
    assert gold["half"].entry.choices[0].told_apart
    assert "equal:output.best" in gold["half"].choice_arrays


def test_a_rule_for_equal_scores_decides_where_they_are_equal_and_rounding_where_they_are_not(
    course: CourseOnDisk,
) -> None:
    """One submission chooses before it rounds; the other takes the last of equal ones."""
    before = checked(
        course,
        ("return scores.argmax(-1)", "return (best.exact if scores.dtype == np.float16 else scores).argmax(-1)"),
        ("return (x.astype", "best.exact = x.astype(np.float64) @ WEIGHTS\n        return (x.astype"),
    )["half"]
    assert before["outcome"] == "agrees", before["reason"]
    assert before["chosen"][0]["ties"]
    last = checked(course, ("return scores.argmax(-1)", "return 16 - scores[:, ::-1].argmax(-1)"))
    assert last["half"]["outcome"] == "differs"
    assert "whose score is equal: the first of equal scores is right" in last["half"]["chosen"][0]["why"]


def test_a_rule_that_nobody_declared_is_noticed_and_breaking_it_is_doubt(course: CourseOnDisk) -> None:
    (choice,) = load_gold(course.gold())["undeclared"].entry.choices
    assert (choice.ties, choice.found) == ("first", "what scores output.scores has")
    last = checked(course, ("return scores.argmax(-1)", "return 16 - scores[:, ::-1].argmax(-1)"))["undeclared"]
    assert last["outcome"] == "inconclusive"
    assert "the first of equal scores is right, if that is meant" in last["reason"]
    assert any('case.choice with ties="first" for best' in note for note in last["notes"])
    near = checked(
        course, ("return scores.argmax(-1)", "return np.where(scores.argmax(-1) == 11, 7, scores.argmax(-1))")
    )
    assert near["undeclared"]["outcome"] == "differs"
