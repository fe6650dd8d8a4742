"""Choices are judged by gold's scores: another one is a tie, or it is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corpora.choices import STARTER_PATH, course_of_choices, variants
from goldsmith.comparison.against_gold import compare_case
from goldsmith.gold.arrays import judged_part
from goldsmith.gold.load import load_gold
from goldsmith.judge.choices import judge_choices
from support.course import RECIPE_FILE, SOLUTION_FILE, CourseOnDisk, numpy_course, recipe

SCORED = """
    @gs.case
    def gold_output(case):
        x = case.input("x", lambda: np.random.randn(40, 24).astype(np.float32))
        scores = scale(x)
"""
TIED = """
    import numpy as np

    WEIGHTS = np.random.default_rng(3).normal(size=(24, 17)).astype(np.float32)
    WEIGHTS[:, [2, 13]] *= 2
    WEIGHTS[:, 11] = WEIGHTS[:, 2] * np.float32(1 - 2e-7)
    WEIGHTS[:, 4] = WEIGHTS[:, 13] * np.float32(1 - 1e-4)


    def scale(x):
        return x @ WEIGHTS
"""


def checked(course: CourseOnDisk, code: str, name: str = "ops.py") -> dict[str, Any]:
    """The verdict on a submission."""
    path = course.root / "submission" / name
    course.write({f"submission/{name}": code})
    run = course.run("check", "hw1", str(path), "--json")
    return run.json["submissions"][0]


# --- one course whose recipe has a choice of each kind; ways to be right and wrong are edits


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    body = (
        SCORED
        + """
        case.choice("best", scores.argmax(-1), scores=scores)
        case.choice("hidden", np.argsort(-scores, axis=-1, kind="stable")[:, :3], scores=lambda found: scale(x))

    @gs.case
    def found(case):
        x = case.input("x", lambda: np.random.randn(40, 24).astype(np.float32))
        scores = scale(x)
        case.record("scores", scores)
        case.record("best", scores.argmax(-1))
        case.record("numbers", np.arange(40) % 7)

    @gs.case
    def experts(case):
        x = case.input("x", lambda: np.random.randn(40, 24).astype(np.float32))
        scores = scale(x)
        best = scores.argmax(-1)
        case.choice("best", best, scores=scores)
        case.record("y", x[:, :5] * (1 + best[:, None]).astype(x.dtype))

    @gs.case
    def rows(case):
        x = case.input("x", lambda: np.random.randn(40, 24).astype(np.float32))
        case.record("y", scale(x)[::3], unordered=True)
    """
    )
    course = numpy_course(tmp_path_factory.mktemp("kinds") / "course")
    course.write({RECIPE_FILE: recipe(body), SOLUTION_FILE: TIED})
    return course.with_gold(calibrate=True)


def edited(old: str, new: str) -> str:
    assert old in TIED
    return TIED.replace(old, new)


def test_choices_are_found_without_being_told_and_chance_is_not(kinds: CourseOnDisk) -> None:
    gold = load_gold(kinds.gold())
    (choice,) = gold["found"].entry.choices
    assert (choice.path, choice.scores, choice.best) == ("output.best", "output.scores", "highest")
    assert choice.found == "what scores output.scores has"
    assert 0 < choice.close < choice.positions == 40
    assert [item.path for item in gold["gold_output"].entry.choices] == ["output.best", "output.hidden"]
    assert not gold["rows"].entry.choices
    assert any(item.name == "near-tie:found" for item in gold.manifest.advice)


def test_a_tie_is_right_and_shown_and_its_scores_are_judged_as_ever(kinds: CourseOnDisk) -> None:
    swapped = edited("return x @ WEIGHTS", "y = x @ WEIGHTS\n        y[:, [2, 11]] = y[:, [11, 2]]\n        return y")
    verdict = checked(kinds, swapped)
    for case in verdict["cases"][:2]:
        assert case["outcome"] == "agrees", case
        assert case["chosen"][0]["ties"] > 0
        assert "not gold's and as right" in " ".join(case["notes"])


def test_a_row_that_a_tie_sends_to_another_expert_is_nobodys_fault(kinds: CourseOnDisk) -> None:
    """In float32 alone: a run in float64 decides. Where it does the same there, or is wrong elsewhere, it differs."""
    swap = "y = x @ WEIGHTS\n        if {}:\n            y[:, [2, 11]] = y[:, [11, 2]]\n        return y"
    rounding = checked(kinds, edited("return x @ WEIGHTS", swap.format("x.dtype == np.float32")))
    case = rounding["cases"][2]
    assert (case["outcome"], case["judged_in"]) == ("agrees", "float64"), case
    assert "y is not judged in rows that a tie sends elsewhere" in case["notes"]
    everywhere = checked(kinds, edited("return x @ WEIGHTS", swap.format("True")))
    assert everywhere["cases"][2]["outcome"] == "differs"


def test_whole_numbers_in_rows_of_a_tie_are_doubted(tmp_path: Path) -> None:
    """They may follow from the other choice, and may be anything: no run in float64 tells."""
    body = """
    @gs.case
    def gold_output(case):
        x = case.input("x", lambda: np.random.randn(40, 24).astype(np.float32))
        scores, best, labels = scale(x)
        case.choice("best", best, scores=scores)
        case.record("labels", labels)
