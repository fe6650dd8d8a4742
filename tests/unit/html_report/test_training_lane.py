"""Steps of training on a page: an error that grows from step to step is seen to grow."""

from __future__ import annotations

import numpy as np

from goldsmith.comparison.api import compare
from goldsmith.html_report.page import render_report
from goldsmith.html_report.training_lane import training_lane
from goldsmith.html_report.verdict_page import verdict_report
from goldsmith.judge.evidence import TensorEvidence
from goldsmith.judge.verdicts import DIFFERS, CaseVerdict
from support.made_pages import a_verdict, an_environment, evidence_of

LOSSES = np.array([2.0, 1.5, 1.0])


def a_case(**values: tuple[object, object]) -> CaseVerdict:
    theirs = {name: pair[0] for name, pair in values.items()}
    gold = {name: pair[1] for name, pair in values.items()}
    leaves = compare(theirs, gold, rtol=1e-4, atol=0.0).leaves
    return CaseVerdict(name="wrong", title="", outcome=DIFFERS, kind="values", leaves=leaves, natural=leaves)


def test_recorded_losses_are_steps_and_the_worst_weight_comes_last() -> None:
    weights = {"a": np.ones(3), "b": np.ones(3)}
    case = a_case(
        losses=(LOSSES * [1, 1.001, 1.1], LOSSES),
        weights=({"a": weights["a"] * 1.2, "b": weights["b"] * 1.5}, weights),
    )
    losses = TensorEvidence("output.losses", LOSSES, LOSSES * [1, 1.001, 1.1], 1e-4 * LOSSES)
    lane = training_lane(case, [losses], [], {"weights.b": 1e-6})
    assert lane is not None
    assert [point.label for point in lane.points] == [
        "step 1: losses",
        "step 2: losses",
        "step 3: losses",
        "all weights after training",
    ]
    assert [point.role for point in lane.points] == ["right", "wrong", "wrong", "wrong"]
    np.testing.assert_allclose([point.error or 0 for point in lane.points], [0, 1e-3, 0.1, 0.5], rtol=1e-6)
    assert lane.points[-1].noise == 1e-6


def test_losses_that_are_recorded_one_by_one_are_steps_too() -> None:
    case = a_case(loss=([1.0, 2.5], [1.0, 2.0]))
    lane = training_lane(case, (), (), {})
    assert lane is not None
    assert [(point.label, point.role) for point in lane.points] == [
        ("step 1: loss", "right"),
        ("step 2: loss", "wrong"),
    ]


def test_a_single_step_is_no_curve() -> None:
    assert training_lane(a_case(loss=(1.0, 2.0)), (), (), {}) is None


def test_the_page_of_a_case_that_trains_has_the_lane() -> None:
    verdict = a_verdict("ben")
    evidence = evidence_of(verdict)
    assert "Steps of training" not in render_report(verdict_report(verdict, evidence, an_environment()))
    evidence.losses["wrong"] = (TensorEvidence("output.losses", LOSSES, LOSSES * 1.1, None),)
    assert "Steps of training" in render_report(verdict_report(verdict, evidence, an_environment()))
