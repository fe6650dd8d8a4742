"""`compare` on random values: the same verdict as NumPy, torch and the gold's tolerances, and never a milder one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from goldsmith.comparison import blocks
from goldsmith.comparison.api import compare
from goldsmith.comparison.results import LeafComparison
from goldsmith.gold.arrays import numbers_of
from goldsmith.gold.tolerances import Tolerance, tolerance_ratio

torch = pytest.importorskip("torch")
QUICK = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
NUMBERS = ["float16", "float32", "float64", "complex64", "complex128", "int8", "uint8", "int32", "int64", "bool"]
SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
SPECIAL = [math.nan, math.inf, -math.inf, 0.0, -0.0]


@st.composite
def pairs(draw: st.DrawFn, dtypes: list[str] = NUMBERS, special: bool = True, shapes: Any = SHAPES) -> tuple[Any, Any]:
    """Gold, and something near it: noise of some size, a few elements replaced."""
    dtype, shape = np.dtype(draw(st.sampled_from(dtypes))), draw(shapes)
    source = np.random.default_rng(draw(st.integers(0, 2**32)))
    scale = draw(st.sampled_from([1e-6, 1e-3, 1.0, 30.0]))
    if dtype.kind in "fc":
        gold = (source.standard_normal(shape) * scale).astype(dtype)
        noise = source.standard_normal(shape) * draw(st.sampled_from([0.0, 1e-9, 1e-7, 1e-6, 1e-5, 1e-3, 0.1]))
        actual = (gold + noise * (scale if draw(st.booleans()) else abs(gold))).astype(dtype)
    else:
        gold = source.integers(0, 2 if dtype.kind == "b" else 100, shape).astype(dtype)
        actual = gold.copy()
    for array in (actual, gold):
        for _ in range(draw(st.integers(0, 2)) if special and array.size and dtype.kind in "fc" else 0):
            place, value = draw(st.integers(0, array.size - 1)), draw(st.sampled_from(SPECIAL))
            for side in (actual, gold) if draw(st.booleans()) else (array,):
                side.reshape(-1)[place] = value
    if draw(st.booleans()) and actual.ndim > 1:
        actual = np.asfortranarray(actual)
    return actual, gold


def only(*arguments: Any, **options: Any) -> LeafComparison:
    (leaf,) = compare(*arguments, **options).leaves
    return leaf


def within(actual: Any, gold: Any, rtol: float, atol: float, equal_nan: bool) -> Any:
    """Elementwise, by definition, in float64."""
    wide = np.complex128 if actual.dtype.kind == "c" else np.float64
    one, two = actual.astype(wide), gold.astype(wide)
    with np.errstate(all="ignore"):
        near = np.abs(one - two) <= atol + rtol * np.abs(two)
    near &= np.isfinite(one) & np.isfinite(two)
    return near | (one == two) | (equal_nan & np.isnan(one) & np.isnan(two))


@QUICK
@given(pairs(), st.sampled_from([0.0, 1e-7, 1e-6, 1e-4]), st.sampled_from([0.0, 1e-9, 1e-6, 1e-4]), st.booleans())
def test_the_verdict_is_the_definitions(both: Any, rtol: float, atol: float, equal_nan: bool) -> None:
    actual, gold = both
    leaf = only(actual, gold, rtol=rtol, atol=atol, equal_nan=equal_nan)
    near = within(actual, gold, rtol, atol, equal_nan)
    assert leaf.agrees == bool(near.all()) == (leaf.excess <= 1)
    assert leaf.mismatched == int((~near).sum())
    if actual.dtype.kind != "c":  # there, NumPy rounds in float32
        wide = actual.astype(np.float64), gold.astype(np.float64)
        with np.errstate(all="ignore"):
            assert leaf.agrees == bool(np.isclose(*wide, rtol=rtol, atol=atol, equal_nan=equal_nan).all())


@QUICK
@given(st.dictionaries(st.sampled_from("abcd"), pairs(), min_size=1), st.booleans())
def test_the_verdict_is_torchs(both: dict[str, Any], equal_nan: bool) -> None:
    actual = {name: torch.from_numpy(np.array(pair[0])) for name, pair in both.items()}
    gold = {name: torch.from_numpy(np.array(pair[1])) for name, pair in both.items()}
    found = compare({"x": [actual]}, {"x": [gold]}, equal_nan=equal_nan)
    assert {leaf.path for leaf in found.leaves} == {f"x.0.{name}" for name in both}
    # Torch multiplies in the tensors' own precision; at the very limit it may round either way.
    assume(all(abs(leaf.excess - 1) > 1e-2 for leaf in found.leaves))
    try:
        torch.testing.assert_close(actual, gold, equal_nan=equal_nan)
        theirs = True
    except AssertionError:
        theirs = False
    assert found.agrees == theirs


@QUICK
@given(pairs(), st.sampled_from(["missing", "dtype", "nan", "shape", "extra"]))
def test_never_milder(both: Any, fault: str) -> None:
    actual, gold = both
    options = dict(rtol=0.9, atol=1e9, equal_nan=True)
    golds, actuals = {"x": gold, "y": 1.0}, {"x": actual, "y": 1.0}
    if fault == "missing":
        del actuals["x"]
    elif fault == "extra":
        del golds["x"]
    elif fault == "dtype":
        actuals["x"] = abs(actual).astype("float64" if actual.dtype != np.float64 else "float32")
    elif fault == "shape":
        actuals["x"] = actual[None]
    else:
        assume(actual.dtype.kind in "fc" and actual.size and np.isfinite(gold.reshape(-1)[0]))
        actuals["x"] = np.array(actual, order="C")
        actuals["x"].reshape(-1)[0] = np.nan
    found = compare(actuals, golds, **options)
    assert not found
    assert next(leaf for leaf in found.leaves if leaf.path == "x").problem in (fault, "nan", "inf", "values")


@QUICK
@given(pairs(["float16", "float32", "float64"], special=False))
def test_the_tolerance_that_would_pass_is_exact(both: Any) -> None:
    actual, gold = both
    leaf = only(actual, gold, rtol=0, atol=0)
    if leaf.agrees:
        return
    assert only(actual, gold, rtol=0, atol=leaf.atol_alone).agrees
    assert not only(actual, gold, rtol=0, atol=math.nextafter(leaf.atol_alone, 0)).agrees
    assert leaf.atol_alone == leaf.largest_gap
    if math.isinf(leaf.rtol_alone):
        assert bool(((gold == 0) & (actual != 0)).any())
        return
    assert only(actual, gold, atol=0, rtol=leaf.rtol_alone).agrees
    assert not only(actual, gold, atol=0, rtol=math.nextafter(leaf.rtol_alone, 0)).agrees


LIMITS = st.sampled_from([None, 0.0, 1e-8, 1e-6, 1e-4, 0.03])


@QUICK
@given(
    pairs(["float16", "float32", "float64", "complex64", "int32"], special=False),
    st.sampled_from(["exact", "measured", "pinned", "customary"]),
    st.tuples(LIMITS, LIMITS, LIMITS, LIMITS),
    st.sampled_from([1.0, 1e-6, 1e-4, 0.7, 30.0]),
    st.sampled_from([None, 0.0, 1e-5]),
    st.integers(0, 2**32),
)
def test_the_golds_own_tolerances_mean_the_same(
    both: Any, kind: Any, limits: Any, scale: float, noisy_limit: float | None, seed: int
) -> None:
    actual, gold = both
    assume(gold.size)
    l2, most, rtol, atol = limits
    tolerance = Tolerance(
        kind=kind, reason="", l2=l2, max=most, rtol=rtol, atol=atol, scale=scale, noisy_limit=noisy_limit or 0.0
    )
    one, two = numbers_of(actual), numbers_of(gold)
    noisy = None if noisy_limit is None else np.random.default_rng(seed).random(two.shape) < 0.3
    expected = tolerance_ratio(tolerance, one - two, two, noisy)
    leaf = only(actual, gold, tolerances={"": tolerance}, noisy={} if noisy is None else {"": noisy})
    assert leaf.excess == pytest.approx(expected, rel=2e-5)
    if abs(expected - 1) > 1e-12:
        assert leaf.agrees == (expected <= 1)


@QUICK
@given(pairs(shapes=hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=9)), st.integers(1, 20))
def test_borders_of_blocks_leave_no_trace(both: Any, chunk: int) -> None:
    actual, gold = both
    whole = only(actual, gold).plain()
    before = blocks.CHUNK
    blocks.CHUNK = chunk
    try:
        cut = only(actual, gold).plain()
    finally:
        blocks.CHUNK = before
    for name in ("rms_gap", "gold_rms", "relative", "cosine", "excess"):
        one, two = cut.pop(name), whole.pop(name)
        assert one == two or one == pytest.approx(two, rel=1e-5)
    for place in ("index", "actual", "gold"):  # of several equal gaps, any may be named
        cut.pop(place), whole.pop(place)
    assert cut == whole


@QUICK
@given(pairs(["float16", "float32", "float64"], special=False))
def test_what_is_told_of_gaps_is_so(both: Any) -> None:
    actual, gold = both
    leaf = only(actual, gold)
    assume(gold.size and not leaf.identical)
    gaps = np.abs(actual.astype(np.float64) - gold.astype(np.float64))
    assert leaf.largest_gap == pytest.approx(gaps.max(), rel=1e-6)
    assert leaf.rms_gap == pytest.approx(math.sqrt(np.mean(gaps**2)), rel=1e-4)
    assert leaf.gold_rms == pytest.approx(math.sqrt(np.mean(gold.astype(np.float64) ** 2)), rel=1e-4)
    if leaf.index is not None:
        assert (leaf.actual, leaf.gold) == (actual[leaf.index], gold[leaf.index])
        assert gaps[leaf.index] == pytest.approx(gaps.max(), rel=1e-6)
