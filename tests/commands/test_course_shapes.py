"""Courses that nobody arranged for goldsmith, from `init` to grades: nothing is moved, and every answer is right."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

from corpora.course_shapes import Shape, basics, foundations, modules, needle, practicals
from support.course import CourseOnDisk

SHAPES: dict[str, Shape] = {
    "practicals": practicals.SHAPE,
    "basics": basics.SHAPE,
    "needle": needle.SHAPE,
    "modules": modules.SHAPE,
    "foundations": foundations.SHAPE,
}
QUICK = ("basics",)
EXTENDED = (".gitignore", "pyproject.toml", "setup.cfg")


@dataclass(frozen=True)
class Begun:
    """A course in which `init` has run and gold has been made, what `init` said, and what two students handed in."""

    name: str
    shape: Shape
    course: CourseOnDisk
    said: str
    generated: str
    right: Path
    wrong: Path


@pytest.fixture(
    scope="module",
    params=[pytest.param(name, marks=[] if name in QUICK else pytest.mark.long) for name in SHAPES],
)
def begun(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Begun:
    shape = SHAPES[request.param]
    base = tmp_path_factory.mktemp(request.param)
    course = shape.write(base / "hw2")
    run = course.run("init", "--yes")
    assert run.code == 0, run.out + run.err
    course.write({**shape.recipe, **shape.tests})
    made = course.run("generate", shape.assignment)
    assert made.code == 0, made.out + made.err
    right, wrong = shape.fork(base / "forks/ada", shape.right), shape.fork(base / "forks/bob", shape.wrong)
    return Begun(request.param, shape, course, run.out, made.out, right, wrong)


@pytest.mark.parametrize("name", SHAPES)
def test_init_says_what_it_found_and_is_right(tmp_path: Path, name: str) -> None:
    shape = SHAPES[name]
    course = shape.write(tmp_path / "hw2")
    run = course.run("init", "--yes")
    assert run.code == 0, run.err
    for line in shape.said:
        assert line in run.out, run.out
    found = tomllib.loads((course.root / "goldsmith.toml").read_text())
    assert {key: found[key] for key in shape.settings} == shape.settings
    status = course.run("status", "--json").json["assignments"]
    assert tuple(item["name"] for item in status) == (shape.names or (shape.assignment,))
    for path, content in {**shape.public, **shape.staff}.items():
        if path not in EXTENDED:
            written = CourseOnDisk(tmp_path / "expected").write({path: content}).root / path
            assert (course.root / path).read_bytes() == written.read_bytes(), path
    assert course.git("status", "--porcelain", "--", *EXTENDED, "goldsmith.toml", "pytest.ini", ".github")
    assert course.run("init", "--yes").out.count("Everything is there already") or name == "foundations"


def test_right_work_agrees_and_wrong_work_differs(begun: Begun) -> None:
    shape, course = begun.shape, begun.course
    right = course.run("check", shape.assignment, str(begun.right), "--json")
    assert right.code == 0, right.out + right.err
    wrong = course.run("check", shape.assignment, str(begun.wrong), "--json")
    assert wrong.code == 1, wrong.out + wrong.err
    assert shape.wrong_part in str(wrong.json["submissions"][0])
    agreeing = [case for case in wrong.json["submissions"][0]["cases"] if case["outcome"] == "agrees"]
    assert agreeing, "one mistake must not fail everything"
    starter = course.run("check", shape.assignment, "--json")
    assert starter.code in (1, 3)
    if shape.package:
        alone = course.run("check", shape.assignment, str(begun.right / shape.package), "--json")
        assert alone.code == 0, alone.out + alone.err


def test_internal_tests_pass_on_the_solution_and_fail_on_the_starter(begun: Begun) -> None:
    run = begun.course.run("test", begun.shape.assignment)
    assert run.code == 0, run.out + run.err


def test_rigor_sees_what_students_write(begun: Begun) -> None:
    some = ("--max", "12") if begun.name in QUICK else ()  # the long tests try all of the others
    run = begun.course.run("rigor", begun.shape.assignment, "--json", *some)
    assert run.code == 0, run.out + run.err
    (found,) = run.json["assignments"]
    assert found["score"] > begun.shape.rigor, found


def test_a_class_of_forks_is_graded(begun: Begun, tmp_path: Path) -> None:
    out = tmp_path / "grades"
    run = begun.course.run("grade", begun.shape.assignment, str(begun.right.parent), "--output", str(out), "--json")
    assert run.code in (0, 1), run.out + run.err
    outcomes = {item["name"]: item["outcome"] for item in run.json["submissions"]}
    assert outcomes == {"ada": "agrees", "bob": "differs"}


def test_guard_finds_a_leak_and_raises_no_false_alarm(begun: Begun) -> None:
    course, shape = begun.course, begun.shape
    calm = course.run("guard")
    assert calm.code == 0, calm.out + calm.err
    leaked = course.root / shape.leak
    solutions = [name for name in shape.staff if shape.settings["solutions"] in name and name.endswith(".py")]
    leaked.parent.mkdir(parents=True, exist_ok=True)
    try:
        leaked.write_bytes((course.root / solutions[-1]).read_bytes())
        assert course.run("guard").code == 1
    finally:
        leaked.unlink()


def test_the_solution_goes_in_and_comes_out_again(begun: Begun) -> None:
    course, name = begun.course, begun.shape.assignment
    before = course.git("status", "--porcelain")
    assert course.run("inject", name).code == 0
    try:
        assert course.git("status", "--porcelain") != before
        assert course.run("check", name).code == 0
    finally:
        reset = course.run("reset", name)
    assert reset.code == 0, reset.err
    assert course.git("status", "--porcelain") == before


def test_gold_is_fresh_and_making_it_again_changes_nothing(begun: Begun) -> None:
    course, name = begun.course, begun.shape.assignment
    assert course.run("generate", name, "--check").code == 0
    states = {item["name"]: item["outcome"] for item in course.run("status", "--json").json["assignments"]}
    assert states[name] == "fresh"
