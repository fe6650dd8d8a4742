"""`check` of code that rounds inside, where torch does not see it: right for gold in that dtype, else wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.calibration_course import calibrated
from support.course import CourseOnDisk

pytestmark = pytest.mark.torch
SOLUTION = """import torch


def scale(x):
    q, k, v = x
    return torch.softmax(q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5, -1) @ v
"""
HIDDEN = """import numpy as np
import torch


def rounded(x):
    bits = x.detach().double().numpy().astype(np.float32).view(np.uint32)
    numbers = ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)
    return torch.from_numpy(numbers.astype(np.float64)).to(x.dtype)


def scale(x):
    q, k, v = rounded(x)
    p = rounded(torch.softmax(rounded(q * q.shape[-1] ** -0.5) @ k.transpose(-1, -2), -1))
    return p @ v
"""
BODY = """
    @gs.case
    def gold_output(case):
        x = case.input("x", lambda: torch.randn(3, 2, 16, 8).to(torch.DTYPE))
        case.record("y", scale(x))
"""


def test_what_rounds_inside_is_judged_in_its_own_dtype(course: CourseOnDisk, tmp_path: Path) -> None:
    calibrated(course, BODY.replace("DTYPE", "bfloat16"), "import torch", SOLUTION)

    def check(code: str) -> tuple[int, str]:
        (tmp_path / "ops.py").write_text(code)
        run = course.run("check", "hw1", str(tmp_path / "ops.py"), "--verbose")
        return run.code, " ".join(run.out.split())

    code, said = check(HIDDEN)
    assert (code, "it rounds to bfloat16 inside, whatever it is given" in said) == (0, True), said
    code, said = check(SOLUTION.replace("** -0.5", "** -0.5 * 1.004"))
    assert code == 1, "a mistake of less than the last place shows in float64"
    code, said = check(HIDDEN.replace("** -0.5", "** -0.4"))
    assert code == 1, "and one that is larger shows in its own dtype"


def test_half_precision_inside_is_wrong_for_gold_in_float32(course: CourseOnDisk, tmp_path: Path) -> None:
    calibrated(course, BODY.replace("DTYPE", "float32"), "import torch", SOLUTION)
    (tmp_path / "ops.py").write_text(HIDDEN)
    assert course.run("check", "hw1", str(tmp_path / "ops.py")).code == 1
