"""Weights whose axes lie otherwise: patterns lead there and back, in any library, and say when they do not fit."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldsmith.weights.axes import arrangement, fits_between, inverse, read_axes
from goldsmith.weights.placement import Placed
from goldsmith.weights.rule_lines import line_of
from goldsmith.weights.rules import Adapter, BadRule, adapter_from, read_adapter, rename, rows
from goldsmith.weights.transplant import plan

SIZES = st.lists(st.integers(1, 4), min_size=1, max_size=5).map(tuple)


@st.composite
def patterns(draw: Any) -> tuple[str, tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Return a pattern, the shapes that it leads between, and the order and signs of its axes."""
    sizes = draw(SIZES)
    names = "abcde"[: len(sizes)]
    order = draw(st.permutations(range(len(sizes))))
    signs = tuple(draw(st.sampled_from((1, -1))) for _ in sizes)
    sides, shapes = [], []
    for number, axes in enumerate((range(len(sizes)), order)):
        groups = [list(group) for _, group in itertools.groupby(axes, key=lambda axis: draw(st.integers(0, 2)))]
        if number:  # sizes must be known from one side at least: this one has each axis by itself
            groups = [[axis] for axis in axes]
        text = [[("-" if number and signs[axis] < 0 else "") + names[axis] for axis in group] for group in groups]
        sides.append(" ".join(f"({' '.join(group)})" if len(group) > 1 else group[0] for group in text))
        shapes.append(tuple(math.prod(sizes[axis] for axis in group) for group in groups))
    return " -> ".join(sides), shapes[0], shapes[1], tuple(order), signs


@given(patterns())
def test_a_pattern_moves_every_number_to_its_place_and_back(drawn: Any) -> None:
    text, one, two, order, signs = drawn
    way = arrangement(text, one, two)
    assert way is not None
    numbers = np.arange(math.prod(one)).reshape(one)
    there = way.carry(numbers)
    sizes = [two[order.index(axis)] for axis in range(len(order))]
    wanted = np.flip(numbers.reshape(sizes), [axis for axis, sign in enumerate(signs) if sign < 0]).transpose(order)
    assert np.array_equal(there, wanted)
    assert np.array_equal(way.bring_back(there), numbers)
    back = arrangement(inverse(text), two, one)
    assert back is not None
    assert np.array_equal(back.carry(there), numbers)


@given(SIZES, SIZES)
def test_every_fit_leads_from_one_shape_to_the_other_and_back(one: Any, two: Any) -> None:
    numbers = np.arange(math.prod(one)).reshape(one)
    for fit in fits_between(one, two):
        item = _placed(one, two, fit.kind == "turned", fit.axes)
        (there,) = item.carry([numbers])
        assert there.shape == two
        assert np.array_equal(item.bring_back([there])[0], numbers)


def _placed(one: Any, two: Any, transpose: bool, axes: str) -> Placed:
    adapter = adapter_from(lambda: rename("here", "there", transpose=transpose, axes=axes))
    (item,) = plan({"here": one}, {"there": two}, adapter, "", {}).placed
    return item


@pytest.mark.parametrize(
    ("one", "two", "wanted"),
    [
        ((4, 6), (6, 4), ["turned"]),
        ((4, 4), (4, 4), ["plain", "turned"]),
        ((8, 3, 5, 2), (5, 2, 3, 8), ["channels last"]),
        ((8, 1, 3, 3), (3, 3, 1, 8), ["channels last"]),
        ((3, 8, 5, 2), (5, 2, 3, 8), ["channels last, reversed"]),
        ((8, 3, 5), (5, 3, 8), ["channels last"]),
        ((8, 3, 5, 2, 7), (5, 2, 7, 3, 8), ["channels last"]),
        ((8, 8, 3, 3), (3, 3, 8, 8), ["channels last", "channels last, reversed"]),
        ((12, 10), (10, 3, 4), ["heads apart"]),
        ((10, 12), (3, 4, 10), ["heads apart", "patches"]),
        ((8, 3, 5, 2), (30, 8), ["patches", "patches"]),
        ((8,), (2, 4), ["reshaped"]),
        ((8, 3), (3, 9), []),
    ],
)
def test_shapes_tell_what_may_lie_behind_them(one: Any, two: Any, wanted: list[str]) -> None:
    assert [fit.kind for fit in fits_between(one, two, kernel=1)] == wanted
    assert [fit.kind for fit in fits_between(two, one, kernel=0)] == wanted
    assert set(wanted) <= {fit.kind for fit in fits_between(one, two)}


