"""Cases that a loop, a partial, a closure or a decorator makes are cases like others: title, parts, points."""

from __future__ import annotations

import ast
import textwrap
from functools import lru_cache, partial, wraps
from pathlib import Path
from typing import Any

import pytest

from goldsmith.errors.recipe import RecipeMisuse
from goldsmith.recipe.decorators import OUTPUT, CaseDefinition, case
from goldsmith.source_code.points import recipe_points, registrations, without_points
from support.course import RECIPE_FILE, CourseOnDisk, edited, exercise, numpy_course

SOLUTION = """
    import numpy as np


    def double(x):
        return x * 2


    def halve(x):
        return x / 2


    def shift(x, by):
        return x + by


    def square(x):
        return x**2


    def invert(x):
        return 1 / (2 + np.abs(x))
"""
RECIPE = '''
    from functools import partial, wraps

    import numpy as np

    import goldsmith as gs
    from ops import double, halve, invert, shift, square


    def check_shift(by, case):
        """Shifted by a number."""
        case.record("y", shift(case.input("x", lambda: np.random.randn(3, 4)), by))


    for by in (1, 2):
        gs.case(name=f"shift_{by}", points=3)(partial(check_shift, by))


    def check(function, case):
        """One function on a few numbers."""
        case.record("y", function(case.input("x", lambda: np.random.randn(3, 4))))


    for label, function in (("double", double), ("halve", halve)):
        gs.case(name=f"{label}-few", points=1)(partial(check, function))


    def on(size):
        @gs.case(name=f"square_{size}", points=2)
        def squares(case):
            """Squares of some numbers."""
            case.record("y", square(case.input("x", lambda: np.random.randn(size, 2))))


    on(3)
    on(4)


    def twice(function):
        @wraps(function)
        def run(case):
            function(case)

        return run


    @gs.case(points=4)
    @twice
    def wrapped(case):
        """A case in a case."""
        case.record("y", invert(case.input("x", lambda: np.random.randn(5))))


    gs.case(name="by_lambda", points=5)(
        lambda case: case.record("y", invert(case.input("x", lambda: np.random.randn(6))))
    )
'''
POINTS = {
    "shift_1": 3.0,
    "shift_2": 3.0,
    "double-few": 1.0,
    "halve-few": 1.0,
    "square_3": 2.0,
    "square_4": 2.0,
    "wrapped": 4.0,
    "by_lambda": 5.0,
}
TITLES = {
    "shift_1": "Shifted by a number.",
    "double-few": "One function on a few numbers.",
    "square_3": "Squares of some numbers.",
    "wrapped": "A case in a case.",
    "by_lambda": "",
}


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    made = numpy_course(tmp_path_factory.mktemp("loops") / "course")
    made.write(exercise(SOLUTION, RECIPE))
    return made.with_gold()


def checked(course: CourseOnDisk, folder: Path, *changes: tuple[str, str]) -> Any:
    folder.mkdir(exist_ok=True)
    (folder / "ops.py").write_text(edited(SOLUTION, *changes))
    (found,) = course.run("check", "hw1", str(folder), "--json").json["submissions"]
    return found


def test_every_part_is_shown_by_its_cases_and_titles_are_kept(course: CourseOnDisk, tmp_path: Path) -> None:
    found = checked(course, tmp_path / "right")
    assert {item["name"]: item["outcome"] for item in found["parts"]} == dict.fromkeys(
        ["double", "halve", "shift", "square", "invert"], "agrees"
    )
    titles = {item["name"]: item["title"] for item in found["cases"]}
    assert titles == titles | TITLES


@pytest.mark.parametrize(
    ("part", "old", "new"),
    [
        ("double", "x * 2", "x * 3"),
        ("halve", "x / 2", "x / 3"),
        ("shift", "x + by", "x - by"),
        ("square", "x**2", "x**3"),
        ("invert", "1 / (2", "1 / (3"),
    ],
)
def test_the_part_that_is_wrong_is_named(course: CourseOnDisk, tmp_path: Path, part: str, old: str, new: str) -> None:
    found = checked(course, tmp_path / "wrong", (old, new))
    assert found["first_divergence"] == part
    assert [item["name"] for item in found["parts"] if item["outcome"] == "differs"] == [part]


def test_points_in_a_loop_count_for_every_case_of_it(course: CourseOnDisk, tmp_path: Path) -> None:
    path = course.root / RECIPE_FILE
    found = recipe_points(path, path)
    assert {name: found.get(name) for name in POINTS} == POINTS
    assert "other" not in found
    checked(course, tmp_path / "ada", ("x + by", "x - by"))
    run = course.run("grade", "hw1", str(tmp_path / "ada"), "--output", str(tmp_path / "grades"), "--json")
    (item,) = run.json["submissions"]
    assert (item["score"], item["points"]) == (15.0, 21.0), run.out + run.err
    assert b"points" not in without_points(path.read_bytes())


def test_points_of_a_name_that_stands_nowhere_are_refused(tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.py"
    recipe.write_text("import goldsmith as gs\nfor name in names:\n    gs.case(name=name, points=2)(print)\n")
    with pytest.raises(Exception, match="once for the name of each case"):
        recipe_points(recipe, recipe)
    both = "import goldsmith as gs\n@gs.case(name=f'a_{n}', points=2)\ndef f(case): ...\n"
    recipe.write_text(both + "@gs.case(name=f'{n}_b', points=3)\ndef g(case): ...\n")
    found = recipe_points(recipe, recipe)
    assert found
    assert list(found) == ["a_*", "*_b"]
    assert (found.get("a_1"), found.get("1_b"), found.get("a_b"), found.get("a_1_b")) == (2.0, 3.0, None, None)


def test_all_ways_to_make_a_case_are_seen() -> None:
    text = """
    import goldsmith as gs
    from goldsmith import case as c
    @gs.case
    def a(case): ...
    @c(name="b-b")
    def b(case): ...
    gs.case(d)
    gs.case(name="e")(partial(f, 1))
    for n in range(3):
        c(name=f"g_{n}")(partial(f, n))
    other.case(h)
    """
    found = list(registrations(ast.parse(textwrap.dedent(text))))
    assert {item.name or item.pattern for item in found} == {"a", "b-b", "d", "e", "g_.+"}


def titled(function: Any) -> str:
    return CaseDefinition("x", OUTPUT, function).title


def test_a_title_is_that_of_the_function_that_was_written() -> None:
    def written(number: int, case: Any) -> None:
        """What it is about."""

    @wraps(written)
    def wrapper(*arguments: Any) -> None: ...

    class Check:
        """A class of checks."""

        def __call__(self, case: Any) -> None: ...

        def method(self, case: Any) -> None:
            """A method."""

    assert titled(partial(written, 1)) == "What it is about."
    assert titled(partial(partial(wrapper, 1))) == "What it is about."
    assert titled(lru_cache(written)) == "What it is about."
    assert titled(Check()) == "A class of checks."
    assert titled(Check().method) == "A method."
    assert titled(lambda case: None) == ""
    assert titled(partial(lambda number, case: None, 1)) == ""


def test_a_partial_needs_a_name() -> None:
    with pytest.raises(RecipeMisuse, match="a case that is a partial object needs a name of its own"):
        case(partial(print, 1))
