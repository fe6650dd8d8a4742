"""Code that rounds inside whatever it is given is told apart from a small mistake, by how it responds in float64."""

from __future__ import annotations

from typing import Any

import pytest

from goldsmith.gold.tolerances import Tolerance
from goldsmith.judge.follows_dtype import nudges, rounds_inside, slope_gap
from goldsmith.judge.policy import ROUNDS_INSIDE

torch = pytest.importorskip("torch")

from corpora.rounding_inside import FUNCTIONS, drawn, hidden  # noqa: E402

pytestmark = pytest.mark.torch
DTYPES = ("bfloat16", "float16", "float32")
SHARP = {"output": Tolerance(kind="measured", reason="", l2=1e-9, max=1e-9)}


def moved(inputs: Any, share: float) -> Any:
    generator = torch.Generator().manual_seed(1)
    drawn = (torch.rand(item.shape, generator=generator, dtype=torch.float64) * 2 - 1 for item in inputs)
    return tuple(item * (1 + share * other) for item, other in zip(inputs, drawn, strict=True))


def runs(name: str, dtype: str, **options: Any) -> list[dict[str, Any]]:
    """Return the outputs in float64 as it is, and moved by both moves."""
    function, inputs = FUNCTIONS[name][0], drawn(name, getattr(torch, dtype))
    wide = tuple(item.double() for item in inputs)
    shares = [0.0, *(item.unit for item in nudges(dtype))]
    return [{"output": function(*moved(wide, share), **options)} for share in shares]


def is_rounded(name: str, dtype: str, **options: Any) -> bool:
    inputs = drawn(name, getattr(torch, dtype))
    own = {"output": FUNCTIONS[name][0](*inputs)}
    plain, fine, coarse = runs(name, dtype, **options)
    return rounds_inside(dtype, (plain, fine, coarse), runs(name, dtype)[0], SHARP, own, {})


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_responses_of_what_is_rounded_and_of_what_is_wrong_are_far_apart(name: str, dtype: str) -> None:
    eps = torch.finfo(getattr(torch, dtype)).eps
    gaps = [
        slope_gap(*(item["output"] for item in runs(name, dtype, **options)))
        for options in ({}, {"off": eps / 4}, {"off": 0.1}, {"r": hidden(dtype)})
    ]
    assert max(gaps[:3]) < ROUNDS_INSIDE / 4 < 2 * ROUNDS_INSIDE < gaps[3]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_right_code_that_rounds_inside_is_told_from_mistakes_of_that_size(name: str, dtype: str) -> None:
    eps = torch.finfo(getattr(torch, dtype)).eps
    assert is_rounded(name, dtype, r=hidden(dtype))
    assert not is_rounded(name, dtype)
    assert not is_rounded(name, dtype, off=eps / 2)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_rounds_inside_and_is_off_by_more_is_not_excused(name: str) -> None:
    assert not is_rounded(name, "bfloat16", r=hidden("bfloat16"), off=0.2)
    assert not is_rounded(name, "float32", r=hidden("bfloat16"))


def test_a_constant_response_says_nothing() -> None:
    table = torch.linspace(0, 1, 7, dtype=torch.float64)
    assert slope_gap(table, table, table) == 0
    assert slope_gap(table, table[:3], table) == 0
