"""Points in the recipe: counted where submissions are graded, and of no consequence for gold."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import goldsmith as gs
from goldsmith.courses.grade.rubric import make_rubric
from goldsmith.courses.layout.config import RubricConfig
from goldsmith.errors.recipe import BadPoints, RecipeMisuse
from goldsmith.source_code.points import recipe_points, without_points
from support.check_course import RECIPE, checked_course, hand_in
from support.course import RECIPE_FILE, CourseOnDisk

HEAD = "import goldsmith as gs\nfrom goldsmith import checkpoint as trained\n\n\n"


def written(text: str) -> str:
    return f"# ünïcode\n{HEAD}{text}\ndef a(case): ...\n"


@pytest.mark.parametrize(
    ("given", "plain", "points"),
    [
        ("@gs.case(points=2)", "@gs.case", {"a": 2.0}),
        ("@gs.case(\n    points=2.5,\n)", "@gs.case", {"a": 2.5}),
        ("@gs.checkpoint(points=0)", "@gs.checkpoint", {"a": 0.0}),
        ("@trained(points=1e3)", "@trained", {"a": 1000.0}),
        ('@gs.case(points=2, name="ä")', '@gs.case(name="ä")', {"ä": 2.0}),
        ('@gs.case(name="ä", points=(2))', '@gs.case(name="ä")', {"ä": 2.0}),
        ('@gs.case(\n    name="b",\n    points=2,\n)', '@gs.case(\n    name="b",\n)', {"b": 2.0}),
        (
            '@gs.case(name="b", points=2, allow={"inf": "why"})',
            '@gs.case(name="b", allow={"inf": "why"})',
            {"b": 2.0},
        ),
        ("@gs.case(\N{FULLWIDTH LATIN SMALL LETTER P}oints=2)", "@gs.case", {"a": 2.0}),
        ("@other.case(points=2)", "@other.case(points=2)", {}),
    ],
)
def test_points_are_read_off_the_recipe_and_it_is_the_same_without(
    tmp_path: Path, given: str, plain: str, points: dict[str, float]
) -> None:
    for ending in ("\n", "\r\n"):
        source = written(given).replace("\n", ending).encode()
        assert without_points(source) == written(plain).replace("\n", ending).encode()
        (tmp_path / "recipe.py").write_bytes(source)
        assert recipe_points(tmp_path / "recipe.py", Path("recipe.py")) == points


@pytest.mark.parametrize(
    "given", ["@gs.case(name=NAME, points=2)", "@gs.case(points=1)\ndef a(case): ...\n@gs.case(points=2)"]
)
def test_points_of_nobody_in_particular_are_not_ignored(tmp_path: Path, given: str) -> None:
    (tmp_path / "recipe.py").write_text(written(given))
    with pytest.raises(BadPoints, match="once for the name of each case"):
        recipe_points(tmp_path / "recipe.py", Path("recipe.py"))


def test_what_is_no_plain_number_stays_part_of_the_recipe() -> None:
    for given in ("@gs.case(points=N)", "@gs.case(points='2')", "@gs.case(points=-1)", "@gs.case(points=True)", "@(("):
        assert without_points(written(given).encode()) == written(given).encode()


@pytest.mark.parametrize(
    ("config", "worth", "items"),
    [
        ({}, {}, {"case:a": 1, "case:b": 1}),
        ({}, {"b": 3}, {"case:a": 1, "case:b": 3}),
        ({"cases": {"b": 5}}, {"b": 3}, {"case:b": 5}),
        ({"cases": {"a": 5}}, {"b": 3}, {"case:a": 5, "case:b": 3}),
        ({"parts": {"P": 2}}, {"b": 3}, {"part:P": 2, "case:b": 3}),
        ({"parts": {"P": 2}}, {"gone": 3}, {"part:P": 2}),
    ],
)
def test_the_configuration_wins_where_both_say_something(
    config: dict[str, dict[str, float]], worth: dict[str, float], items: dict[str, float]
) -> None:
    rubric = make_rubric(RubricConfig(**config), ["a", "b"], ["P"], worth=worth)  # type: ignore[arg-type]
    assert {item.key: item.points for item in rubric.items} == items


@pytest.mark.parametrize("points", [-0.5, float("nan"), float("inf"), "two", True, 10**400, [1]])
def test_what_cannot_be_counted_is_refused(points: Any) -> None:
    with pytest.raises(RecipeMisuse, match=re.escape(f"points={points!r} cannot be counted; give some_case a number")):

        @gs.case(points=points)
        def some_case(case: gs.Case) -> None: ...


# --- the whole of it --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    return checked_course(tmp_path_factory.mktemp("points") / "course")


@pytest.fixture
def course(made: CourseOnDisk) -> Iterator[CourseOnDisk]:
    """With its recipe, and nothing else, changed from test to test."""
    yield made
    made.write({RECIPE_FILE: RECIPE, "goldsmith.toml": ""})


def scores(course: CourseOnDisk) -> dict[str, float]:
    folder = hand_in(course, ("return x * factor", "return x + factor"))
    run = course.run("grade", "hw1", folder, "--json")
    assert run.code == 0, run.err
    (item,) = run.json["submissions"]
    return {one["name"]: one["points"] for one in item["items"]} | {"score": item["score"]}


def test_other_points_cost_no_new_gold_and_no_new_run(course: CourseOnDisk) -> None:
    gold = course.gold_bytes()
    assert scores(course) == {"centred": 1, "scaled": 1, "counted": 1, "score": 2}
    kept = sorted((course.root / ".goldsmith/grades/hw1").iterdir())
    course.write({RECIPE_FILE: RECIPE.replace("@gs.case", "@gs.case(points=4)", 1)})
    assert course.run("status", "--json").json["assignments"][0]["outcome"] == "fresh"
    assert scores(course) == {"centred": 4, "scaled": 1, "counted": 1, "score": 5}
    assert sorted((course.root / ".goldsmith/grades/hw1").iterdir()) == kept, "what was judged is not run again"
    assert course.run("generate", "hw1", "--json").json["assignments"][0]["outcome"] == "unchanged"
    assert course.gold_bytes() == gold
    course.write({"goldsmith.toml": "[assignment.hw1.rubric.cases]\ncentred = 2\nscaled = 1\n"})
    assert scores(course) == {"centred": 2, "scaled": 1, "score": 2}


def test_points_that_are_none_are_refused_in_one_sentence(course: CourseOnDisk) -> None:
    def with_points(text: str) -> None:
        course.write({RECIPE_FILE: RECIPE.replace("@gs.case", f"@gs.case(points={text})", 1)})

    with_points("-1")
    (item,) = course.run("generate", "hw1", "--json").json["assignments"]
    assert item["outcome"] == "failed"
    assert item["error"]["message"] == (
        f"{RECIPE_FILE}, line 8: points=-1 cannot be counted; give centred a number from 0 to 1000000."
    )
    with_points("1 + 1")
    error = course.run("generate", "hw1", "--json").json["assignments"][0]["error"]["message"]
    assert "points=1 + 1 in line 8 must be a number that stands there" in error
    run = course.run("grade", "hw1", hand_in(course), "--allow-stale")
    assert run.code == 2
    assert "generate_fixtures.py, line 8: points=1 + 1 is not a number of points; write a number" in " ".join(
        run.err.split()
    )


def test_points_that_only_running_shows_are_refused(course: CourseOnDisk) -> None:
    course.write({RECIPE_FILE: RECIPE.replace("@gs.case", "worth = gs.case\n\n    @worth(points=2)", 1)})
    run = course.run("generate", "hw1", "--json")
    assert run.code == 3
    assert "the points of centred stand nowhere as a number" in run.json["assignments"][0]["error"]["message"]
