"""`gold("a").check(model)` judges a model by the ruler of the setting that it is in."""

from __future__ import annotations

import pytest

from support.calibration_course import calibrated
from support.pytest_course import PluggedCourse, failures

pytestmark = pytest.mark.torch
SOLUTION = """import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = torch.nn.Linear(16, 32), torch.nn.Linear(32, 8)

    def forward(self, x):
        return self.last(torch.relu(self.first(x)))


def scale(x):
    return x
"""
BODY = """
    @gs.case
    def gold_output(case):
        model = case.model(Net, weights="stress")
        case.record("y", model(case.input("x", lambda: torch.randn(24, 16))))
"""
STARTER = SOLUTION.replace("return self.last(torch.relu(self.first(x)))", "raise NotImplementedError")
TESTS = """
import pytest
import torch
from ops_solution import Net


class Wrong(Net):
    def forward(self, x):
        return 1.2 * super().forward(x)


def test_right(gold):
    assert gold("hw1").check(Net())
    assert gold("hw1").check(Net().bfloat16())


def test_wrong(gold):
    gold("hw1").check(Wrong().bfloat16())
"""


def test_a_model_in_bfloat16_is_judged_by_the_ruler_for_that(plugged: PluggedCourse) -> None:
    plugged.write({"src/assignments/hw1/ops.py": STARTER})
    calibrated(plugged, BODY, "import torch\nfrom ops import Net", SOLUTION)
    tests = f"import sys\nsys.path.insert(0, {str(plugged.root / 'private/solutions/hw1')!r})\n{TESTS}"
    none = plugged.pytest(tests)
    assert none.ret == 1
    assert any("measure one with `goldsmith calibrate hw1 --dtype bfloat16`" in line for line in failures(none))
    assert plugged.run("calibrate", "hw1", "--dtype", "bfloat16").code == 0
    plugged.pytest(tests).assert_outcomes(passed=1, failed=1)
