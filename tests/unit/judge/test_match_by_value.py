"""A tensor is found by its numbers, whatever order and shape they have, and by nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from goldsmith.judge.policy import CLOSE
from goldsmith.judge.traces import ValueIndex, distance

NUMBERS = st.sampled_from([0.0, -0.0, 1.0, 1.0 + CLOSE / 2, 1.0 + CLOSE * 3, -2.5, 1e30, np.inf, -np.inf, np.nan])
DTYPES = st.sampled_from(["float32", "float64", "complex64", "int64"])


@np.errstate(invalid="ignore")
def _tensor(numbers: list[float], dtype: str) -> Any:
    return np.array(numbers).astype(dtype)


TENSORS = st.builds(_tensor, st.lists(NUMBERS, max_size=4), DTYPES)


@np.errstate(invalid="ignore")
@given(st.lists(TENSORS, max_size=5), TENSORS)
def test_it_is_held_if_one_is_close_once_both_are_sorted(produced: list[Any], gold: Any) -> None:
    assert ValueIndex(produced).holds(gold) == _one_by_one(produced, gold)


def _one_by_one(produced: Sequence[Any], gold: Any) -> bool:
    return any(
        item.size == gold.size
        and {item.dtype.kind, gold.dtype.kind} <= set("fc")
        and distance(np.sort(item, axis=None), np.sort(gold, axis=None)) <= CLOSE
        for item in produced
    )


@given(arrays.arrays(np.float32, (2, 3, 2), elements=st.floats(-9, 9, width=32)), st.randoms())
def test_order_and_shape_do_not_matter(tensor: Any, random: Any) -> None:
    numbers = list(tensor.reshape(-1))
    random.shuffle(numbers)
    assert ValueIndex([np.array(numbers, dtype=np.float32).reshape(4, 3)]).holds(tensor)
    off = tensor.copy()
    off[0, 0, 0] += 100
    assert not ValueIndex([off]).holds(tensor)


def test_infinite_values_that_are_the_same_are_compared_without_a_warning() -> None:
    mask = np.triu(np.full((3, 3), -np.inf), 1)
    with np.errstate(invalid="raise"):
        assert distance(mask + np.eye(3), mask + np.eye(3)) == 0
        assert distance(mask + np.eye(3), mask) > 0