"""
    table = "scores = x @ WEIGHTS\n        best = scores.argmax(-1)\n        return scores, best, 10 * best"
    course = numpy_course(tmp_path / "course")
    course.write({RECIPE_FILE: recipe(body), SOLUTION_FILE: edited("return x @ WEIGHTS", table)})
    course.with_gold(calibrate=True)
    other = table.replace(
        "return scores", "rows = best == 2\n        best = np.where(rows, 11, best)\n        return scores"
    )
    for labels, outcome in (("np.where(rows, -999, 10 * best)", "inconclusive"), ("10 * best + 1", "differs")):
        code = edited("return x @ WEIGHTS", other.replace("best, 10 * best", f"best, {labels}"))
        assert checked(course, code)["outcome"] == outcome


EQUAL = """
    import numpy as np

    WEIGHTS = np.random.default_rng(3).normal(size=(24, 17)).astype(np.float32)
    WEIGHTS[:, 2] *= 2
    WEIGHTS[:, 11] = WEIGHTS[:, 2]


    def scale(x):
        scores = x @ WEIGHTS
        best = scores.argmax(-1)
        return scores, best, x[:, :5] * (1 + best[:, None]).astype(x.dtype), 10 * best, np.bincount(best, minlength=17)
"""
FOLLOWING = """
    @gs.case
    def gold_output(case):
        x = case.input("x", lambda: np.random.randn(40, 24).astype(np.float32))
        scores, best, y, labels, counts = scale(x)
        case.choice("best", best, scores=scores)
        for name, value in (("y", y), ("labels", labels), ("counts", counts), ("share", float(counts[2]) / 40)):
            case.record(name, value)
