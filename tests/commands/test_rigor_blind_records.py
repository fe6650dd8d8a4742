"""A mutant that differs only in what rounding moves as far survives, and rigor says that nothing is judged there."""

from __future__ import annotations

import pytest

from goldsmith.courses.layout.layout import find_course
from goldsmith.courses.layout.resolve import resolve
from goldsmith.judge.case import Judge
from goldsmith.mutants.measure import RigorOptions, measure
from goldsmith.mutants.results import Finding
from support.course import CourseOnDisk, exercise
from support.mutant_course import mutated_course, rigor_of

SOLUTION = '''
    """Exercise: what rounding moves, and what it does not."""

    import numpy as np


    def wave(x):
        assert x.dtype == np.float32  # so that no run in float64 decides
        return np.sin(x * 1e6)


    def squared(x):
        return x * x
'''
RECIPE = """
    import numpy as np

    import goldsmith as gs
    from ops import wave, squared


    @gs.case
    def mixed(case):
        x = case.input("x", lambda: np.random.randn(40, 30).astype(np.float32))
        case.record("y", wave(x), allow={"float64": "fast"})
        case.record("z", squared(x))
"""
OWN = {"a-little": ("1e6", "1000000.0625"), "another-wave": ("np.sin(x * 1e6)", "np.cos(x * 1e6)")}


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    return mutated_course(tmp_path_factory.mktemp("blind") / "course", OWN, exercise(SOLUTION, RECIPE))


@pytest.fixture(scope="module")
def found(course: CourseOnDisk) -> dict[str, Finding]:
    return {item.operator: item for item in rigor_of(course, *OWN).findings}


def test_it_survives_and_the_record_is_named_that_is_not_judged(found: dict[str, Finding]) -> None:
    item = found["a-little"]
    assert item.outcome == "survived"
    assert item.advice.startswith("record what it is made from")
    assert item.reason.endswith("nothing is judged: rounding alone moves y of case mixed by more than 10% of its size")
    assert item.deviation


def test_what_is_off_by_more_than_the_tolerance_is_killed_all_the_same(found: dict[str, Finding]) -> None:
    assert found["another-wave"].outcome == "killed"


def test_right_variants_of_which_nothing_is_judged_are_not_counted_as_accepted(
    course: CourseOnDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Judge, "blind_records", lambda judge, verdict: [leaf.path for leaf in verdict.natural])
    rigor = measure(resolve(find_course(course.root).assignment("hw1")), RigorOptions(most=1, keep=False))
    assert {item.outcome for item in rigor.variants} == {"could-not-run"}
    assert rigor.variants[0].reason.startswith("inconclusive: ")
    assert not rigor.judged_variants
