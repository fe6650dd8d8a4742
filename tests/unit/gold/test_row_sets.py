"""Rows that may come in any order are paired with gold's, duplicates and near-ties included."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldsmith.gold.row_sets import assignment, in_order_of, is_unorderable


@given(st.integers(0, 2**32), st.integers(1, 6))
def test_the_smallest_total_is_found(seed: int, size: int) -> None:
    costs = np.random.default_rng(seed).random((size, size)).round(1)
    best = min(
        sum(costs[row, column] for row, column in enumerate(order)) for order in itertools.permutations(range(size))
    )
    found = assignment(costs)
    assert sorted(found) == list(range(size))
    assert np.isclose(sum(costs[row, column] for row, column in enumerate(found)), best)


@given(st.integers(0, 2**32), st.integers(1, 30), st.integers(1, 4))
def test_rows_that_rounding_has_moved_are_found_again(seed: int, rows: int, width: int) -> None:
    rng = np.random.default_rng(seed)
    gold = rng.normal(size=(rows, width)).round(1)  # with duplicates
    order = rng.permutation(rows)
    moved = (gold + rng.normal(size=gold.shape) * 1e-7)[order]
    found = in_order_of({"output": gold}, {"output": moved}, ["output"])["output"]
    assert np.allclose(found, gold, atol=1e-6)


@pytest.mark.parametrize("kind", ["constant", "duplicates", "near pairs", "coarse"])
def test_many_rows_are_found_again_whatever_their_first_column(kind: str) -> None:
    """It may be constant but for rounding, and rows may be equal but for it, too."""
    rng = np.random.default_rng(2)
    gold = rng.normal(size=(3000, 6))
    gold[:, 0] = 1.0
    noise = 1e-2 if kind == "coarse" else 1e-7
    if kind == "duplicates":
        gold = np.repeat(gold[:300], 10, axis=0)
    if kind == "near pairs":
        gold[1500:] = gold[:1500] + 1e-5 * rng.normal(size=(1500, 6))
    moved = (gold + noise * rng.normal(size=gold.shape))[rng.permutation(len(gold))]
    found = in_order_of({"output": gold}, {"output": moved}, ["output"])["output"]
    assert np.abs(found - gold).max() < 6 * noise
    assert np.array_equal(np.sort(found, axis=0), np.sort(moved, axis=0)), "each stands for one row"


def test_one_wrong_row_among_many_is_the_only_one_that_differs() -> None:
    rng = np.random.default_rng(3)
    gold = np.concatenate([np.ones((2000, 1)), rng.normal(size=(2000, 5))], axis=1)
    moved = (gold + 1e-7 * rng.normal(size=gold.shape))[rng.permutation(2000)]
    moved[17] += 0.3
    found = in_order_of({"output": gold}, {"output": moved}, ["output"])["output"]
    assert (np.abs(found - gold).max(axis=1) > 1e-5).sum() == 1


def test_a_duplicate_stands_for_one_row_only() -> None:
    gold, theirs = np.array([[1.0], [1.0], [2.0]]), np.array([[2.0], [1.0], [2.0]])
    found = in_order_of({"output": gold}, {"output": theirs}, ["output"])["output"]
    assert sorted(found.ravel()) == [1.0, 2.0, 2.0]
    assert not np.array_equal(found, gold)


def test_arrays_of_one_record_keep_their_rows_together() -> None:
    gold = {"output.boxes": np.array([[0.0, 1.0], [2.0, 3.0]]), "output.labels": np.array([7, 8])}
    theirs = {"output.boxes": gold["output.boxes"][::-1], "output.labels": gold["output.labels"]}
    found = in_order_of(gold, theirs, ["output"])
    assert not all(np.array_equal(found[path], gold[path]) for path in gold), "each label is that of its box"


def test_rows_keep_their_whole_numbers_whatever_rounding_does_next_to_them() -> None:
    """Ids over their size lie closer than probabilities are rounded."""
    rng = np.random.default_rng(0)
    ids, order = 10**8 + np.arange(40), rng.permutation(40)
    right = (1 - rng.random(40) * 3e-7).astype(np.float32)
    rounded = (right * (1 + rng.choice([-1, 0, 1], 40) * 6e-8)).astype(np.float32)
    gold = {"output.id": np.repeat(ids[:20], 2), "output.p": right}
    theirs = {"output.id": gold["output.id"][order], "output.p": rounded[order]}
    found = in_order_of(gold, theirs, ["output"])
    assert np.array_equal(found["output.id"], gold["output.id"])
    assert np.abs(found["output.p"] - right).max() < 3e-7
    gold, theirs = {"output.id": ids, "output.p": right}, {"output.id": ids[order], "output.p": rounded[order]}
    found = in_order_of(gold, theirs, ["output"])
    assert np.array_equal(found["output.id"], ids)
    assert np.array_equal(found["output.p"], rounded)


@pytest.mark.parametrize("kind", [np.int64, np.uint64])
def test_whole_numbers_beyond_float64_are_told_apart(kind: type) -> None:
    gold = 2**60 + np.arange(6).astype(kind)
    assert np.array_equal(in_order_of({"output": gold}, {"output": gold[::-1]}, ["output"])["output"], gold)


def test_a_wrong_whole_number_is_the_only_one_that_differs() -> None:
    gold = 2**60 + np.arange(6)
    theirs = gold[::-1].copy()
    theirs[2] += 100
    found = in_order_of({"output": gold}, {"output": theirs}, ["output"])["output"]
    assert (found != gold).tolist() == [False, False, False, True, False, False]


def test_plain_numbers_that_rounding_has_moved_are_found_again() -> None:
    values = [0.1, "a", 0.3, 0.2, float("nan"), 7]
    gold = {f"output.{place}": value for place, value in enumerate(values)}
    moved = [math.nextafter(item, 1.0) if isinstance(item, float) else item for item in reversed(values)]
    moved[moved.index("a")] = "b"
    found = in_order_of(gold, {f"output.{place}": item for place, item in enumerate(moved)}, ["output"])
    assert [found[path] for path in ("output.1", "output.5")] == ["b", 7]
    assert all(math.isclose(found[f"output.{place}"], values[place]) for place in (0, 2, 3))
    assert math.isnan(found["output.4"])


def test_words_are_paired_as_they_are() -> None:
    gold = {"output.0": "a", "output.1": "b", "output.2": "b"}
    assert in_order_of(gold, {"output.0": "b", "output.1": "a", "output.2": "b"}, ["output"]) == gold
    other = in_order_of(gold, {"output.0": "b", "output.1": "a", "output.2": "a"}, ["output"])
    assert sorted(other.values()) == ["a", "a", "b"]


def test_another_form_stays_as_it_is() -> None:
    gold, theirs = {"output": np.arange(3)}, {"output": np.arange(4)[::-1]}
    assert in_order_of(gold, theirs, ["output"])["output"] is theirs["output"]
    assert not is_unorderable(3.0)
    assert not is_unorderable({"a": np.zeros(2), "b": np.zeros(3)})
    assert is_unorderable(["x", "y"])
