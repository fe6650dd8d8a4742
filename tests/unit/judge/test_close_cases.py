"""A case that is off by little more than its tolerance, where float64 does not decide: it differs, needs review, and is
told with enough digits to see the difference."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldsmith.comparison.api import compare
from goldsmith.comparison.results import Comparison, shown_numbers
from goldsmith.courses.grade.scoring import score
from goldsmith.gold.tolerances import Tolerance
from goldsmith.judge.decision import decide
from goldsmith.judge.leaf_words import leaf_lines
from goldsmith.judge.policy import NEAR
from goldsmith.judge.verdicts import CaseVerdict
from goldsmith.judge.words import case_sentence, headline
from support.made_verdicts import case, part, rubric, verdict

GOLD = np.linspace(-1.00488, 1.0, 9, dtype=np.float32)


def compared(times: float, kind: str = "measured", path: str = "y") -> Comparison:
    """Something that is `times` as far off as allowed."""
    limit = Tolerance(kind=kind, reason="", l2=1.0, max=1e-5, scale=1.0)  # type: ignore[arg-type]
    wide = GOLD.astype(np.float64)
    return compare({path: wide + times * 1e-5 * (wide == wide[0])}, {path: wide}, tolerances={path: limit})


def judged(natural: Comparison, wide: Comparison | None = None) -> CaseVerdict:
    start = CaseVerdict(name="steps", title="", outcome="agrees", leaves=natural.leaves, natural=natural.leaves)
    return decide(start, natural, wide)


@given(st.floats(0.0, 10.0))
def test_close_is_never_a_pass_and_far_is_never_close(times: float) -> None:
    found = judged(compared(times))
    assert found.outcome == ("agrees" if times <= 1 + 1e-9 and found.outcome == "agrees" else "differs")
    assert (times <= 1 + 1e-9) or found.outcome == "differs"
    assert found.close == (found.outcome == "differs" and found.leaves[0].excess <= NEAR)


def test_what_float64_decides_is_not_close() -> None:
    assert not judged(compared(1.04), compared(1.04)).close
    assert judged(compared(1.04), compared(0.5)).outcome == "agrees"


def test_what_float64_says_nothing_about_is_close_and_not_excused_by_it() -> None:
    for wide in (None, compared(0.5, path="other")):
        found = judged(compared(1.04), wide)
        assert (found.outcome, found.close) == ("differs", True)
    assert not judged(compared(1.04), compared(1.04, path="other")).close
    assert judged(compared(20.0), compared(0.5, path="other")).outcome == "differs"


def test_a_limit_that_a_person_has_set_is_one() -> None:
    assert not judged(compared(1.04, "pinned")).close


def test_one_value_that_is_far_off_leaves_no_doubt() -> None:
    both = Comparison((*compared(1.04).leaves, *compared(40.0, path="z").leaves))
    assert not judged(both).close


def test_it_is_told_with_the_digits_that_differ() -> None:
    found = judged(compared(1.04))
    assert "close to what is allowed: needs review" in case_sentence(found)
    (line,) = (line for line in leaf_lines(found.leaves[0], reveal=True) if line.startswith("worst"))
    assert line == "worst at [0]: -1.00487, gold -1.00488"


@pytest.mark.parametrize(
    ("one", "two", "shown"),
    [
        (-1.0048796, -1.0048801, ("-1.0048796", "-1.0048801")),
        (1.0, 2.0, ("1", "2")),
        (0.1, 0.1, ("0.1", "0.1")),
        (1.0, 1.0 + 2**-52, ("1", "1.0000000000000002")),
        (3, 4, ("3", "4")),
    ],
)
def test_two_numbers_are_shown_apart(one: Any, two: Any, shown: tuple[str, str]) -> None:
    assert shown_numbers(one, two, 6) == shown


@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_two_numbers_look_the_same_only_if_they_are(one: float, two: float) -> None:
    shown = shown_numbers(one, two, 6)
    assert (shown[0] == shown[1]) == (one == two) or {one, two} == {0.0}


def test_a_grade_marks_it_for_review_and_pays_nothing() -> None:
    near, far = (case("norm", "differs", close=close) for close in (True, False))
    for item, doubtful in ((near, True), (far, False)):
        found = score(verdict(item, parts=(part("Norm", "differs", case="norm"),)), rubric())
        told = {(result.kind, result.name): result for result in found}
        for key in (("case", "norm"), ("part", "Norm")):
            if key in told:
                assert (told[key].earned, told[key].needs_review) == (0, doubtful)
    assert "needs review" in headline(verdict(near))
    assert "needs review" not in headline(verdict(near, msgspec.structs.replace(far, name="loss")))