@pytest.mark.parametrize(
    "text", ["o i", "o i -> o", "o o -> o o", "o i -> i (o", "o i -> i o i", "o (i (h)) -> o i h", "->->"]
)
def test_what_is_no_pattern_is_refused_with_how_to_write_one(text: str) -> None:
    with pytest.raises(BadRule, match="every name once on each side"):
        adapter_from(lambda: rename("a", "b", axes=text))


def test_a_pattern_that_leaves_a_size_open_fits_nothing() -> None:
    assert read_axes("(h d) -> (d h)").between((6,), (6,)) is None
    assert read_axes("(h d) e -> e h d").between((6, 2), (2, 3, 3)) is None


def test_rows_can_be_of_other_axes_on_either_side() -> None:
    """One matrix of q, k and v for three kernels by heads, and the reverse; biases as well."""
    whole, parts = (12, 6), (6, 2, 2)
    for axes, gold, theirs in (
        ("(h d) e -> e h d", {"w": whole}, dict.fromkeys("qkv", parts)),
        ("e h d -> (h d) e", dict.fromkeys("qkv", parts), {"w": whole}),
        ("(h d) -> h d", {"w": (12,)}, dict.fromkeys("qkv", (2, 2))),
        ("(p h d) e -> e p h d", dict.fromkeys("qkv", (4, 6)), {"w": (6, 3, 2, 2)}),
    ):

        def declare(axes: str = axes, gold: Any = gold, theirs: Any = theirs) -> None:
            rows(list(gold), list(theirs), axes=axes)

        adapter: Adapter = adapter_from(declare)
        (item,) = plan(gold, theirs, adapter, "", {}).placed
        numbers = np.arange(math.prod(whole))
        given_ = [numbers[: math.prod(shape)].reshape(shape) + 100 * at for at, shape in enumerate(gold.values())]
        there = item.carry(given_)
        assert [one.shape for one in there] == list(theirs.values())
        assert all(np.array_equal(*pair) for pair in zip(item.bring_back(there), given_, strict=True))
        assert read_adapter(f"from goldsmith.adapter import *\n{line_of(item.rule)}".encode(), "a").rules == [item.rule]


def test_q_k_and_v_of_one_matrix_come_out_by_heads() -> None:
    adapter = adapter_from(lambda: rows("in", ["q", "k", "v"], axes="(h d) e -> e h d"))
    (item,) = plan({"in": (12, 6)}, dict.fromkeys("qkv", (6, 2, 2)), adapter, "", {}).placed
    whole = np.random.default_rng(0).normal(size=(12, 6))
    x = np.random.default_rng(1).normal(size=6)
    for part, kernel in zip(np.split(whole, 3), item.carry([whole]), strict=True):
        assert np.allclose(np.einsum("e,ehd->hd", x, kernel), (part @ x).reshape(2, 2))


def test_a_slice_of_a_stack_may_have_other_axes() -> None:
    adapter = adapter_from(lambda: rename("layers.#.weight", "layers.kernel", axes="o i -> i o"))
    gold = {f"layers.{number}.weight": (4, 6) for number in range(3)}
    (item,) = plan(gold, {"layers.kernel": (3, 6, 4)}, adapter, "", {}).placed
    given_ = [np.full((4, 6), number) for number in range(3)]
    (stack,) = item.carry(given_)
    assert stack.shape == (3, 6, 4)
    assert [int(part[0, 0]) for part in stack] == [0, 1, 2]
    assert all(np.array_equal(*pair) for pair in zip(item.bring_back([stack]), given_, strict=True))
