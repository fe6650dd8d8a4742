"""`compare` on tensors of a device: the verdict, the numbers and the words are those of the host.

The host's own tensors take the device's way here, with torch's operations; the CUDA kernels are tried where there is a
GPU.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goldsmith.comparison import leaves
from goldsmith.comparison.api import compare
from goldsmith.comparison.results import LeafComparison
from goldsmith.frameworks.framework import framework
from goldsmith.gold.tolerances import Tolerance

torch = pytest.importorskip("torch")
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
DTYPES = ("float32", "float64", "float16", "bfloat16", "int8", "uint8", "int32", "int64", "bool", "complex64")
EXACT_FIELDS = (
    "path", "agrees", "problem", "identical", "actual_dtype", "gold_dtype", "actual_shape", "gold_shape", "elements",
    "mismatched", "tolerance", "nan_actual", "nan_gold", "inf_actual", "inf_gold", "where", "guess", "notes",
)  # fmt: skip
CLOSE_FIELDS = (
    "excess",
    "largest_gap",
    "rms_gap",
    "gold_rms",
    "relative",
    "rtol_alone",
    "atol_alone",
    "cosine",
    "ulps",
)
UNITS = Tolerance(kind="measured", reason="", l2=1e-3, max=1e-2, scale=0.5)


@contextmanager
def device_path() -> Iterator[None]:
    """Compare every tensor of `DEVICE` as a large one on a device."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(framework("torch").arrays, "COMPARED_ON", (DEVICE,))
        patch.setattr(framework("torch").arrays, "MIN_DEVICE_SIZE", 1)
        yield


def on_host(actual: Any, gold: Any, **options: Any) -> LeafComparison:
    (leaf,) = compare(actual.cpu().clone(), gold.cpu().clone(), **options).leaves
    return leaf


def on_device(actual: Any, gold: Any, **options: Any) -> LeafComparison:
    with device_path(), pytest.MonkeyPatch.context() as patch:
        if not options.get("guessing", True):  # the last guess sorts a tensor that is not large, on the host
            patch.setattr(leaves, "_host_copy", _refuse)
        (leaf,) = compare(actual.to(DEVICE), gold.to(DEVICE), **options).leaves
    return leaf


def _refuse(tensor: Any, form: Any) -> Any:
    raise AssertionError("copied to the host")


def assert_same(device: LeafComparison, host: LeafComparison) -> None:
    for name in EXACT_FIELDS:
        assert getattr(device, name) == getattr(host, name), name
    for name in CLOSE_FIELDS:
        ours, theirs = getattr(device, name), getattr(host, name)
        assert ours == theirs or (
            ours is not None and math.isclose(ours, theirs, rel_tol=2e-6, abs_tol=1e-6 * (name == "cosine"))
        ), name


@st.composite
def tensors(draw: st.DrawFn) -> tuple[Any, Any]:
    """Gold, and something near it: noise of some size, NaN and infinity, in some order of axes."""
    dtype = getattr(torch, draw(st.sampled_from(DTYPES)))
    shape = draw(st.sampled_from([(7,), (3, 5), (2, 3, 4), (40, 300)]))
    torch.manual_seed(draw(st.integers(0, 2**31)))
    gold = torch.randn(shape, dtype=torch.float64) * draw(st.sampled_from([1e-3, 1.0, 30.0]))
    actual = gold + torch.randn(shape, dtype=torch.float64) * draw(st.sampled_from([0.0, 1e-9, 1e-6, 1e-4, 0.1]))
    gold, actual = (part.to(dtype) for part in (gold, actual))
    for side in (gold, actual):
        if dtype.is_floating_point and draw(st.booleans()):
            value = draw(st.sampled_from([math.nan, math.inf, -math.inf, 0.0, -0.0]))
            side.view(-1)[draw(st.integers(0, gold.numel() - 1))] = value
    if len(shape) > 1 and draw(st.booleans()):
        gold = gold.transpose(0, 1).contiguous().transpose(0, 1)
    return actual, gold


