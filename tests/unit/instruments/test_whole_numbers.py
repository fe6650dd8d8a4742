"""Noise leaves whole numbers as they are, whatever operation they come from, and everything else moves as before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.whole_numbers import FUNCTIONS, inputs
from goldsmith.frameworks.framework import conditions
from goldsmith.gold.sizes import relative_size

DTYPES = [torch.float32, torch.float64, torch.bfloat16, torch.float16]


def moved_by(function: Any, given: Any, seeds: int = 2) -> float:
    """How far noise moves what a function returns, relative to its size."""
    plain, farthest = function(given), 0.0
    for seed in range(1, seeds + 1):
        with conditions(noise=seed):
            noisy = function(given.clone())
        farthest = max(farthest, relative_size((noisy - plain).double().numpy(), plain.double().numpy()))
    return farthest


@pytest.mark.parametrize("name", FUNCTIONS)
def test_rounding_decides_nothing_that_is_counted_or_chosen(name: str) -> None:
    assert moved_by(FUNCTIONS[name], inputs()) < 1e-5


WHOLE = st.lists(st.integers(-200, 200), min_size=1, max_size=12)
OPERATIONS = {
    "round": lambda x: (x + 0.25).round(),
    "floor": lambda x: (x + 0.25).floor(),
    "mm": lambda x: x[:, None] @ torch.ones(1, 2, dtype=x.dtype),
    "bmm": lambda x: torch.bmm(x[None, :, None], torch.ones(1, 1, 2, dtype=x.dtype)),
    "addmm": lambda x: torch.addmm(x[:, None], x[:, None], torch.zeros(1, 1, dtype=x.dtype)),
    "div": lambda x: x / 1,
    "mean": lambda x: x[:, None].expand(-1, 4).mean(-1),
    "prod": lambda x: x[:, None].prod(-1),
    "in place": lambda x: x.clone().add_(1).mul_(2).sub_(2).div_(2),
    "foreach": lambda x: torch._foreach_add([x.clone()], 1.0)[0] - 1,
    "index_add": lambda x: torch.zeros_like(x).index_add_(0, torch.arange(len(x)), x),
    "lerp": lambda x: torch.lerp(x, x, 1.0),
    "sqrt": lambda x: torch.sqrt(x * x),
}


@settings(deadline=None, max_examples=60)
@given(WHOLE, st.sampled_from(sorted(OPERATIONS)), st.sampled_from(DTYPES[:2]), st.integers(1, 5))
def test_whole_results_stay_whole_whatever_the_operation(values: list[int], name: str, dtype: Any, seed: int) -> None:
    given_ = torch.tensor(values, dtype=dtype)
    with conditions(noise=seed):
        found = OPERATIONS[name](given_)
    assert torch.equal(found, OPERATIONS[name](given_))


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(0, 128), min_size=1, max_size=9), st.sampled_from(DTYPES[2:]), st.integers(1, 5))
def test_so_do_tensors_of_whole_numbers_in_few_bits(values: list[int], dtype: Any, seed: int) -> None:
    given_ = torch.tensor(values, dtype=dtype)
    with conditions(noise=seed):
        found = (given_ * 1.0 + 0.0).floor()
    assert torch.equal(found, given_)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("scale", [1e-3, 1.0, 50.0, 3e4])
def test_everything_else_is_disturbed(dtype: Any, scale: float) -> None:
    """Also large numbers, which are all whole in a coarse dtype."""
    values = torch.from_numpy(np.random.default_rng(0).uniform(0.5, 1, 2000) * scale).to(dtype)
    with conditions(noise=1):
        found = values * 1.0
    moved = (found != values).double().mean()
    assert moved > 0.3
    assert ((found - values).double().abs() <= 1.6 * torch.finfo(dtype).eps * values.double().abs()).all()


def test_large_whole_numbers_are_rounded_ones() -> None:
    values = torch.full((1000,), 123456792.0)  # float32 has only every eighth whole number there
    with conditions(noise=1):
        assert ((values + 8) != values + 8).any() or not torch.equal(values * 1.0, values)
