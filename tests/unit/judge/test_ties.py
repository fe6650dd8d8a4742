"""The rule of ties: by gold's scores, another choice is a tie or it is wrong."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goldsmith.comparison.results import Comparison, LeafComparison
from goldsmith.gold.choice_ruling import rule
from goldsmith.gold.choices import (
    WIDTHS_PREFIX,
    Choice,
    Layout,
    Misfit,
    best_of,
    close_positions,
    first_problem,
    widths_of,
)
from goldsmith.judge.choices import judge_choices
from goldsmith.recipe.choices import sampling_scores

ONE = Choice(path="output")
SCORES = st.lists(st.floats(-1e3, 1e3, width=32), min_size=2, max_size=12)


def ruling(scores: Any, widths: Any, chosen: Any, choice: Choice = ONE) -> str:
    scores = np.asarray(scores, dtype=float)
    gold = best_of(scores, len(chosen), choice.ties)
    return rule(scores, np.broadcast_to(np.asarray(widths, dtype=float), scores.shape), gold, chosen, choice).outcome


@given(SCORES, st.floats(0, 10), st.data())
def test_one_is_a_tie_within_the_noise_of_the_best_and_wrong_beyond_it(
    scores: list[float], width: float, data: st.DataObject
) -> None:
    chosen = data.draw(st.integers(0, len(scores) - 1))
    gap = max(scores) - scores[chosen]
    same = chosen == int(np.argmax(scores))
    assert ruling(scores, width, [chosen]) == ("same" if same else "tie" if gap <= width else "wrong")


@given(st.floats(1e-9, 1e3), st.integers(0, 5))
def test_two_noise_widths_below_the_best_is_wrong_and_says_how_far(width: float, place: int) -> None:
    scores = np.full(7, -10 * width)
    scores[place], scores[6] = 0.0, -2 * width
    found = rule(scores, np.full(7, width), np.array([place]), np.array([6]), ONE)
    assert found.outcome == "wrong"
    assert "2 times what noise explains" in found.why


@given(st.permutations(range(6)), st.floats(0, 0.4))
def test_an_order_may_swap_only_near_ties(order: list[int], width: float) -> None:
    scores = np.array([5.0, 4.0, 3.9, 2.0, 1.8, 0.0])
    worst = max((scores[b] - scores[a] for i, a in enumerate(order) for b in order[i + 1 :]), default=0.0)
    right = order == list(range(6))
    assert ruling(scores, width, order) == ("same" if right else "tie" if worst <= width else "wrong")


@given(st.sets(st.integers(0, 6), min_size=3, max_size=3), st.floats(0, 1))
def test_a_set_is_judged_by_what_it_leaves_out(chosen: set[int], width: float) -> None:
    scores = np.array([9.0, 3.0, 2.9, 2.5, 2.4, 1.0, 0.0])
    outside = max(scores[[index for index in range(7) if index not in chosen]])
    gap = outside - min(scores[list(chosen)])
    found = ruling(scores, width, sorted(chosen, reverse=True), Choice(path="output", unordered=True))
    assert found == ("same" if chosen == {0, 1, 2} else "tie" if gap <= width else "wrong")


def test_the_best_may_not_be_left_out_for_two_that_tie() -> None:
    assert ruling([10.0, 5.0, 5.0], 0.1, [1, 2], Choice(path="output", unordered=True)) == "wrong"


@pytest.mark.parametrize(("ties", "right", "wrong"), [("first", 1, 3), ("last", 3, 1)])
def test_equal_scores_are_decided_by_the_rule_that_is_fixed(ties: Any, right: int, wrong: int) -> None:
    scores, choice = [0.0, 2.0, 1.0, 2.0], Choice(path="output", ties=ties)
    assert ruling(scores, 1.0, [right], choice) == "same"
    assert ruling(scores, 1.0, [wrong], choice) == "wrong"
    assert ruling(scores, 1.0, [2], choice) == "tie", "another score is nearer than noise"
    assert ruling(scores, 1.0, [3]) == "tie", "where no rule is fixed"


@pytest.mark.parametrize("index", [-1, 4, 10**12, -(10**12)])
def test_what_is_not_there_cannot_be_chosen(index: int) -> None:
    assert ruling([1.0, 1.0, 1.0, 1.0], 9.0, [index]) == "wrong"


@pytest.mark.parametrize("swapped", [1, 2000, 4998])
def test_one_wrong_swap_in_a_long_order_is_found_and_a_tie_is_none(swapped: int) -> None:
    scores = -np.arange(5000.0)
    order = np.arange(5000)
    order[[swapped - 1, swapped]] = order[[swapped, swapped - 1]]
    assert ruling(scores, 0.5, order) == "wrong"
    assert ruling(scores, 1.5, order) == "tie"
    assert ruling(scores, 0.5, order, Choice(path="output", ties="first")) == "wrong"


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 99), size=st.sampled_from([12, 3000]))
def test_each_two_of_an_order_have_a_width_and_a_rule_of_their_own(seed: int, size: int) -> None:
    """One score that is noise all over, put first, and two equal ones behind a near-tie, hide nothing behind them."""
    drawn = np.random.default_rng(seed)
    scores, widths = np.sort(drawn.normal(size=size))[::-1].copy(), np.full(size, 1e-9)
    order, first = np.arange(size), Choice(path="output", ties="first")
    noisy = int(drawn.integers(3, size - 3))
    widths[noisy] = 10.0
    around = [noisy, *order[:noisy], *order[noisy + 1 :]]
    assert ruling(scores, widths, around, first) == "tie"
    one, two = sorted(drawn.choice([item for item in range(1, size) if item != noisy], 2, replace=False))
    exchanged = list(around)
    at, other = exchanged.index(one), exchanged.index(two)
    exchanged[at], exchanged[other] = two, one
    assert ruling(scores, widths, exchanged, first) == "wrong"
    scores[two] = scores[one]
    order = np.argsort(-scores, kind="stable")
    right = [noisy, *order[order != noisy]]
    assert ruling(scores, widths, right, first) == "tie"
    at, other = right.index(one), right.index(two)
    right[at], right[other] = two, one
    assert ruling(scores, widths, right, first) == "wrong"


def test_nothing_is_chosen_twice() -> None:
    assert ruling([3.0, 3.0, 3.0], 9.0, [1, 1]) == "wrong"


def test_what_is_infinitely_bad_is_no_tie_but_with_its_equal() -> None:
    scores = [1.0, -math.inf, -math.inf]
    assert ruling(scores, 5.0, [2]) == "wrong"
    assert ruling(scores, 5.0, [0, 2]) == "tie"
    assert ruling(scores, 5.0, [1, 2]) == "wrong"


def test_where_noise_decides_nothing_can_be_said() -> None:
    assert ruling([1.0, 0.9], math.inf, [1]) == "unknown"


# --- how wide ties are


@given(st.integers(0, 2**32), st.floats(1e-7, 1e-2))
def test_noise_of_a_mask_does_not_make_ties_of_what_it_leaves(seed: int, noise: float) -> None:
    rng = np.random.default_rng(seed)
    scores = np.where(np.arange(20) < 9, -1e9, rng.normal(size=(4, 1, 20)))
    gaps = np.where(scores < -1e8, 100.0, noise)
    widths = widths_of(scores, gaps, 2.0**-23)
    assert (widths[scores > -1e8] <= 3.01 * noise + 4e-6).all()


def test_scores_that_nothing_moves_tie_only_where_they_are_equal() -> None:
    scores = np.array([[[3.0, 3.0, 2.0]]])
    assert not widths_of(scores, np.zeros_like(scores), 2.0**-23).any()
    assert close_positions(scores, np.zeros_like(scores), 1, ONE).all()
    assert not close_positions(scores, np.zeros_like(scores), 1, Choice(path="output", ties="first")).any()


def test_a_near_tie_is_counted_at_its_rank() -> None:
    scores, widths = np.array([[[5.0, 4.0, 3.99, 0.0]]]), np.full((1, 1, 4), 0.05)
    assert close_positions(scores, widths, 3, ONE).tolist() == [[[False, True, False]]]
    assert close_positions(scores, widths, 2, Choice(path="output", unordered=True)).tolist() == [[[True]]]


@given(st.integers(0, 2**32), st.floats(0, 0.999))
def test_a_draw_is_where_its_uniform_number_falls(seed: int, uniform: float) -> None:
    shares = np.random.default_rng(seed).dirichlet(np.ones(7))
    scores = sampling_scores(shares[None], np.array([uniform]), 1)
    drawn = min(int((shares.cumsum() / shares.sum() <= uniform).sum()), 6)
    assert scores[0, drawn] == 0
    assert (scores <= 0).all()


# --- forms


@pytest.mark.parametrize(
    ("value", "scores", "axis", "steps"),
    [
        ((3,), (3, 5), 0, None),
        ((3, 6), (3, 5), 1, None),
        ((3,), (), 0, None),
        ((3,), (3, 5), 2, None),
        ((2,), (3, 5), 1, 0),
    ],
)
def test_forms_that_do_not_fit_are_named(value: Any, scores: Any, axis: int, steps: int | None) -> None:
    with pytest.raises(Misfit, match=r"fit|cannot|not an axis"):
        Layout.of(Choice(path="output", axis=axis, steps=steps), value, scores)


@given(st.permutations(range(3)), st.sampled_from(["one", "several"]))
def test_axes_may_lie_anywhere(axes: list[int], kind: str) -> None:
    scores = np.random.default_rng(1).normal(size=(4, 3, 7)).transpose(axes)
    axis = axes.index(2)
    count = 1 if kind == "one" else 3
    value = np.moveaxis(best_of(np.moveaxis(scores, axis, -1), count, ""), -1, axis)
    value = value.squeeze(axis) if kind == "one" else value
    layout = Layout.of(Choice(path="output", axis=axis, steps=None), value.shape, scores.shape)
    assert not first_problem(layout, value, scores)
    assert layout.chosen(value).shape == (12, 1, count)


def test_what_is_given_to_go_on_from_has_no_scores() -> None:
    layout = Layout.of(Choice(path="output", axis=-1, steps=1), (2, 9), (2, 6, 11))
    assert layout.lead == 3
    assert layout.scores(np.zeros((2, 6, 11))).shape == (2, 6, 11)
    assert layout.chosen(np.zeros((2, 9))).shape == (2, 9, 1)


# --- what a submission's own scores say of equal ones


@pytest.mark.parametrize(
    ("own", "agree", "chosen", "wrong", "unjudged"),
    [
        ([0.5, 1.0, 1.0 + 1e-12, 0.2], True, 2, 0, 1),
        ([0.5, 1.0, 1.0, 0.2], True, 2, 1, 0),
        ([0.5, 1.0 + 1e-12, 1.0, 0.2], True, 2, 1, 0),
        ([0.5, 1.0, 1.0 + 1e-12, 0.2], False, 2, 1, 0),
        ([0.5, 1.0, 1.0, 1.0 + 1e-12], True, 3, 1, 0),
    ],
)
def test_equal_scores_that_rounding_parts_are_not_judged_and_others_are_wrong(
    own: list[float], agree: bool, chosen: int, wrong: int, unjudged: int
) -> None:
    choice = Choice(path="output.t", scores="output.s", axis=1, ties="first", positions=1, told_apart=True)
    gold = {"output.t": np.array([1]), "output.s": np.array([[0.5, 1.0, 1.0, 0.2]])}
    actual = {"output.t": np.array([chosen]), "output.s": np.array([own])}
    shape = {"gold_dtype": "int64", "actual_dtype": "int64", "gold_shape": (1,), "actual_shape": (1,)}
    leaves = (
        LeafComparison(path="output.s", agrees=agree, elements=4),
        LeafComparison(path="output.t", agrees=False, elements=1, problem="values", **shape),
    )
    arrays = {f"{WIDTHS_PREFIX}output.t": np.full((1, 1, 4), 1e-9)}
    (found,) = judge_choices(Comparison(leaves), actual, gold, [choice], arrays)[1]
    assert (found.wrong, found.unjudged, found.ties) == (wrong, unjudged, 0)
