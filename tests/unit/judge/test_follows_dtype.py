"""Code that rounds inside whatever it is given is told apart from a small mistake, by how it responds in float64."""

from __future__ import annotations

from typing import Any

import pytest

from goldsmith.gold.tolerances import Tolerance
from goldsmith.judge.follows_dtype import inner_dtypes, limit_of_rounding, nudges, rounds_inside, slope_gap
from goldsmith.judge.policy import ROUNDS_INSIDE

torch = pytest.importorskip("torch")

from corpora.rounding_inside import FUNCTIONS, drawn, exact, hidden, layer, layers  # noqa: E402

pytestmark = pytest.mark.torch
DTYPES = ("bfloat16", "float16", "float32")
INNER = ("bfloat16", "float16", "tf32", "float32")
SHARP = {"output": Tolerance(kind="measured", reason="", l2=1e-9, max=1e-9)}


def moved(inputs: Any, share: float) -> Any:
    generator = torch.Generator().manual_seed(1)
    drawn = (torch.rand(item.shape, generator=generator, dtype=torch.float64) * 2 - 1 for item in inputs)
    return tuple(item * (1 + share * other) for item, other in zip(inputs, drawn, strict=True))


def units(dtype: str) -> list[float]:
    return [item.unit for item in nudges(dtype)]


def runs(name: str, dtype: str, **options: Any) -> list[dict[str, Any]]:
    """Return the outputs in float64 as it is, and moved by both moves."""
    function, inputs = FUNCTIONS[name][0], drawn(name, getattr(torch, dtype))
    wide = tuple(item.double() for item in inputs)
    shares = [0.0, *units(dtype)]
    return [{"output": function(*moved(wide, share), **options)} for share in shares]


def deep_runs(inner: str, rounded: dict[int, str], off: dict[int, float], count: int, rows: int = 16) -> list[Any]:
    """Return the outputs of a model in float64 as it is, and moved by both moves; some layers round inside."""
    x, weights = layers(count, rows=rows)

    def run(share: float) -> Any:
        (moved_x,), generator = moved((x,), share), torch.Generator().manual_seed(2)
        for number, own in enumerate(weights):
            drawn = (torch.rand(item.shape, generator=generator, dtype=torch.float64) * 2 - 1 for item in own)
            there = [item * (1 + share * other) for item, other in zip(own, drawn, strict=True)]
            rounding = hidden(rounded[number]) if number in rounded else exact
            moved_x = layer(moved_x, there, rounding, off.get(number, 0.0))
        return moved_x

    return [run(share) for share in (0.0, *units(inner))]


def is_rounded(name: str, dtype: str, **options: Any) -> bool:
    inputs = drawn(name, getattr(torch, dtype))
    own = {"output": FUNCTIONS[name][0](*inputs)}
    plain, fine, coarse = runs(name, dtype, **options)
    return rounds_inside(dtype, dtype, (plain, fine, coarse), runs(name, dtype)[0], SHARP, own, {})


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_responses_of_what_is_rounded_and_of_what_is_wrong_are_far_apart(name: str, dtype: str) -> None:
    eps = torch.finfo(getattr(torch, dtype)).eps
    gaps = [
        slope_gap(dtype, *(item["output"] for item in runs(name, dtype, **options)))
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
    assert slope_gap("float32", table, table, table) == 0
    assert slope_gap("float32", table, table[:3], table) == 0


@pytest.mark.parametrize("inner", INNER)
@pytest.mark.parametrize(("count", "rows"), [(16, 16), (32, 4), (32, 16)])
def test_one_rounding_kernel_among_many_layers_shows_and_mistakes_do_not(inner: str, count: int, rows: int) -> None:
    half, every = count // 2, dict.fromkeys(range(count), 0.1)
    right = [({}, {}), ({}, {half: 0.01}), ({}, every), ({}, {0: 1e-6})]
    rounding = [({place: inner}, {}) for place in {0, half, count - 1}]
    gaps = [
        [slope_gap(inner, *deep_runs(inner, rounded, off, count, rows)) for rounded, off in them]
        for them in (right, rounding)
    ]
    assert max(gaps[0]) < ROUNDS_INSIDE / 4 < 1.5 * ROUNDS_INSIDE < min(gaps[1])


def test_what_rounds_far_larger_numbers_than_it_is_given_is_told_too() -> None:
    x = torch.randn(64, 16, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for r, found in ((hidden("float32"), True), (exact, False)):
        runs_ = [
            {"output": r(item + 300) - 300} for item in (moved((x,), unit)[0] for unit in (0.0, *units("float32")))
        ]
        own = {"output": ((x.float() + 300) - 300).double()}
        assert rounds_inside("float32", "float32", tuple(runs_), {"output": x}, SHARP, own, {}) == found


def test_what_amplifies_far_more_than_most_is_not_taken_for_rounding() -> None:
    x = torch.rand(64, 16, generator=torch.Generator().manual_seed(0), dtype=torch.float64) * 4
    found = [torch.sin(1001 * item) for item in (x, *(moved((x,), unit)[0] for unit in units("float32")))]
    assert slope_gap("float32", *found) < ROUNDS_INSIDE / 4


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_rounds_to_tf32_inside_is_excused_where_products_may_be_and_nowhere_else(name: str) -> None:
    assert inner_dtypes("float32", tf32=True) == ("tf32", "float32")
    assert "tf32" not in (*inner_dtypes("float32"), *inner_dtypes("bfloat16", tf32=True))
    function, wide = FUNCTIONS[name][0], tuple(item.double() for item in drawn(name, torch.float32))
    reference, own = {"output": function(*wide)}, {"output": function(*drawn(name, torch.float32))}
    limit = limit_of_rounding(function(*wide, r=hidden("tf32")), reference["output"], "tf32")

    def excused(inner: str, off: float, **ruled: Any) -> bool:
        moves = (0.0, *units(inner))
        outputs = [{"output": function(*moved(wide, unit), r=hidden("tf32"), off=off)} for unit in moves]
        return rounds_inside("float32", inner, tuple(outputs), reference, SHARP, own, {}, **ruled)  # type: ignore[arg-type]

    assert excused("tf32", 0.0, ruled={"output": limit})
    assert not excused("tf32", 0.03, ruled={"output": limit})
    assert not any(excused(inner, 0.0) for inner in inner_dtypes("float32"))
