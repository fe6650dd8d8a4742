"""Where a leaf differs, in slices and words, and guesses why: each is checked before it is said."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from goldsmith.comparison import blocks
from goldsmith.comparison import mismatch_location as places
from goldsmith.comparison.api import compare

DRAW = np.random.default_rng(3)


def normal(*shape: int, dtype: Any = np.float32) -> Any:
    return DRAW.standard_normal(shape).astype(dtype)


def where(shape: tuple[int, ...], wrong: Any, **options: Any) -> str:
    gold = normal(*shape)
    mask = np.zeros(shape, bool)
    mask[wrong] = True
    return str(compare(np.where(mask, gold + 1, gold), gold, **options).leaves[0].where)


def guess(actual: Any, gold: Any, **options: Any) -> str:
    return str(compare(actual, gold, **options).leaves[0].guess)


# --- where


@pytest.mark.parametrize(
    ("shape", "wrong", "said"),
    [
        ((4, 5), np.s_[:], "everywhere"),
        ((4, 5), np.s_[:, -1], "only the last column, [:, -1]"),
        ((4, 5), np.s_[:, 0], "only the first column, [:, 0]"),
        ((4, 5), np.s_[2], "only row 2, [2, :]"),
        ((9, 5), np.s_[3:], "rows 3 and up, [3:, :]"),
        ((9, 5), np.s_[:4], "rows up to 3, [:4, :]"),
        ((9, 5), np.s_[2:4], "rows 2 to 3, [2:4, :]"),
        ((4, 6), np.s_[:, ::2], "every second column, [:, ::2]"),
        ((4, 6), np.s_[:, 1::2], "every second column, [:, 1::2]"),
        ((9,), np.s_[5:], "elements 5 and up, [5:]"),
        ((3, 5, 6), np.s_[:, 3:, -1], "exactly [:, 3:, -1]"),
        ((3, 5, 6), np.s_[1], "only index 1 of axis 0, [1, :, :]"),
        ((3, 5), np.s_[1, 2], "only at [1, 2]"),
        ((4, 9), np.s_[:, [0, 3, 7]], "exactly [:, {0, 3, 7}]"),
        ((6, 6), np.triu_indices(6, 1), "the upper triangle above the diagonal"),
        ((6, 6), np.tril_indices(6), "the lower triangle with the diagonal"),
        ((6, 6), np.diag_indices(6), "the diagonal"),
        ((5, 8), ([1, 1, 3], [2, 3, 5]), "within [1:4, 2:6], 3 of 12 elements there"),
        ((5, 8), ([0, 1, 4], [0, 3, 7]), "scattered over the whole array, 3 of 40 elements"),
    ],
)
def test_where(shape: tuple[int, ...], wrong: Any, said: str) -> None:
    assert where(shape, wrong) == said


def test_a_triangle_of_the_last_two_axes() -> None:
    mask = np.broadcast_to(np.triu(np.ones((7, 7), bool), 1), (2, 3, 7, 7))
    assert where((2, 3, 7, 7), mask) == "the upper triangle above the diagonal of the last two axes"


def sliced(text: str, shape: tuple[int, ...]) -> Any:
    """The mask that slices in a text stand for."""
    mask = np.zeros(shape, bool)
    axes = []
    for size, item in zip(shape, re.split(r", (?![^{]*})", text.strip("[]")), strict=True):
        if item.startswith("{"):
            axes.append([int(index) for index in item.strip("{}").split(",")])
        elif ":" in item:
            axes.append(list(range(size))[slice(*(int(part) if part else None for part in item.split(":")))])
        else:
            axes.append([int(item)])
    mask[np.ix_(*axes)] = True
    return mask


@settings(max_examples=150, deadline=None)
@given(
    hnp.array_shapes(min_dims=1, max_dims=3, min_side=2, max_side=6).flatmap(
        lambda shape: hnp.arrays(bool, shape, elements=st.booleans())
    ),
    st.integers(1, 9),
    st.booleans(),
)
def test_slices_hold_every_mismatch_and_exact_ones_nothing_else(mask: Any, chunk: int, long_axes: bool) -> None:
    gold = normal(*mask.shape)
    before = blocks.CHUNK, places.MAX_AXIS, places.MAX_MASK
    blocks.CHUNK = chunk
    if long_axes:
        places.MAX_AXIS, places.MAX_MASK = 3, 0
    try:
        leaf = compare(np.where(mask, gold + 1, gold), gold).leaves[0]
    finally:
        blocks.CHUNK, places.MAX_AXIS, places.MAX_MASK = before
    assert leaf.mismatched == mask.sum()
    if leaf.where.startswith("within ["):
        box = sliced(re.search(r"\[.*\]", leaf.where)[0], mask.shape)
        assert not (mask & ~box).any()
        assert leaf.where.endswith(f"{mask.sum()} of {box.sum()} elements there")
    elif "[" in leaf.where:
        assert (sliced(re.search(r"\[.*\]", leaf.where)[0], mask.shape) == mask).all()
    elif leaf.where == "everywhere":
        assert mask.all()


# --- guesses


@pytest.mark.parametrize("shape", [(6, 6), (3, 5, 5), (6, 9)])
def test_transposed(shape: tuple[int, ...]) -> None:
    gold = normal(*shape)
    axes = len(shape) - 2, len(shape) - 1
    assert guess(gold.swapaxes(*axes), gold) == f"actual is gold transposed: axes {axes[0]} and {axes[1]} are swapped"
    almost = gold.swapaxes(*axes).copy()
    almost[..., 0, 1] += 1
    assert guess(almost, gold) == ""


def test_axes_in_another_order() -> None:
    gold = normal(3, 4, 5)
    assert "[1, 2, 0]" in guess(gold.transpose(1, 2, 0), gold)


def test_another_shape() -> None:
    gold = normal(4, 6)
    assert guess(gold.reshape(24), gold) == "the same numbers in the same order, as [24] instead of [4, 6]"
    assert guess(normal(24), gold) == ""
    assert guess(normal(23), gold) == ""


def test_sign_flipped() -> None:
    gold = normal(40)
    assert guess(-gold, gold) == "actual is gold with its sign flipped"
    half = np.where(np.arange(40) < 20, -gold, gold)
    assert guess(half, gold) == ""


@pytest.mark.parametrize(
    ("factor", "said"),
    [
        (2, "2"),
        (0.5, "1/2 (0.5)"),
        (8, "sqrt(64) (8)"),
        (1 / 8, "1/sqrt(64) (0.125)"),
        (64, "64"),
        (1.25, "1.25"),
        (-3, "-3"),
    ],
)
def test_constant_factor(factor: float, said: str) -> None:
    gold = normal(3, 64)
    assert guess(gold * np.float32(factor), gold) == f"actual is gold times {said}"
    assert guess(gold * np.linspace(factor, factor + 1, 64, dtype=np.float32), gold) == ""


def test_constant_offset() -> None:
    gold = normal(30)
    assert guess(gold + np.float32(0.25), gold) == "actual is gold plus 0.25"
    assert guess(gold + np.linspace(0.2, 0.3, 30, dtype=np.float32), gold) == ""


def test_the_same_number_everywhere() -> None:
    assert guess(np.zeros(30, np.float32), normal(30)) == "actual is 0 everywhere"
    assert guess(np.eye(6, dtype=np.float32), normal(6, 6)) == ""


@pytest.mark.parametrize("axis", [0, 1])
def test_reversed(axis: int) -> None:
    gold = normal(5, 7)
    assert guess(np.flip(gold, axis), gold) == f"actual is gold reversed along axis {axis}"


@pytest.mark.parametrize(("shift", "way"), [(1, "later"), (-1, "earlier")])
def test_shifted_by_one(shift: int, way: str) -> None:
    gold = normal(5, 7)
    shifted = np.roll(gold, shift, 1)
    assert f"shifted by one along axis 1: each entry stands one place {way}" in guess(shifted, gold)
    shifted[:, 0 if shift > 0 else -1] = 0
    assert f"each entry stands one place {way}" in guess(shifted, gold), "what comes in at the end may be anything"
    constant = np.tile(normal(5, 1), (1, 7))
    constant[:, -1] = 9
    other = constant.copy()
    other[:, -1] = 8
    assert guess(other, constant) == "", "shifting changes nothing here"


def test_permuted() -> None:
    gold = normal(8, 5)
    order = np.array([3, 0, 7, 1, 6, 2, 5, 4])
    assert guess(gold[order], gold) == "actual is gold with the entries of axis 0 in another order (8 of 8 moved)"
    swapped = gold.copy()
    swapped[[2, 5]] = gold[[5, 2]]
    assert guess(swapped, gold) == "actual is gold with entries 2 and 5 of axis 0 swapped"
    assert guess(np.roll(gold, 3, 0), gold) == "actual is gold shifted round by 3 along axis 0"
    wrong = gold[order]
    wrong[1, 1] += 1
    assert guess(wrong, gold) == ""


def test_the_same_numbers_in_another_order() -> None:
    gold = normal(4, 6)
    assert guess(gold.T.copy().reshape(4, 6), gold) == "the same numbers in another order"
    assert guess(normal(4, 6), gold) == ""


@pytest.mark.parametrize("name", ["bfloat16", "float16", "float32"])
def test_rounded_through_a_smaller_dtype(name: str) -> None:
    torch = pytest.importorskip("torch")
    gold = torch.from_numpy(normal(50, dtype=np.float64 if name == "float32" else np.float32))
    rounded = gold.to(getattr(torch, name)).to(gold.dtype)
    assert guess(rounded, gold, rtol=1e-9) == f"actual is gold rounded to {name}"
    assert guess(rounded * 1.001, gold, rtol=1e-9) != f"actual is gold rounded to {name}"
    assert guess(torch.round(gold), gold) == ""


@pytest.mark.parametrize(
    ("actual", "gold"),
    [
        (np.float32([1, 2]), np.float32([2, 1])),
        (np.zeros((4, 4), np.float32), np.ones((4, 4), np.float32)),
        (np.float32([0, 0, 0, 2]), np.float32([0, 0, 0, 1])),
        (np.array([True, False, True]), np.array([False, True, False])),
        (np.float32([1000, 1001, 1002]) + 5e-4, np.float32([1000, 1001, 1002])),
    ],
)
def test_trivial_data_is_never_explained(actual: Any, gold: Any) -> None:
    assert not compare(actual, gold, rtol=0, atol=0)
    assert guess(actual, gold, rtol=0, atol=0) in ("", "actual is gold plus 0.000488281")


def test_noise_is_never_explained() -> None:
    for size in (3, 5, 16, 100, 1000):
        for _ in range(20):
            assert guess(normal(size), normal(size)) == ""
            assert guess(normal(size, 3), normal(size, 3)) == ""


def test_guesses_look_at_the_whole_array() -> None:
    gold = normal(300, 500)
    actual = -gold
    actual[77, 133] = 5
    assert guess(actual, gold) == ""
    assert guess(-gold, gold) == "actual is gold with its sign flipped"


def test_infinities_in_their_places_do_not_hide_a_factor() -> None:
    gold = normal(6, 6)
    gold[np.triu_indices(6, 1)] = -math.inf
    assert guess(gold * 2, gold) == "actual is gold times 2"
