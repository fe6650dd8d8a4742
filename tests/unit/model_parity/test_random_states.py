"""Which runs of a model or function draw random numbers."""

from __future__ import annotations

import numpy as np
import pytest

from goldsmith.frameworks.framework import framework
from goldsmith.runs.live.live_side import LiveSide
from goldsmith.runs.requests import RunRequest


def test_a_device_that_is_first_used_in_a_run_has_drawn_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    numerics = framework("numpy").numerics
    known = numerics.random_state

    def f(x: object) -> object:
        monkeypatch.setattr(numerics, "random_state", lambda: (*known(), b"a device's"))
        return x

    assert _drew(f) == ""


def test_a_function_that_draws_is_told() -> None:
    assert _drew(lambda x: x + np.random.rand()) == "<lambda>()"


def _drew(function: object) -> str:
    side = LiveSide(function, {"x": np.ones(3)}, seed=0)
    side.draw_inputs()
    run = side.run(RunRequest(case="0"))
    side.close()
    assert run.failure is None
    return run.facts.drew