@settings(max_examples=120, deadline=None)
@given(
    pair=tensors(), equal_nan=st.booleans(), options=st.sampled_from([{}, {"rtol": 1e-5}, {"atol": 1e-4, "rtol": 1e-3}])
)
def test_device_and_host_give_the_same_result(
    pair: tuple[Any, Any], equal_nan: bool, options: dict[str, float]
) -> None:
    actual, gold = pair
    host = on_host(actual, gold, equal_nan=equal_nan, guessing=False, **options)
    assert_same(on_device(actual, gold, equal_nan=equal_nan, guessing=False, **options), host)


@settings(max_examples=60, deadline=None)
@given(pair=tensors())
def test_measured_tolerances_hold_on_a_device(pair: tuple[Any, Any]) -> None:
    actual, gold = pair
    options = dict(tolerances={"": UNITS}, guessing=False)
    assert_same(on_device(actual, gold, **options), on_host(actual, gold, **options))


def _wrong(gold: Any) -> dict[str, Any]:
    shuffled = gold[torch.randperm(len(gold))]
    corner = gold.clone()
    corner[-1, -3:] += 1
    return {
        "a factor": gold * 2,
        "a sign": -gold,
        "an offset": gold + 0.25,
        "other axes": gold.T.contiguous(),
        "backwards": gold.flip(1),
        "shifted": torch.roll(gold, 1, 0),
        "rows in another order": shuffled,
        "rounded": gold.to(torch.bfloat16).to(gold.dtype),
        "a corner": corner,
        "a missing number": torch.where(torch.arange(gold.shape[1]) == 4, math.nan, gold),
    }


@pytest.mark.parametrize("name", _wrong(torch.zeros(3, 7)))
def test_a_difference_is_explained_on_a_device_as_on_the_host(name: str) -> None:
    torch.manual_seed(3)
    gold = torch.randn(160, 160)  # more than one row of the statistics
    actual = _wrong(gold)[name]
    host, device = on_host(actual, gold), on_device(actual, gold)
    assert_same(device, host)
    if device.problem == "nan":
        assert (device.index, str(device.actual), device.gold) == (host.index, "nan", host.gold)
    elif device.problem == "values":
        assert abs(device.actual - device.gold) == device.largest_gap  # of equal gaps, either may be named
        assert (device.actual, device.gold) == (actual[device.index].item(), gold[device.index].item())


def test_reshaped_tensors_are_recognised_on_a_device() -> None:
    gold = torch.randn(6, 35)
    assert_same(on_device(gold.reshape(5, 42), gold), on_host(gold.reshape(5, 42), gold))


def test_large_integers_are_exact_on_a_device() -> None:
    gold = torch.tensor([2**62, -(2**62), 5, 7])
    actual = gold + torch.tensor([1, 0, 0, 0])
    found = on_device(actual, gold, guessing=False)
    assert (found.mismatched, found.largest_gap, found.index) == (1, 1, (0,))
    assert_same(on_device(actual, gold, atol=1.0, guessing=False), on_host(actual, gold, atol=1.0, guessing=False))


def test_sums_that_float64_cannot_hold_are_left_to_the_host() -> None:
    gold = torch.full((3, 4), 1e200, dtype=torch.float64)
    with device_path():
        (leaf,) = compare(gold.to(DEVICE) * 2, gold.to(DEVICE)).leaves
    assert_same(leaf, on_host(gold * 2, gold))
    assert leaf.gold_rms == pytest.approx(1e200)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_pair_of_two_devices_is_compared_on_the_host(dtype: str) -> None:
    gold = torch.randn(5, 6).to(getattr(torch, dtype))
    actual = gold + 1
    with device_path():
        (leaf,) = compare(actual.to(DEVICE), gold.float().numpy(), check_dtype=False).leaves
    assert leaf.mismatched == gold.numel()
    assert np.isclose(float(leaf.largest_gap or 0), 1, atol=0.1)
