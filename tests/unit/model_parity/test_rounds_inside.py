"""Two models of which one rounds inside, where nobody sees it: its own dtype decides, and mistakes do not pass."""

from __future__ import annotations

from functools import partial

import pytest

import goldsmith

torch = pytest.importorskip("torch")

from corpora.rounding_inside import FUNCTIONS, drawn, hidden  # noqa: E402

pytestmark = pytest.mark.torch


def judged(name: str, dtype: str, **options: object) -> goldsmith.Parity:
    function, inputs = FUNCTIONS[name][0], drawn(name, getattr(torch, dtype))
    return goldsmith.parity(function, partial(function, **options), inputs=inputs, gradients=False)


@pytest.mark.parametrize("inside", ["bfloat16", "float32"])
def test_code_that_rounds_inside_is_judged_in_its_own_dtype(inside: str) -> None:
    found = judged("attention", "bfloat16", r=hidden(inside))
    assert found.outcome == "agrees", str(found)
    told = "the candidate rounds to bfloat16 inside" in " ".join(found.report.notes)
    assert told == (inside == "bfloat16"), "what rounds to float32 is within every tolerance here"


def test_half_precision_inside_is_wrong_for_a_reference_in_float32() -> None:
    assert judged("attention", "float32", r=hidden("bfloat16")).outcome == "differs"


@pytest.mark.parametrize("off", [2e-3, 0.2])
def test_mistakes_do_not_pass_as_rounding(off: float) -> None:
    assert judged("attention", "bfloat16", off=off).outcome == "differs"


def test_a_mistake_in_code_that_rounds_inside_does_not_pass() -> None:
    assert judged("norm", "bfloat16", r=hidden("bfloat16"), off=0.2).outcome == "differs"
