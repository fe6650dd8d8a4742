"""Before gold is published, a copy of the solution is submitted like a student's, and must agree with it."""

from __future__ import annotations

import pytest

from support.course import RECIPE_FILE, CourseOnDisk

HEAD = """
    import itertools
    from pathlib import Path

    import numpy as np

    import goldsmith as gs
    from ops import scale

    numbers = itertools.count()
"""
TAIL = """

    if __name__ == "__main__":
        gs.main()
"""
FINE = """
    @gs.case
    def fine(case):
        case.record("y", scale(case.input("x", lambda: np.random.randn(3, 5))))
"""
NOT_REPLAYED = {
    "count": """
    @gs.case
    def odd(case):
        case.record("y", scale(case.input("x", lambda: np.random.randn(3, 5))) + next(numbers))
""",
    "private": """
    @gs.case
    def odd(case):
        x = case.input("x", lambda: np.random.randn(3, 5))
        case.record("y", scale(x) + len((Path(__file__).parents[3] / "tests/internal/secret.txt").read_text()))
""",
}


@pytest.mark.parametrize("kind", NOT_REPLAYED)
def test_gold_that_nobody_could_meet_is_refused_with_the_report_of_check(course: CourseOnDisk, kind: str) -> None:
    course.write({RECIPE_FILE: HEAD + FINE + NOT_REPLAYED[kind] + TAIL, "tests/internal/secret.txt": "secret"})
    shown = course.run("generate", "hw1")
    assert shown.code == 3
    assert course.gold_bytes() == {}
    assert "a copy of the solution: " in shown.out
    assert "Next: goldsmith check" not in shown.out
    assert shown.last_line.startswith("hw1: gold refused: a copy of the solution, submitted like a student's, does not")
    (outcome,) = course.run("generate", "hw1", "--json").json["assignments"]
    assert (outcome["outcome"], outcome["error"]["kind"]) == ("refused", "copy-disagrees")
    assert " in odd (" in outcome["error"]["message"]
    assert outcome["error"]["report"] in shown.out


def test_gold_before_stays_when_new_gold_is_refused(course: CourseOnDisk) -> None:
    course.write({RECIPE_FILE: HEAD + FINE + TAIL})
    assert course.run("generate", "hw1").code == 0
    before = course.gold_bytes()
    course.write({RECIPE_FILE: HEAD + FINE + NOT_REPLAYED["count"] + TAIL})
    assert course.run("generate", "hw1").code == 3
    assert course.gold_bytes() == before


def test_what_a_recipe_declares_to_come_out_differently_is_not_asked_to_agree(course: CourseOnDisk) -> None:
    declared = NOT_REPLAYED["count"].replace("@gs.case", '@gs.case(allow={"reproducible": "it counts"})')
    course.write({RECIPE_FILE: HEAD + FINE + declared + TAIL})
    assert course.run("generate", "hw1").code == 0


def test_a_script_without_cases_has_nothing_to_replay(course: CourseOnDisk) -> None:
    course.write({RECIPE_FILE: SCRIPT})
    made = course.run("generate", "hw1")
    assert made.code == 0, made.out


SCRIPT = """
    import argparse
    from pathlib import Path

    import numpy as np

    from ops import scale

    parser = argparse.ArgumentParser()
    parser.add_argument("--output", type=Path)
    np.random.seed(1)
    x = np.random.randn(3, 5)
    np.savez(parser.parse_args().output / "made.npz", input=x, output=scale(x), seed=1)
"""
