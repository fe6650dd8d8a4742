"""Hollow answers: gold that zeros, a constant or the input itself would pass as is refused, or advised against."""

from __future__ import annotations

import re

import pytest

from support.course import RECIPE_FILE, SOLUTION_FILE, CourseOnDisk

SOLUTION = """
    import numpy as np


    def scale(x, factor=2.0):
        return x * factor


    def tiny(x):
        return x * 1e-9


    def settled(x):
        return 3.0 + x * 1e-6


    def ids(n):
        return 2**60 + n


    class Weights:
        def __init__(self, size):
            self.w = np.random.randn(size, 2)
"""
RECIPE = """
    import numpy as np

    import goldsmith as gs
    from ops import Weights, ids, scale, settled, tiny


    def drawn():
        return np.random.randn(3, 5).astype(np.float32)


    {cases}

    if __name__ == "__main__":
        gs.main()
"""


def generate(course: CourseOnDisk, cases: str, *arguments: str) -> dict[str, object]:
    starter = re.sub("return .*", "raise NotImplementedError", SOLUTION)
    recipe = RECIPE.replace("{cases}", cases.strip("\n").removeprefix("    "))
    course.write({"src/assignments/hw1/ops.py": starter, SOLUTION_FILE: SOLUTION, RECIPE_FILE: recipe})
    (outcome,) = course.run("generate", "hw1", "--json", *arguments).json["assignments"]
    return outcome


def advice(outcome: dict[str, object]) -> dict[str, str]:
    assert outcome["outcome"] == "published", outcome["error"]
    return {item["name"]: item["text"] for item in outcome["advice"]}  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        ("case.record('y', tiny(x))", "zeros would pass as output.y"),
        ("case.record('y', settled(x))", "a constant would pass as output.y"),
        ("case.record('y', scale(x, 1.0))", "its input would pass as output.y"),
        ("case.record('y', {'a': scale(x, 1.0), 'b': [tiny(x), None]})", "its input would pass as output.y"),
        ("case.record('y', tiny(x)); case.record('z', settled(x))", "zeros would pass as output.y"),
        (
            "case.record('y', tiny(x)); case.record('none', scale(x[:0]), allow={'constant': 'empty'})",
            "zeros would pass",
        ),
    ],
)
def test_a_case_that_passes_without_work_is_refused(course: CourseOnDisk, body: str, answer: str) -> None:
    case = f"@gs.case\n    def a(case):\n        x = case.input('x', drawn)\n        {body}\n"
    outcome = generate(course, case)
    assert outcome["outcome"] == "refused"
    (problem,) = outcome["error"]["problems"]  # type: ignore[index]
    assert problem.startswith(f"case a: {answer}")
    assert 'allow={"hollow": "why"}' in outcome["error"]["message"]  # type: ignore[index]
    assert course.gold_bytes() == {}


@pytest.mark.parametrize("place", ["case", "record"])
def test_what_is_meant_is_allowed_with_a_reason(course: CourseOnDisk, place: str) -> None:
    why = "allow={'hollow': 'a round trip'}"
    head, tail = (f"@gs.case({why})", "") if place == "case" else ("@gs.case", f", {why}")
    body = f"case.record('y', scale(scale(case.input('x', drawn), 2.0), 0.5){tail})"
    found = advice(generate(course, f"{head}\n    def a(case):\n        {body}\n"))
    assert not any(name.startswith("hollow") for name in found)


def test_one_hollow_record_among_others_is_advice_that_can_be_silenced(course: CourseOnDisk) -> None:
    case = """
    @gs.case
    def a(case):
        x = case.input("x", drawn)
        case.record("y", scale(x))
        case.record("z", tiny(x))
"""
    found = advice(generate(course, case))
    assert found["hollow-record:a"].startswith("case a: zeros would pass as output.z: ")
    course.write({"goldsmith.toml": '[assignment.hw1.silence]\n"hollow-record:a" = "it is"\n'})
    assert "hollow-record:a" not in advice(generate(course, case, "--force"))


def test_whole_numbers_that_float64_does_not_hold_are_no_constant(course: CourseOnDisk) -> None:
    case = "@gs.case\n    def a(case):\n        case.record('y', ids(case.input('n', np.arange(7))))\n"
    assert not any(name.startswith("hollow") for name in advice(generate(course, case)))
    case = "@gs.case\n    def b(case):\n        case.record('y', ids(case.input('n', 2**60 + np.arange(7))) - 2**60)\n"
    (problem,) = generate(course, case)["error"]["problems"]  # type: ignore[index]
    assert problem.startswith("case b: its input would pass as output.y")


def test_counts_flags_and_single_numbers_are_not_hollow(course: CourseOnDisk) -> None:
    case = """
    @gs.case
    def a(case):
        x = case.input("x", drawn)
        case.record("count", 0)
        case.record("is_fine", True)
        case.record("loss", float(scale(x).sum()))


    @gs.case
    def b(case):
        x = case.input("x", drawn)
        case.record("mask", tiny(x))
        case.record("count", int((scale(x) > 0).sum()))
"""
    found = advice(generate(course, case))
    assert [name for name in found if name.startswith("hollow")] == ["hollow-record:b"]


def test_records_that_one_answer_passes_as_are_told(course: CourseOnDisk) -> None:
    case = """
    @gs.case
    def a(case):
        x = case.input("x", drawn)
        case.record("first", scale(x))
        case.record("second", scale(x))


    @gs.case
    def b(case):
        x = case.input("x", drawn)
        case.record("y", scale(x, 2))


    @gs.case
    def c(case):
        x = case.input("x", drawn)
        case.record("y", scale(x, 2))
        case.record("z", scale(x, 3))
"""
    found = {name: text for name, text in advice(generate(course, case)).items() if name.startswith("twin")}
    assert list(found) == ["twin-record:a", "twin-record:b"]
    assert "output.second is the same as output.first" in found["twin-record:a"]
    assert "output.y is the same as output.first of case a" in found["twin-record:b"]
