"""A chart never contradicts the verdict: a call that is to blame is not drawn as right."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldsmith.html_report.author_view import author_cases
from goldsmith.html_report.call_lane import CallRoles, shown_first
from goldsmith.html_report.case_view import leaf_lane
from goldsmith.html_report.curve import draw_curve
from goldsmith.html_report.view import Lane, Point
from goldsmith.judge.evidence import CallEvidence
from goldsmith.judge.verdicts import AGREES, DIFFERS, CaseVerdict, ModuleVerdict
from support.made_verdicts import leaf, verdict

LIMIT = 5e-5


def call(module: str = "norm", error: float | None = 0.0, **more: Any) -> CallEvidence:
    facts = {"label": module, "kind": "Norm", "model": "model", "module": module, "function": "", "own": True}
    facts |= {"theirs": module, "their_kind": "Norm", "exists": True, "error": error, "limit": LIMIT}
    return CallEvidence(**(facts | more))


def judged(module: str = "norm", **more: Any) -> ModuleVerdict:
    facts = {"case": "whole", "model": "model", "name": module, "kind": "Norm", "outcome": DIFFERS, "source": True}
    return ModuleVerdict(**(facts | more))


def a_case(*modules: ModuleVerdict, **more: Any) -> CaseVerdict:
    facts: dict[str, Any] = {"name": "whole", "title": "", "outcome": DIFFERS, "kind": "values", "reason": "y differs"}
    return CaseVerdict(**(facts | {"modules": modules, "leaves": (leaf(path="output.y"),)} | more))


def lane_of(case: CaseVerdict, *calls: CallEvidence) -> Lane:
    found = CallRoles(case, calls).lane()
    assert found is not None
    return found


def said_of(lane: Lane) -> list[str]:
    return re.findall(r'aria-label="([^"]*)"><title>', str(draw_curve(lane, "c")))


calls = st.builds(
    call,
    st.sampled_from(["norm", "head", "other"]),
    st.sampled_from([None, 0.0, 1e-6, LIMIT, 0.3, math.inf]),
    theirs=st.sampled_from(["norm", None]),
    exists=st.booleans(),
)
modules = st.builds(
    judged,
    st.sampled_from(["norm", "head", "gone", ""]),
    source=st.booleans(),
    inferred=st.booleans(),
    alone=st.booleans(),
    outcome=st.sampled_from([AGREES, DIFFERS, "could-not-run"]),
    why=st.sampled_from(["", "what it passes back is wrong"]),
)


@given(st.lists(calls, min_size=1, max_size=6), st.lists(modules, max_size=4), st.booleans())
def test_what_is_to_blame_is_never_drawn_as_right(some: list[Any], found: list[Any], corrected: bool) -> None:
    case = a_case(*found, corrected=("Norm",) if corrected else ())
    lane = lane_of(case, *some)
    for point in lane.points:
        if point.role in ("source", "hidden"):
            assert point.error is None or point.error > LIMIT
    assert not any(re.search(r"begins here[^;]*; off by (0|[\d.]+e-0[5-9])[,;]?", text) for text in said_of(lane))
    if any(item.source for item in found) and not lane.shows:
        assert lane.note, "what no point shows is said"


def test_a_call_whose_output_is_right_is_drawn_apart_and_says_why() -> None:
    by_gradient = judged(why="what it passes back is wrong")
    for case, why in (
        (a_case(by_gradient), "what it passes back is wrong"),
        (a_case(judged(inferred=True), corrected=("Norm",)), "with Norm as in the solution this case agrees"),
        (a_case(judged(inferred=True), leaves=(leaf(path="output.gradients.w"),)), "gradients are not"),
        (a_case(judged(inferred=True)), "it is to blame because nothing else is left"),
        (
            a_case(judged(relative=1e-6), judged_in="float64", natural=(leaf(agrees=True),)),
            "it is off by too little to show in its own dtype, and the case was judged in float64",
        ),
    ):
        lane = lane_of(case, call(), call("other"))
        assert [point.role for point in lane.points] == ["hidden", "right"]
        assert lane.points[0].error is None
        assert said_of(lane)[0].startswith(
            f"norm (Norm): the difference begins here, but what it returns does not show it; {why}"
        )
        assert lane.note == f"What norm returns is right; {why}."


def test_of_several_calls_those_that_are_off_are_where_it_begins() -> None:
    lane = lane_of(a_case(judged()), call(error=0.0), call(error=0.2), call(error=None, theirs=None))
    assert [point.role for point in lane.points] == ["right", "source", "unknown"]


def test_a_part_that_a_case_does_not_call_is_named() -> None:
    case = a_case(judged("", model="", kind="Encoder", inferred=True))
    assert lane_of(case, call()).note == "The difference begins in Encoder, which this chart has no call of."


@pytest.mark.parametrize("error", [None, math.inf])
def test_what_cannot_be_compared_says_so(error: float | None) -> None:
    lane = lane_of(a_case(judged()), replace(call(error=error), not_comparable="it returns another shape"))
    assert said_of(lane) == ["norm (Norm): the difference begins here; it returns another shape"]
    assert ("no number" if error is None else "other") in str(draw_curve(lane, "c"))


def test_the_chart_that_shows_what_is_wrong_comes_first() -> None:
    right = Lane("Calls", "", "", (Point("a", "", "right", 0.0, None),))
    wrong = Lane("Recorded values", "", "", (Point("y", "", "wrong", 0.3, None),))
    assert [lane.title for lane in shown_first([right, None, wrong])] == ["Recorded values", "Calls"]


def test_a_record_of_another_shape_or_type_is_not_off_by_a_number() -> None:
    shape = leaf(path="output.y", problem="shape", gold_shape=(2,), actual_shape=(3,), relative=0.0, excess=math.inf)
    lane = leaf_lane(a_case(leaves=(shape, leaf(agrees=True, path="output.z"))), {})
    assert lane is not None
    assert said_of(lane)[0].endswith("out of tolerance; has shape [3], not [2]")


def test_values_that_are_right_as_such_say_what_is_wrong() -> None:
    leaves = (leaf(agrees=True, path="output.y"), leaf(agrees=True, path="output.z"))
    lane = leaf_lane(a_case(leaves=leaves, kind="overwrites", reason="overwrites its input x"), {})
    assert lane is not None
    assert lane.note == "Every value is within its tolerance. What is wrong: overwrites its input x."


def test_a_students_page_does_not_call_the_same_part_right_and_wrong() -> None:
    right = judged(outcome=AGREES, source=False, relative=0.0)
    for source in (judged(inferred=True), judged(relative=0.0)):
        (found,) = author_cases(verdict(a_case(right, source), parts=()))
        rows = found.tables[0].rows
        assert [(row.role, row.step) for row in rows] == [("right", 0), ("hidden", None)]
