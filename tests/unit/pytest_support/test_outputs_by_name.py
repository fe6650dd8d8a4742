"""What a test computed is compared as `check` compares a record: the same floors, the same dtypes of single numbers."""

from __future__ import annotations

import numpy as np
import pytest

from goldsmith.gold.load import GoldCase
from goldsmith.pytest_support.outputs_by_name import compare_output
from support.calibration_course import calibrated
from support.course import CourseOnDisk

BODY = """
    @gs.case
    def gold_output(case):
        x = case.input("x", lambda: np.random.randn(40, 30))
        case.record("named", {"y": scale(x), "mean": scale(x).mean()})
"""


@pytest.fixture
def gold(course: CourseOnDisk) -> GoldCase:
    return calibrated(course, BODY)["gold_output"]


def test_float64_may_be_off_by_the_floor_that_check_has_and_no_more(gold: GoldCase) -> None:
    y = gold.output["y"]
    assert compare_output(y * (1 + 1e-12), gold, "named.y")
    found = compare_output(y * (1 + 1e-9), gold, "named.y")
    assert not found
    assert [leaf.path for leaf in found.leaves] == ["named.y"]


def test_a_single_number_has_no_dtype_of_its_own_and_an_array_has(gold: GoldCase) -> None:
    mean = gold.output["mean"]
    assert compare_output(np.float32(mean), gold, "named.mean")
    assert not compare_output(np.float32(mean * 1.001), gold, "named.mean")
    assert not compare_output(gold.output["y"].astype(np.float32), gold, "named.y")
    both = {"y": gold.output["y"], "mean": np.float32(mean)}
    assert [leaf.path for leaf in compare_output(both, gold, "named").leaves] == ["named.y", "named.mean"]
