"""Tensors of two models that hold the same numbers with other axes."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from goldsmith.model_parity.aligned_calls import align_outputs, as_shaped, correspond

shapes = st.lists(st.integers(1, 4), min_size=1, max_size=4)


def numbers(shape: list[int]) -> Any:
    return np.random.default_rng(0).normal(size=shape)


@settings(max_examples=100, deadline=None)
@given(shapes, st.data())
def test_axes_in_another_order_come_back_in_the_reference_s(shape: list[int], data: st.DataObject) -> None:
    mine = numbers(shape)
    theirs = mine.transpose(data.draw(st.permutations(range(mine.ndim))))
    assert correspond(theirs, mine)
    back = as_shaped(theirs, mine)
    assert back.shape == mine.shape
    if theirs.squeeze().shape != mine.squeeze().shape:  # tensors of the same shape are taken as they are
        assert np.array_equal(back, mine)


@settings(max_examples=100, deadline=None)
@given(shapes, st.data())
def test_neighbouring_axes_may_be_one(shape: list[int], data: st.DataObject) -> None:
    mine = numbers(shape)
    cut = data.draw(st.integers(0, mine.ndim - 1))
    theirs = mine.reshape(*shape[:cut], -1)
    if sorted(size for size in theirs.shape if size > 1) != sorted(size for size in shape if size > 1):
        assert correspond(theirs, mine)
        assert np.array_equal(as_shaped(theirs, mine), mine)
        assert np.array_equal(as_shaped(mine, theirs), theirs)


def test_tensors_of_the_same_shape_are_never_turned() -> None:
    mine = numbers([4, 4])
    assert as_shaped(mine.T, mine) is not mine
    assert np.array_equal(as_shaped(mine.T, mine), mine.T), "a matrix that was not transposed back is wrong"


def test_a_convolution_and_a_matrix_do_not_correspond() -> None:
    assert not correspond(numbers([2, 9, 24]), numbers([2, 24, 3, 3]))
    assert not correspond(numbers([2, 5]), numbers([2, 6]))


def test_what_fits_as_it_is_goes_before_what_fits_turned() -> None:
    one, two = numbers([3, 5]), numbers([5, 3])
    found = align_outputs((two, one), (one, two))
    assert found[0] is two
    assert found[1] is one
