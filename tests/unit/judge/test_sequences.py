"""Sequences of choices: the first wrong one is the finding; what follows a tie is judged where gold was continued."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from goldsmith.comparison.api import compare
from goldsmith.gold.choices import Branch, Choice
from goldsmith.judge.choices import excuse_victims, judge_choices
from goldsmith.judge.decision import choice_notes, unjudged_reason
from goldsmith.judge.verdicts import ChoiceVerdict

GOLD = np.array([[9, 0, 1, 2, 3], [9, 4, 3, 2, 1]])
"""Two rows that go on from 9. In the first row, 5 ties with 1 at the second step."""
SCORES = np.zeros((2, 4, 6))
for _row, _step in np.ndindex(2, 4):
    SCORES[_row, _step, GOLD[_row, _step + 1]] = 10.0
SCORES[0, 1, 5] = 9.999
OTHER = np.zeros((3, 6))
OTHER[[0, 1, 2], [5, 0, 4]] = 10.0
OTHER[0, 1] = 9.999
ARRAYS = {"scores:output": SCORES, "widths:output": np.full(SCORES.shape, 0.01)}
BRANCHED = {**ARRAYS, "branch:output:0:chosen": np.array([[5], [0], [4]]), "branch:output:0:scores": OTHER}
CHOICE = Choice(path="output", axis=2, steps=1, positions=8, close=1)
CONTINUED = Choice(path="output", axis=2, steps=1, positions=8, close=1, branches=(Branch(row=0, step=1, chosen=(5,)),))


def judged(rows: Any, choice: Choice = CHOICE, arrays: Any = ARRAYS) -> ChoiceVerdict:
    actual, expected = {"output": np.array(rows)}, {"output": GOLD}
    found, (verdict,) = judge_choices(compare(actual, expected), actual, expected, [choice], arrays)
    assert found.agrees == (not verdict.wrong)
    return verdict


def test_the_first_wrong_step_is_told_and_not_what_follows() -> None:
    found = judged([[9, 0, 1, 3, 5], [9, 4, 3, 2, 1]])
    assert (found.wrong, found.index, found.ties) == (1, (0, 3), 0)
    assert "3 is chosen, and the score of 2 is better by 10" in found.why


def test_what_follows_a_tie_is_not_judged_and_never_a_pass() -> None:
    found = judged([[9, 0, 5, 0, 4], [9, 4, 3, 2, 1]])
    assert (found.wrong, found.ties, found.unjudged) == (0, 1, 2)
    assert "2 of 8 choices in the output are not judged: they follow a tie" in unjudged_reason([found])


def test_a_tie_at_the_end_leaves_nothing_open() -> None:
    scores = SCORES.copy()
    scores[0, 3, 0] = 9.995
    found = judged([[9, 0, 1, 2, 0], [9, 4, 3, 2, 1]], arrays={**ARRAYS, "scores:output": scores})
    assert (found.ties, found.unjudged, found.wrong) == (1, 0, 0)


@pytest.mark.parametrize(
    ("rest", "wrong", "index"), [((5, 0, 4), 0, ()), ((5, 0, 3), 1, (0, 4)), ((5, 2, 3), 1, (0, 3))]
)
def test_both_continuations_count_and_others_are_wrong(rest: Any, wrong: int, index: Any) -> None:
    found = judged([[9, 0, *rest], [9, 4, 3, 2, 1]], CONTINUED, BRANCHED)
    assert (found.wrong, found.unjudged) == (wrong, 0)
    assert found.index == index


def test_gold_that_was_not_continued_there_is_not_gone_on_from() -> None:
    scores = SCORES.copy()
    scores[1, 1, 0] = 9.995
    found = judged([[9, 0, 1, 2, 3], [9, 4, 0, 5, 5]], CONTINUED, {**BRANCHED, "scores:output": scores})
    assert (found.wrong, found.unjudged) == (0, 2)


def test_what_was_given_must_stay() -> None:
    assert "no longer there" in judged([[8, 0, 1, 2, 3], [9, 4, 3, 2, 1]]).why


def test_rows_of_which_all_depend_on_a_tie_are_not_judged_after_it() -> None:
    steps = Choice(path="output", axis=2, steps=0, together=True, positions=8, close=1)
    scores, gold = np.moveaxis(SCORES, 0, 1), GOLD[:, 1:].T
    actual = gold.copy()
    actual[1, 0], actual[2:, 1] = 5, 0
    sides = {"output": actual}, {"output": gold}
    arrays = {"scores:output": scores, "widths:output": np.full(SCORES.shape, 0.01)}
    _, (found,) = judge_choices(compare(*sides), *sides, [steps], arrays)
    assert (found.wrong, found.ties, found.unjudged) == (0, 1, 4)
    actual[0, 1] = 0
    _, (found,) = judge_choices(compare(*sides), *sides, [steps], arrays)
    assert (found.wrong, found.index) == (1, (0, 1))


def test_scores_of_another_sequence_are_not_compared_with_golds() -> None:
    recorded = Choice(path="output.t", scores="output.s", axis=2, steps=1, positions=8)
    gold = {"output.t": GOLD, "output.s": SCORES}
    theirs = {"output.t": np.array([[9, 0, 5, 0, 4], [9, 4, 3, 2, 1]]), "output.s": SCORES + 1.0}
    found, excused = excuse_victims(theirs, gold, [recorded])
    assert excused == ["output.s"]
    assert (found["output.s"][0, 2:] == SCORES[0, 2:]).all(), "they follow another choice"
    assert (found["output.s"][0, :2] == SCORES[0, :2] + 1).all()
    assert (found["output.s"][1] == SCORES[1] + 1).all()


@pytest.mark.parametrize(
    ("chosen", "rounded_to", "wrong", "unjudged"),
    [(1, "", 1, 0), (1, "bfloat16", 0, 1), (1, "tf32", 0, 1), (2, "bfloat16", 1, 0), (0, "bfloat16", 0, 0)],
)
def test_in_a_coarser_dtype_what_may_be_a_tie_is_not_judged(
    chosen: int, rounded_to: str, wrong: int, unjudged: int
) -> None:
    scores = np.array([[10.0, 9.95, 3.0]], np.float32)
    choice = Choice(path="output", axis=1, positions=1, close=0)
    arrays = {"scores:output": scores, "widths:output": np.full((1, 1, 3), 1e-5)}
    sides = {"output": np.array([chosen])}, {"output": np.array([0])}
    _, found = judge_choices(compare(*sides), *sides, [choice], arrays, rounded_to)
    assert [(item.wrong, item.unjudged) for item in found] == ([(wrong, unjudged)] if chosen else [])
    kept_wider = arrays | {"scores:output": scores.astype(np.float64)}  # as scores are that were not recorded
    assert judge_choices(compare(*sides), *sides, [choice], kept_wider, rounded_to)[1] == found


def test_whole_numbers_without_scores_are_exact_and_that_is_said() -> None:
    sides = (
        {"output.n": np.array([1, 2, 4]), "output.x": np.ones(3)},
        {"output.n": np.arange(3), "output.x": np.ones(3)},
    )
    found, verdicts = judge_choices(compare(*sides), *sides, [], {})
    assert (found.agrees, verdicts) == (False, ())
    said = "n is compared exactly: no scores are known that it was chosen by"
    assert choice_notes(verdicts, found, [], "the reference's") == [said]
    (told,) = choice_notes(verdicts, found, [])
    assert told == f"{said}; case.choice tells them, and case.continues how it goes on after a tie"
    assert choice_notes(verdicts, found, [Choice(path="output.n", axis=0, positions=3, close=0)]) == []


def test_a_set_in_another_order_is_no_other_choice_and_excuses_nothing() -> None:
    gold, scores = np.array([[0, 1], [2, 0], [1, 2]]), np.arange(12.0).reshape(3, 4)
    expected = {"output.k": gold, "output.s": scores}
    actual = {"output.k": gold[:, ::-1], "output.s": np.full_like(scores, -7)}
    form = {"path": "output.k", "scores": "output.s", "axis": 1, "steps": 0, "count": 2, "positions": 6, "close": 0}
    swapped = [Choice(**form), Choice(**form, unordered=True)]
    assert [bool(excuse_victims(actual, expected, [choice])[1]) for choice in swapped] == [True, False]


def test_a_fraction_is_no_choice_and_a_tie_is_no_distance() -> None:
    scores = np.array([[10.0, 9.99999, 3.0]])
    arrays = {"scores:output": scores, "widths:output": np.full((1, 1, 3), 1e-4)}
    choice = Choice(path="output", axis=1, positions=1, close=1)
    for chosen, gold, agrees in (([1], [0], True), ([0.9], [0.0], False)):
        sides = {"output": np.array(chosen)}, {"output": np.array(gold)}
        found, _ = judge_choices(compare(*sides), *sides, [choice], arrays)
        assert found.agrees == agrees
        assert (found.leaves[0].relative == 0) == agrees


@pytest.mark.parametrize(("scores", "wrong", "unjudged"), [([0.1, 0.1], 1, 0), (np.float16([0.1, 0.1]), 0, 1)])
def test_scores_that_half_precision_makes_equal_are_not_judged_by_a_rule_for_equal_ones(
    scores: Any, wrong: int, unjudged: int
) -> None:
    sides = {"output": np.array([1])}, {"output": np.array([0])}
    arrays = {"scores:output": np.array([scores]), "widths:output": np.full((1, 1, 2), 1e-3)}
    choice = Choice(path="output", axis=1, positions=1, close=1, ties="first")
    _, (found,) = judge_choices(compare(*sides), *sides, [choice], arrays)
    assert (found.wrong, found.unjudged) == (wrong, unjudged)
