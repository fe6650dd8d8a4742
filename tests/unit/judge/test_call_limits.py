"""A call may be off by its own noise, and by rounding where float64 has cleared its function; never by much."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from goldsmith.courses.handout import kit_check
from goldsmith.gold.manifest import CaseEntry
from goldsmith.judge.call_limits import allow_rounding, noise_limits
from goldsmith.judge.coverage import PartCoverage
from goldsmith.judge.policy import CLOSE, MAX_CALL_NOISE, MAX_CALL_ROUNDING
from goldsmith.judge.trace_pairs import TracePair
from goldsmith.judge.traces import Call
from support.made_verdicts import case, leaf

SHOWN = PartCoverage({"waves": ("wave",), "whole": ("mix", "wave")}, {})


def call(kind: str = "wave", dtype: str = "float32", **more: Any) -> Call:
    array = np.arange(1, 5, dtype=dtype)
    fields = {"model": "", "module": "", "function": kind, "own": True, "form": None} | more
    return Call(position=0, end=1, kind=kind, inputs=(array,), outputs=(array,), **fields)


def entry(**noise: float) -> CaseEntry:
    texts = dict.fromkeys(("name", "variant", "kind", "title", "file"), "")
    lists = dict.fromkeys(("accepts", "inputs", "outputs", "models", "training", "tensors"), ())
    tables: dict[str, Any] = {"weights": {}, "config": {}, "allowed": {}}
    rest: dict[str, Any] = {"trace": None, "reference": None, "calls": 0, "traced_calls": 0}
    return CaseEntry(**texts, **lists, **tables, **rest, call_noise=noise)  # type: ignore[arg-type]


@pytest.mark.parametrize(("noise", "limit"), [(1e-6, 1e-5), (3e-4, 3e-3), (0.5, MAX_CALL_NOISE)])
def test_noise_of_a_function_or_of_a_module_is_its_limit(noise: float, limit: float) -> None:
    function = noise_limits([call()], entry(**{"wave()": noise}))
    module = noise_limits([call("Mix", model="model", module="mix", function="")], entry(**{"model.mix": noise}))
    layer = noise_limits([call("Mix", model="net", function="")], entry(**{"Mix.forward()": noise}))
    assert function == module == layer == {0: pytest.approx(limit)}


def limit_of(own: Any, *, error: float = 0.74, dtype: str = "float32") -> float:
    traced = call(dtype=dtype)
    pair = TracePair("whole", [traced], [], {})
    wrong = case("whole", "differs", natural=(leaf(relative=error), leaf(agrees=True)))
    allow_rounding(pair, {"whole": wrong, "waves": own}, SHOWN)
    return pair.limit(traced)


def test_a_function_that_its_own_case_clears_in_float64_may_round() -> None:
    assert limit_of(case("waves", judged_in="float64")) == MAX_CALL_ROUNDING
    assert (
        limit_of(case("waves", natural=(leaf(agrees=True, identical=True),), judged_in="float32")) == MAX_CALL_ROUNDING
    )


def test_nothing_else_may() -> None:
    cleared = case("waves", judged_in="float64")
    assert limit_of(case("waves", judged_in="float32", natural=(leaf(agrees=True),))) == CLOSE
    assert limit_of(case("waves", "differs", judged_in="float64")) == CLOSE
    assert limit_of(cleared, dtype="float64") == CLOSE
    assert limit_of(cleared, error=1e-4) == CLOSE, "so small an error may well come from rounding in one call"
    assert limit_of(cleared, error=0.02) == pytest.approx(2e-4), "never so much that it would explain the case"


def test_a_kit_that_runs_without_goldsmith_has_the_same_limit() -> None:
    assert kit_check.CLOSE == CLOSE