"""


@pytest.fixture(scope="module")
def equal(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    course = numpy_course(tmp_path_factory.mktemp("equal") / "course")
    course.write({RECIPE_FILE: recipe(FOLLOWING), SOLUTION_FILE: EQUAL})
    return course.with_gold(calibrate=True)


@pytest.mark.parametrize(
    ("edits", "outcome"),
    [
        ({}, "inconclusive"),
        ({"10 * best": "np.where(best == 11, -9, 10 * best)"}, "inconclusive"),
        ({"10 * best": "10 * best + 1"}, "differs"),
        ({"x[:, :5] *": "1.1 * x[:, :5] *"}, "differs"),
        ({"x[:, :5] *": "np.float32(np.nan) * x[:, :5] *"}, "differs"),
        ({"return scores": "best[0] = (best[0] + 1) % 17\n        return scores"}, "differs"),
        ({"x[:, :5]": "x[:, :4]"}, "differs"),
    ],
    ids=["right", "doubtful", "labels", "values", "nan", "choice", "shape"],
)
def test_what_follows_from_equal_scores_fails_nobody_and_passes_nobody(
    equal: CourseOnDisk, edits: dict[str, str], outcome: str
) -> None:
    """Scores that are equal in float64, too: values, whole numbers, counts and single numbers that follow."""
    code = EQUAL.replace("scores.argmax(-1)", "16 - scores[:, ::-1].argmax(-1)")
    for old, new in edits.items():
        assert old in code
        code = code.replace(old, new)
    verdict = checked(equal, code)
    assert verdict["outcome"] == outcome, verdict["cases"][0]["reason"]
    if not edits:
        assert "tie" in verdict["cases"][0]["reason"]
        assert checked(equal, EQUAL)["outcome"] == "agrees"


def test_another_dtype_is_never_a_tie(kinds: CourseOnDisk) -> None:
    course_of_kinds = load_gold(kinds.gold())["found"]
    gold = course_of_kinds.output["best"]
    tied = gold.copy()
    tied[np.isin(gold, (2, 11))] = 11
    assert (tied != gold).any()
    for dtype, agrees in ((gold.dtype, True), (np.float32, False), (np.int32, False)):
        actual = {"output.best": tied.astype(dtype)}
        expected = judged_part(course_of_kinds.data)
        compared = compare_case(actual, {"output.best": gold}, course_of_kinds)
        choices = course_of_kinds.entry.choices
        found, _ = judge_choices(compared, actual, expected, choices, course_of_kinds.choice_arrays)
        assert found.agrees == agrees, dtype


def test_what_is_off_by_more_than_noise_is_wrong_and_named(kinds: CourseOnDisk) -> None:
    verdict = checked(
        kinds, edited("return x @ WEIGHTS", "y = x @ WEIGHTS\n        y[:, 4] += 2e-4 * abs(y[:, 4])\n        return y")
    )
    first = verdict["cases"][0]
    assert first["outcome"] == "differs"
    assert "times what noise explains" in first["chosen"][0]["why"]
    assert first["chosen"][0]["index"]


@pytest.mark.parametrize(
    "scores", ["x @ WEIGHTS * np.nan", "x @ WEIGHTS * 1e30", "x @ WEIGHTS * 0", "np.full((len(x), 17), np.inf)"]
)
def test_a_submission_cannot_make_ties_by_its_own_scores(kinds: CourseOnDisk, scores: str) -> None:
    verdict = checked(kinds, edited("return x @ WEIGHTS", f"return ({scores}).astype(x.dtype)"))
    assert {case["name"]: case["outcome"] for case in verdict["cases"]} == dict.fromkeys(
        ("gold_output", "found", "experts", "rows"), "differs"
    )


def test_rows_in_another_order_agree_and_other_rows_do_not(kinds: CourseOnDisk) -> None:
    order = "y = x @ WEIGHTS\n        y[::3] = y[::3][::-1].copy()\n        return y"
    verdict = checked(kinds, edited("return x @ WEIGHTS", order))
    assert verdict["cases"][3]["outcome"] == "agrees"
    twice = "y = x @ WEIGHTS\n        y[3] = y[0]\n        return y"
    assert checked(kinds, edited("return x @ WEIGHTS", twice))["cases"][3]["outcome"] == "differs"


def test_students_do_not_see_what_gold_chose(kinds: CourseOnDisk) -> None:
    code = edited("return x @ WEIGHTS", "return -(x @ WEIGHTS)")
    kinds.write({"class/a/ops.py": code})
    run = kinds.run("grade", "hw1", "class", "--output", "grades")
    assert run.code in (0, 1), run.out + run.err
    texts = [path.read_text() for path in (kinds.root / "grades").rglob("*.md")]
    assert any("and not a tie" in text for text in texts)
    assert not any("what noise explains" in text for text in texts)


# --- the corpus


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    return course_of_choices(tmp_path_factory.mktemp("choices") / "course").with_gold(calibrate=True)


@pytest.mark.long
@pytest.mark.parametrize("variant", variants("right"), ids=lambda item: item.name)
def test_right_choices_that_differ_by_rounding_never_fail(corpus: CourseOnDisk, variant: Any) -> None:
    verdict = checked(corpus, variant.code, Path(STARTER_PATH).name)
    assert verdict["outcome"] == "agrees", [(case["name"], case["reason"]) for case in verdict["cases"]]


@pytest.mark.long
@pytest.mark.parametrize("variant", variants("wrong"), ids=lambda item: item.name)
def test_wrong_choices_are_found_and_named(corpus: CourseOnDisk, variant: Any) -> None:
    verdict = checked(corpus, variant.code, Path(STARTER_PATH).name)
    case = next(case for case in verdict["cases"] if case["name"] == variant.case)
    assert case["outcome"] == "differs"
    said = [item["why"] for item in case["chosen"]] + [
        f"{leaf['path']} {'has shape' if leaf['problem'] == 'shape' else ''}"
        for leaf in case["leaves"]
        if not leaf["agrees"]
    ]
    assert any(variant.says in text for text in said), said
