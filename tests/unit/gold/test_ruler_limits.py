"""The limits of a ruler: the solution's own error times a safety, with floors; and what takes no work never passes."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goldsmith.gold.calibration import Trials
from goldsmith.gold.facts import Environment
from goldsmith.gold.load import GoldCase, load_gold
from goldsmith.gold.ruler_limits import ruler_case
from goldsmith.gold.rulers import Ruler
from goldsmith.gold.tolerances import SAFETY, factor_ratio, tolerance_ratio
from goldsmith.judge.case import Judge
from goldsmith.judge.criteria import Criteria
from goldsmith.runs.run import CaseRuns, Run
from goldsmith.runs.setting import Setting
from goldsmith.weights.rules import Adapter

FOLDER = Path(__file__).parents[3] / "examples/vla-course/tests/internal/fixtures/scratch-1"
HALF = Setting(dtype="bfloat16")
HERE = Environment(python="3", numpy="2")


@pytest.fixture(scope="module")
def case() -> GoldCase:
    pytest.importorskip("torch")
    return load_gold(FOLDER)["rmsnorm"]


def measured(case: GoldCase, size: float, setting: Setting = HALF, seed: int = 0) -> tuple[Any, Any]:
    """Return gold's numbers, and limits for a solution that is off by `size`."""
    reference = case.reference["output"]
    drawn = np.random.default_rng(seed).standard_normal(reference.shape)
    off = size * drawn * np.sqrt(np.mean(reference**2))
    found = ruler_case(case, Trials({"output": reference}, {"again-1": {"output": off}}), setting, [])
    return reference, found


@settings(max_examples=40, deadline=None)
@given(size=st.floats(0, 10), seed=st.integers(0, 9))
def test_nothing_passes_without_work_unless_it_is_said_not_to_be_judged(case: GoldCase, size: float, seed: int) -> None:
    gold, found = measured(case, size, seed=seed)
    noise = gold.mean() + gold.std() * np.random.default_rng(seed).standard_normal(gold.shape)
    for answer in (np.zeros_like(gold), np.full_like(gold, gold.mean()), noise):
        share = tolerance_ratio(found.limits["output"], answer - gold, gold)
        assert share > 1 or "output" in found.unjudged


@settings(max_examples=40, deadline=None)
@given(size=st.floats(1e-6, 0.03))
def test_the_limit_is_the_solutions_own_error_times_a_safety(case: GoldCase, size: float) -> None:
    _, found = measured(case, size)
    limit = found.limits["output"]
    assert limit.l2 == pytest.approx(max(SAFETY * size, 2.0**-7), rel=0.2)
    assert not found.unjudged
    assert limit.noise is not None
    assert limit.noise.l2 == pytest.approx(size, rel=0.2)


def test_the_floors_are_those_of_the_setting(case: GoldCase) -> None:
    floors = {
        setting.name: measured(case, 0.0, setting)[1].limits["output"].l2
        for setting in (Setting(device="cuda"), HALF, Setting(device="cuda", tf32=True))
    }
    assert floors == pytest.approx({"cuda": 2.0**-20, "cpu bfloat16": 2.0**-7, "cuda tf32": 2.0**-10}, rel=0.01)


def test_what_is_not_finite_there_is_not_judged(case: GoldCase) -> None:
    _, found = measured(case, float("inf"))
    assert "not finite" in found.unjudged["output"]


def test_the_gold_of_another_case_is_tried(case: GoldCase) -> None:
    gold, _ = measured(case, 0.0)
    other = msgspec.structs.replace(case.entry, name="other")
    twin = GoldCase(other, case.path)
    twin.__dict__["data"] = {**case.data, "output": case.data["output"] * 1.05}
    off = {"again-1": {"output": 0.03 * gold}}
    found = ruler_case(case, Trials({"output": gold}, off), HALF, [twin])
    assert "of case other would pass" in found.unjudged["output"]


def test_a_case_that_the_ruler_does_not_have_is_inconclusive(case: GoldCase) -> None:
    judge = Judge({case.name: case}, Adapter(), ruler=Ruler(setting=HALF, environment=HERE, trials=(), cases={}))
    verdict = judge.verdict(case.name, CaseRuns({"plain": Run(values={"output": case.output})}))
    assert (verdict.outcome, verdict.reason.partition(":")[0]) == (
        "inconclusive",
        "the ruler for cpu bfloat16 does not have this case",
    )


@settings(max_examples=40, deadline=None)
@given(size=st.floats(0.01, 0.05), factor=st.sampled_from([1.02, 0.98, 1.05]), seed=st.integers(0, 9))
def test_a_factor_is_found_that_is_far_below_what_single_roundings_may_do(
    case: GoldCase, size: float, factor: float, seed: int
) -> None:
    gold, found = measured(case, size, seed=seed)
    limit = found.limits["output"]
    ruler = Ruler(setting=HALF, environment=HERE, trials=("again-1",), cases={"rmsnorm": found.limits})
    criteria = Criteria(case, lambda name, value: False, ruler=ruler)
    rounding = size * np.random.default_rng(seed + 10).standard_normal(gold.shape) * np.sqrt(np.mean(gold**2))

    def agrees(values: Any) -> bool:
        return criteria.compare_plain({"output": values}, {"output": criteria.expected["output"]}, False, ()).agrees

    assert agrees(gold + rounding)
    assert agrees(factor * gold + rounding) == (abs(factor - 1) < (limit.factor or 1))
    assert tolerance_ratio(limit, factor * gold + rounding - gold, gold) <= 1 or factor == 1.05
    assert abs(factor - 1) < 0.03 or not agrees(factor * gold + rounding)


def test_the_limit_of_a_factor_is_the_solutions_own(case: GoldCase) -> None:
    reference = case.reference["output"]
    off = 0.02 * reference + measured_noise(reference)
    found = ruler_case(case, Trials({"output": reference}, {"again-1": {"output": off}}), HALF, [])
    assert found.limits["output"].factor == pytest.approx(0.06, rel=0.1)
    plain = ruler_case(case, Trials({"output": reference}, {"again-1": {"output": off}}), Setting(device="cuda"), [])
    assert plain.limits["output"].factor is None, "of other dtypes nothing is known"


def test_what_few_roundings_make_up_by_chance_is_no_factor(case: GoldCase) -> None:
    few = np.ones(4)
    twin = GoldCase(case.entry, case.path)
    twin.__dict__.update(data={"output": few.astype(np.float32)}, _kept=({"output": few}, {}, {}))
    own = 0.03 * np.array([1.0, -1.0, 1.0, -1.0])  # by chance, no factor at all
    limit = ruler_case(twin, Trials({"output": few}, {"again-1": {"output": own}}), HALF, []).limits["output"]
    for signs in itertools.product((0.03, -0.03), repeat=4):
        assert factor_ratio(limit, np.array(signs), few) <= 1, signs


def measured_noise(gold: Any) -> Any:
    return 0.05 * np.random.default_rng(3).standard_normal(gold.shape) * np.sqrt(np.mean(gold**2))
