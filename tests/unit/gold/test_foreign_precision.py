"""Code that torch does not see and that rounds to float32 whatever it is given, as JAX does unless told: its noise is
measured in the dtype in which it computes or not at all, and only what was computed in float64 is judged in it."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import goldsmith
from goldsmith.frameworks.framework import conditions
from goldsmith.gold.arrays import leaf_facts
from goldsmith.gold.calibration import Calibrated, Trials, calibrate
from goldsmith.gold.facts import CaseFacts, FileFacts
from goldsmith.gold.precision import BITS, computed_dtype, is_exact, is_float64, unit_of
from support.calibration_course import calibrated, tolerance_of
from support.course import CourseOnDisk
from support.gold_judgement import judge

# --- what numbers show


@given(st.sampled_from(["bfloat16", "float16", "float32"]), st.integers(0, 99))
def test_numbers_show_the_dtype_that_they_were_rounded_to(dtype: str, seed: int) -> None:
    numbers = np.random.default_rng(seed).uniform(0.1, 1, 8)
    rounded = torch.from_numpy(numbers).to(getattr(torch, dtype)).double().numpy()
    assert computed_dtype(rounded, "float64") == dtype
    assert unit_of(rounded, "float64") == 2.0 ** (1 - BITS[dtype])
    assert not is_float64(rounded)
    assert is_float64(numbers)
    assert computed_dtype(numbers, "float64") == "float64"


@given(st.lists(st.integers(-(2**15), 2**15) | st.sampled_from([0.5, -0.25, 1.75, 0.0]), min_size=1))
def test_whole_numbers_halves_and_zeros_were_never_rounded(values: list[float]) -> None:
    numbers = np.array(values, dtype=np.float64)
    assert is_exact(numbers, "float32")
    assert is_float64(numbers)
    assert unit_of(numbers, "float32") == 0.0


def test_large_numbers_are_whole_in_float32_whatever_was_computed() -> None:
    assert not is_exact(np.array([123456792.0, 987654336.0]), "float32")


# --- tolerances


def tolerances(gold: Any, found: dict[str, Any], float64: Any = None) -> Calibrated:
    numbers = np.asarray(gold, np.float64)
    case = CaseFacts(name="c", kind="output", file=FileFacts("c.npz", leaves=(leaf_facts("output", gold),)))
    differences = {name: {"output": np.asarray(item, np.float64)} for name, item in found.items()}
    return calibrate(case, Trials({"output": numbers}, differences, {} if float64 is None else {"output": float64}))


THIRDS = np.arange(1, 7, dtype=np.float32) / 3


def test_trials_that_move_nothing_measure_nothing() -> None:
    still = {f"noise-{number}": np.zeros(6) for number in range(4)}
    tolerance = tolerances(THIRDS * np.float32(1e-3), still).tolerances["output"]
    assert (tolerance.kind, tolerance.rtol, tolerance.noise) == ("customary", 1e-4, None)
    assert tolerance.atol == pytest.approx(1.3e-8, rel=0.01)  # of its size: 1e-5 would accept anything
    assert "4 trials moved nothing at all" in tolerance.reason


def test_whole_numbers_that_nothing_moves_are_exact() -> None:
    still = {f"noise-{number}": np.zeros(4) for number in range(4)}
    tolerance = tolerances(np.array([3.0, 0.0, 7.0, 1.0], np.float32), still).tolerances["output"]
    assert tolerance.kind == "measured"
    assert tolerance.max == pytest.approx(16 * 2.0**-23, rel=0.01)
    assert "its numbers are exact" in tolerance.reason


def test_float64_numbers_that_are_float32_have_its_tolerance_if_finer_noise_does_not_move_them() -> None:
    numbers, still = THIRDS.astype(np.float64), np.zeros(6)
    inside = tolerances(numbers, {"noise-1": still, "narrowed-1": np.full(6, 1e-7)}).tolerances["output"]
    assert inside.max == pytest.approx(16 * 2.0**-23, rel=0.01)
    assert tolerances(numbers, {"noise-1": np.full(6, 1e-16)}).tolerances["output"].max < 1e-14


# --- a run in float64


def through_array(x: Any) -> Any:
    return torch.from_numpy(np.sin(np.asarray(x, np.float32)))


def through_method(x: Any) -> Any:
    return torch.as_tensor(np.sin(x.numpy().astype(np.float32)))


def in_the_middle(x: Any) -> Any:
    return x * 0.7 + through_array(x * 0.3) * x


def finely(x: Any) -> Any:
    return torch.from_numpy(np.sin(x.numpy()))


def a_copy(x: Any) -> Any:
    return torch.from_numpy(np.maximum(x.numpy(), 0))


def with_a_table(x: Any) -> Any:
    return x * torch.from_numpy(np.linspace(0.1, 1, 5).astype(np.float32))


def whole(x: Any) -> Any:
    return torch.from_numpy(np.round(x.numpy()).astype(np.float32)) * x


@pytest.mark.parametrize("lightly", [False, True])
@pytest.mark.parametrize(
    ("function", "pure"),
    [
        (through_array, False),
        (through_method, False),
        (in_the_middle, False),
        (finely, True),
        (a_copy, True),
        (with_a_table, True),
        (whole, True),
    ],
)
def test_what_leaves_torch_and_comes_back_rounded_is_seen(function: Any, pure: bool, lightly: bool) -> None:
    x = torch.randn(5, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    with conditions(precision="float64", watched=not lightly, lightly=lightly) as purity:
        found = function(x)
    assert found.dtype == torch.float64
    assert purity.pure == pure
    assert torch.from_numpy(np.zeros(2, np.float32)).dtype == torch.float32  # as it was


# --- two live implementations, and a function that a test keeps


def softmax(x: Any) -> Any:
    """In float32 outside of torch, whatever it is given."""
    given = np.asarray(x, np.float32)
    powers = np.exp(given - given.max(axis=-1, keepdims=True))
    return torch.from_numpy(powers / powers.sum(axis=-1, keepdims=True))


def other_softmax(x: Any) -> Any:
    """The same by another formula, in whatever it is given."""
    return torch.exp(x - torch.logsumexp(x, -1, keepdim=True)).float()


def wrong_softmax(x: Any) -> Any:
    return other_softmax(1.0001 * x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_two_implementations_of_which_one_rounds(dtype: Any) -> None:
    inputs = torch.randn(16, 20, dtype=dtype, generator=torch.Generator().manual_seed(1)) * 5
    for pair in ((softmax, other_softmax), (other_softmax, softmax)):
        found = goldsmith.parity(*pair, inputs=inputs, gradients=False)
        assert found.outcome == "agrees", found
        assert all(case.judged_in != "float64" for case in found.report.cases)
    for pair in ((softmax, wrong_softmax), (wrong_softmax, softmax)):
        assert goldsmith.parity(*pair, inputs=inputs, gradients=False).outcome == "differs"


def test_what_is_copied_from_float32_inputs_is_judged_in_float64_all_the_same() -> None:
    inputs = torch.randn(16, 20, generator=torch.Generator().manual_seed(1))
    found = goldsmith.parity(torch.relu, lambda x: torch.where(x > 0, x, 0.0), inputs=inputs, gradients=False)
    assert [(case.outcome, case.judged_in) for case in found.report.cases] == [("agrees", "float64")]


# --- a course


FOREIGN = """
    import numpy as np

    def scale(x):
        given = np.asarray(x, dtype=np.float32)
        powers = np.exp(given - given.max(axis=1, keepdims=True))
        return (powers / powers.sum(axis=1, keepdims=True)).astype(RESULT)
"""
CASE = """
    @gs.case
    def gold_output(case):
        case.record("y", scale(case.input("x", lambda: np.random.randn(40, 30))))
"""


@pytest.mark.long
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gold_of_code_that_rounds_is_measured_where_it_computes(course: CourseOnDisk, dtype: str) -> None:
    gold = calibrated(course, CASE, solution=textwrap.dedent(FOREIGN).replace("RESULT", f"np.{dtype}"))
    case, tolerance = gold["gold_output"], tolerance_of(gold)
    assert tolerance is not None
    assert tolerance.noise is not None
    assert 1e-7 < tolerance.noise.max < 1e-5
    assert not case.reference
    x = case.data["input"]
    right = np.exp(x - np.log(np.exp(x).sum(1, keepdims=True)))
    for actual in (right, right.astype(np.float32), np.exp(x) / np.exp(x).sum(1, keepdims=True)):
        assert judge({"output": actual.astype(dtype)}, case).agrees
    assert not judge({"output": (right * 1.0001).astype(dtype)}, case).agrees
