"""Gaps and sizes over the whole range of every dtype, subnormals included: what agrees at 1 agrees at 5e-305, and what
differs at 1 differs there, too. On the host, on a device's way (torch's operations on the host), in traces."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goldsmith.comparison.api import compare
from goldsmith.comparison.precision_paths import SumOfSquares
from goldsmith.comparison.results import LeafComparison
from goldsmith.frameworks.framework import framework
from goldsmith.frameworks.torch.device_statistics import SUMMARY, totals_of
from goldsmith.gold.arrays import leaf_facts
from goldsmith.gold.calibration import Trials, calibrate
from goldsmith.gold.facts import CaseFacts, FileFacts
from goldsmith.gold.sizes import projections, relative_size, root_mean_square
from goldsmith.gold.sketches.sketch import Sketch
from goldsmith.gold.tolerances import Tolerance, tolerance_ratio
from goldsmith.instruments.call_noise import CallOutputs, call_noise
from goldsmith.judge.traces import ValueIndex, distance, same_plain
from goldsmith.runs.live.in_step import _distance, _relative

torch = pytest.importorskip("torch")
LOWEST = {"float16": -24, "bfloat16": -133, "float32": -149, "float64": -1074, "complex64": -149, "complex128": -1074}
HIGHEST = {"float16": 15, "bfloat16": 127, "float32": 127, "float64": 1023, "complex64": 127, "complex128": 1023}
BITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53, "complex64": 24, "complex128": 53}
"""The exponents of the smallest and largest power of two, and how many bits a number has."""
QUICK = settings(max_examples=150, deadline=None)


def scaled(whole: Any, dtype: str, power: int) -> Any:
    """Return whole numbers times a power of two, exactly, as a tensor."""
    part = {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)
    half = power // 2  # 2.0**1100 overflows
    numbers = np.ldexp(np.ldexp(np.asarray(whole, dtype=np.float64), power - half), half)
    tensor = torch.from_numpy(numbers).to(getattr(torch, part))
    return torch.complex(tensor, tensor.flip(0)) if dtype.startswith("complex") else tensor


@st.composite
def scalings(draw: st.DrawFn) -> tuple[str, Any, Any, int, int]:
    """A dtype, gold and something near it as whole numbers, and two powers of two that both can be multiplied by."""
    dtype = draw(st.sampled_from(sorted(LOWEST)))
    bits = draw(st.integers(1, min(BITS[dtype], 40) - 1))
    number = st.integers(-(2**bits) + 1, 2**bits - 1)
    gold = draw(st.lists(number, min_size=1, max_size=5).filter(any))
    changes = draw(st.lists(st.sampled_from([0, 0, 1, -1, 2]), min_size=len(gold), max_size=len(gold)))
    actual = [max(min(one + two, 2**bits - 1), 1 - 2**bits) for one, two in zip(gold, changes, strict=True)]
    lowest = LOWEST[dtype] + (50 if dtype == "complex128" else 0)  # the magnitude of a complex number is rounded there
    powers = st.integers(lowest, HIGHEST[dtype] - bits)
    return dtype, gold, actual, draw(powers), draw(powers)


def only(actual: Any, gold: Any, on_device: bool = False, **options: Any) -> LeafComparison:
    with pytest.MonkeyPatch.context() as patch:
        if on_device:
            patch.setattr(framework("torch").arrays, "COMPARED_ON", ("cpu",))
            patch.setattr(framework("torch").arrays, "MIN_DEVICE_SIZE", 1)
        (leaf,) = compare(actual, gold, **options).leaves
    return leaf


def in_units(power: int, unit: float, limit: float) -> dict[str, Any]:
    scale = math.ldexp(unit, power)
    return {"tolerances": {"": Tolerance(kind="measured", reason="", l2=limit / 2, max=limit, scale=scale)}}


def elementwise(power: int, unit: float, limit: float) -> dict[str, Any]:
    return {"rtol": limit, "atol": math.ldexp(limit * unit, power) if unit > 1.5 else 0.0}


@QUICK
@given(scalings(), st.sampled_from([in_units, elementwise]), st.sampled_from([1e-7, 1e-3, 0.3]), st.booleans())
def test_a_power_of_two_changes_no_verdict(
    drawn: Any, limits: Callable[..., Any], limit: float, on_device: bool
) -> None:
    dtype, gold, actual, one, two = drawn
    unit = float(max(map(abs, gold)))
    found = [
        only(scaled(actual, dtype, power), scaled(gold, dtype, power), on_device, **limits(power, unit, limit))
        for power in (one, two)
    ]
    exact = math.ldexp(limit * unit, min(one, two)) > 1e-290 or limits is in_units  # else atol itself is rounded
    if exact:
        assert found[0].agrees == found[1].agrees
        assert found[0].mismatched == found[1].mismatched
        assert found[0].excess == pytest.approx(found[1].excess, rel=1e-6)
    assert found[0].relative == pytest.approx(found[1].relative, rel=1e-6)
    assert found[0].problem == found[1].problem or not exact


@QUICK
@given(scalings(), st.sampled_from([1e-7, 1e-3, 0.3]))
def test_a_tolerance_is_the_same_share_at_every_size(drawn: Any, limit: float) -> None:
    _, gold, actual, one, two = drawn
    shares = []
    for power in (one, two):
        mine, theirs = (scaled(item, "float64", power).numpy() for item in (actual, gold))
        options = in_units(power, float(max(map(abs, gold))), limit)
        shares.append(tolerance_ratio(options["tolerances"][""], np.abs(mine - theirs), theirs))
    assert shares[0] == pytest.approx(shares[1], rel=1e-9)


@pytest.mark.parametrize("on_device", [False, True])
@pytest.mark.parametrize("dtype", sorted(LOWEST))
def test_neighbours_agree_and_twice_as_much_differs(dtype: str, on_device: bool) -> None:
    """The smallest size at which a unit in the last place is still within the limit, the largest, and all between."""
    bits = BITS[dtype]
    gold = [2 ** (bits - 1) + 1, -(2 ** (bits - 1)) - 1]
    near = [2 ** (bits - 1) + 2, -(2 ** (bits - 1)) - 1]
    for power in range(LOWEST[dtype], HIGHEST[dtype] - bits, 11):
        options = in_units(power, float(gold[0]), 8 * 2.0 ** (1 - bits))
        right = scaled(gold, dtype, power)
        assert only(right, right, on_device, **options).agrees, power
        assert only(scaled(near, dtype, power), right, on_device, **options).agrees, power
        leaf = only(right * 2, right, on_device, **options)
        assert (leaf.agrees, leaf.problem) == (False, "values"), power
        assert leaf.relative == pytest.approx(1.0), power


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("size", [5.2e-305, 1e-310, 1e-200, 1e-160, 1e160, 1e300])
def test_attention_weights_of_large_scores_agree(dtype: str, size: float) -> None:
    gold = torch.tensor([5.2, -1.3, 2.4], dtype=torch.float64).to(getattr(torch, dtype)) * size
    right = gold * (1 + 1e-12)
    options = {"tolerances": {"": Tolerance(kind="measured", reason="", l2=1e-6, max=1e-6, scale=3 * size)}}
    assert only(right, gold, **options).agrees
    assert not only(2 * gold, gold, **options).agrees
    assert distance(right.numpy(), gold.numpy()) < 1e-9
    assert distance(2 * gold.numpy(), gold.numpy()) == pytest.approx(1.0)


@QUICK
@given(scalings())
def test_every_relative_distance_is_the_same_at_every_size(drawn: Any) -> None:
    _, gold, actual, one, two = drawn
    pairs = [tuple(scaled(item, "float64", power) for item in (actual, gold)) for power in (one, two)]
    for measure in (_in_a_trace, _in_noise, _in_step, _plainly):
        found = [measure(mine, theirs) for mine, theirs in pairs]
        assert found[0] == pytest.approx(found[1], rel=1e-9), measure.__name__
        assert (found[0] == 0) == (actual == gold), measure.__name__


def _in_a_trace(mine: Any, theirs: Any) -> float:
    return distance(mine.numpy(), theirs.numpy())


def _in_noise(mine: Any, theirs: Any) -> float:
    calm, noisy = CallOutputs(), CallOutputs()
    calm.keep("model", theirs)
    noisy.keep("model", mine)
    return call_noise(calm, noisy)["model"]


def _in_step(mine: Any, theirs: Any) -> float:
    table, _ = _distance(mine, theirs)
    return _relative(totals_of(SUMMARY, table.tolist()))


def _plainly(mine: Any, theirs: Any) -> float:
    return relative_size(mine.numpy() - theirs.numpy(), theirs.numpy())


@pytest.mark.parametrize("size", [5e-305, 1e-170, 1.0, 1e170, 1e290])
def test_sketches_and_projections_tell_twice_as_much(size: float) -> None:
    gold = np.random.default_rng(0).standard_normal(2000) * size
    assert Sketch.of(gold).error_of(gold) < 1e-12
    assert Sketch.of(gold).error_of(2 * gold) == pytest.approx(1.0, rel=0.3)
    assert projections(2 * gold)[0] == pytest.approx(2 * projections(gold)[0])
    assert projections(gold)[0] == pytest.approx(np.linalg.norm(gold / size) * size)
    held = ValueIndex([gold[::-1].copy(), 3 * gold])
    assert held.holds(gold)
    assert not held.holds(2 * gold)


def test_a_sum_of_squares_holds_numbers_of_any_size() -> None:
    for sizes in ([1e-310, 1e-305], [1e-305, 1.0], [1e300, 1e-305], [1e-305, 1e300], [5e-324], [1.7e308, 1.7e308]):
        found = SumOfSquares()
        for size in sizes:
            with np.errstate(over="ignore"):
                found.add(np.array([size]))
        assert found.root(1) == pytest.approx(math.hypot(*sizes), rel=1e-12) or max(sizes) > 1e308
        assert found.over(found) == 1.0
    found.add(np.array([math.inf]))
    found.add(np.array([1.0]))
    assert found.root(2) == math.inf


def test_a_size_is_not_zero_unless_everything_is() -> None:
    assert root_mean_square(np.zeros(3)) == 0.0 == root_mean_square(np.zeros(0))
    assert root_mean_square(np.array([5e-324] + [0.0] * 1000)) > 0
    assert root_mean_square(np.array([1.7e308] * 9)) == pytest.approx(1.7e308)


def test_complex_numbers_of_infinite_magnitude_are_not_excused() -> None:
    gold = np.array([complex(1.7e308, 1.7e308)])
    assert only(gold, gold, rtol=1e-4, atol=0.0).agrees
    assert not only(gold - 1e308, gold, rtol=1e-4, atol=0.0).agrees
    assert not only(gold - 1e308, gold, rtol=1e-4, atol=1.0).agrees


def test_plain_arguments_of_any_size_are_compared() -> None:
    assert same_plain(-math.inf, -math.inf)
    assert same_plain(math.nan, math.nan)
    assert not same_plain(-math.inf, -1e9)
    assert not same_plain(10**400, 1.5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_right_work_below_the_normal_range_is_within_its_tolerance(dtype: str) -> None:
    """There, neighbours are one smallest number apart, which is far more than a unit in the last place of 1."""
    for size in (20, 100, 2**10):
        gold = scaled([size, -size, size // 2], dtype, LOWEST[dtype])
        numbers = gold.double().numpy()
        file = FileFacts("tiny.pt", leaves=(leaf_facts("output", gold),))
        quiet = {"noise-0": {"output": np.zeros_like(numbers)}}
        case = CaseFacts(name="tiny", kind="output", file=file)
        tolerance = calibrate(case, Trials({"output": numbers}, quiet)).tolerances["output"]
        neighbour = torch.nextafter(gold, torch.full_like(gold, math.inf))
        assert only(neighbour, gold, tolerances={"": tolerance}).agrees
        assert not only(gold * 2, gold, tolerances={"": tolerance}).agrees
