"""Nothing is judged by a ruler as long as the thing: where rounding alone moves a result by more than a tenth of its
size, two implementations neither agree nor differ, and gold is refused."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import goldsmith
from corpora.whole_numbers import FUNCTIONS, ON_AN_EDGE, inputs
from goldsmith.gold.tolerances import Tolerance, blind_paths, is_blind
from goldsmith.model_parity.noise import MORE
from support.calibration_course import advice_of, calibrated, tolerance_of
from support.course import RECIPE_FILE, SOLUTION_FILE, CourseOnDisk, recipe


def outcome(function: Any, factor: float) -> Any:
    return goldsmith.parity(function, lambda x: factor * function(x), inputs=inputs(), gradients=False)


@pytest.mark.parametrize("name", ON_AN_EDGE)
def test_what_rounding_decides_is_inconclusive(name: str) -> None:
    found = outcome(ON_AN_EDGE[name], 1.4)
    assert (found.outcome, found.report.kind, found.report.exit_code) == ("inconclusive", "inconclusive", 3)
    assert "rounding alone moves the output of the reference by more than 10% of its size" in str(found)


@pytest.mark.long
@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_output_that_is_scaled_never_agrees(name: str) -> None:
    assert outcome(FUNCTIONS[name], 1.4).outcome == "differs"


def test_who_gives_a_tolerance_is_answered() -> None:
    function = ON_AN_EDGE["at the threshold"]
    options = {"inputs": inputs(), "gradients": False, "rtol": 1e-4, "atol": 1e-4}
    assert goldsmith.parity(function, lambda x: 1.4 * function(x), **options).outcome == "differs"
    assert goldsmith.parity(function, lambda x: (1 + 1e-6) * function(x), **options).outcome == "agrees"


class Router(torch.nn.Module):
    """Chooses between two scores that are the same but for rounding."""

    def forward(self, x: Any) -> Any:
        return torch.stack([x.sum(-1), x.flip(-1).sum(-1)], -1).argmax(-1)


class Mixture(torch.nn.Module):
    def __init__(self, factor: float = 1.0) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.before, self.router = torch.nn.Linear(8, 8), Router()
        self.experts = torch.nn.Embedding(2, 8)
        self.factor = factor

    def forward(self, x: Any) -> Any:
        x = self.before(x)
        return (torch.tanh(x) * 0.01 + self.experts(self.router(x))) * self.factor


def test_the_first_call_whose_noise_jumps_is_named() -> None:
    found = goldsmith.parity(Mixture(), Mixture(1.4), inputs=inputs(), gradients=False)
    assert found.report.kind == "inconclusive"
    assert "that begins in experts" in found.report.reason  # what the router returns is no floating-point number


@given(st.floats(1e-6, 1e6), st.floats(0, 2), st.integers(0, 100))
def test_a_tolerance_is_blind_by_its_share_of_the_size(scale: float, share: float, noisy: int) -> None:
    quiet = Tolerance(kind="measured", reason="", l2=share, max=share, scale=scale)
    assert is_blind(quiet, 100) == (share > 0.1)
    wild = Tolerance(kind="measured", reason="", l2=1e-6, max=1e-6, scale=scale, noisy=noisy, noisy_limit=share * scale)
    assert is_blind(wild, 100) == (noisy > 25 and share * scale > 0.1 * scale)
    pinned = Tolerance(kind="pinned", reason="a person decided", l2=share, max=share, scale=scale)
    assert not is_blind(pinned, 100)


def test_what_is_zero_but_for_rounding_is_not_blind() -> None:
    zero = Tolerance(kind="measured", reason="", l2=1e-6, max=1e-6, scale=1e-9, noisy=9, noisy_limit=1e-8)
    large = Tolerance(kind="measured", reason="", l2=1e-6, max=1e-6, scale=1.0)
    assert blind_paths({"bias": zero, "weight": large}, {"bias": 9, "weight": 9}) == []
    assert blind_paths({"bias": zero}, {"bias": 9}) == ["bias"]


# --- gold


CASE = """
    @gs.case(ALLOW)
    def gold_output(case):
        x = case.input("x", lambda: torch.randn(16, 8))
        table = case.input("table", lambda: torch.randn(2, 8))
        case.record("y", table[scale(x)])
        MORE
"""
SOLUTION = "import torch\ndef scale(x):\n    return (x.sum(-1) > x.flip(-1).sum(-1)).long()\n"


def case_file(allow: str = "", more: str = "") -> str:
    return CASE.replace("(ALLOW)", f"({allow})" if allow else "").replace("MORE", more)


@pytest.mark.long
def test_gold_by_which_nothing_can_be_judged_is_refused_by_name(course: CourseOnDisk) -> None:
    course.write(
        {RECIPE_FILE: recipe(case_file('allow={"float64": "near-ties"}'), "import torch"), SOLUTION_FILE: SOLUTION}
    )
    run = course.run("generate", "hw1", "--yes", calibrate=True)
    assert run.code == 3
    told = " ".join((run.out + run.err).split())
    assert "rounding alone moves output.y by more than 10% of its size" in told
    assert 'allow={"noise": "why"}' in told
    allow = 'allow={"noise": "near-ties are the point", "float64": "so they are", "hollow": "all passes"}'
    gold = calibrated(course, case_file(allow), "import torch", SOLUTION)
    assert tolerance_of(gold).noisy


@pytest.mark.long
def test_beside_something_that_can_be_judged_it_is_advice(course: CourseOnDisk) -> None:
    body = case_file('allow={"float64": "near-ties"}', 'case.record("z", torch.tanh(x))')
    gold = calibrated(course, body, "import torch", SOLUTION)
    assert "noisy:gold_output" in advice_of(gold)
    assert {item.kind for item in (tolerance_of(gold, "output.y"), tolerance_of(gold, "output.z"))} == {"measured"}


class Layer(torch.nn.Module):
    """A layer that may be a little too large, and counts how often it ran, copies of it included."""

    def __init__(self, runs: list[int], factor: float = 1.0) -> None:
        super().__init__()
        self.linear, self.factor, self.count = torch.nn.Linear(6, 5), factor, partial(runs.append, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count()
        return self.linear(x) * self.factor


@pytest.mark.parametrize(("off", "many"), [(4e-7, True), (1e-3, False), (0.0, False)])
def test_more_trials_are_taken_where_they_may_decide_and_only_there(off: float, many: bool) -> None:
    torch.manual_seed(0)
    runs: list[int] = []
    found = goldsmith.parity(Layer(runs), Layer([], 1 + off), torch.randn(3, 6))
    assert found.outcome == ("differs" if off else "agrees")
    assert (len(runs) > 2 * MORE) is many
