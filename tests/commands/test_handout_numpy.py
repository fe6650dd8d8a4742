"""Kits of courses without torch: functions are checked, and what only the solution has is not named."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from goldsmith.gold.kit_files import DATA, read_data
from support.course import CourseOnDisk, Run, exercise, numpy_course

STARTER = """
    import numpy as np


    def normalise(x):
        # TODO: subtract the mean of each row, divide by its root mean square
        raise NotImplementedError
"""
SOLUTION = """
    import numpy as np


    def secretly_centred(x):
        return x - x.mean(axis=-1, keepdims=True)


    def normalise(x):
        x = secretly_centred(x)
        return x / np.sqrt((x * x).mean(axis=-1, keepdims=True))
"""
RECIPE = """
    import numpy as np

    import goldsmith as gs
    from ops import normalise


    @gs.case
    def normalised(case):
        case.record("y", normalise(case.input("x", lambda: np.random.randn(37, 40) + 0.3)))


    @gs.case
    def wider(case):
        case.record("y", normalise(case.input("x", lambda: np.random.randn(30, 50))))


    @gs.case
    def again(case):
        y = case.input("y", lambda: normalise(np.random.randn(37, 40)))
        case.record("z", normalise(y * np.arange(1, 41)))


    if __name__ == "__main__":
        gs.main()
"""


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    made = numpy_course(tmp_path_factory.mktemp("kits") / "course")
    made.write(exercise(SOLUTION, RECIPE, starter=STARTER))
    run = made.run("generate", "hw1")
    assert run.code == 0, run.out + run.err
    return made


def test_a_case_that_is_given_what_the_solution_computes_is_left_out(course: CourseOnDisk) -> None:
    run = course.run("handout", "hw1", "--output", "kit", "--json")
    assert run.code == 0, run.err
    (kit,) = run.json["assignments"]
    assert "normalised" in kit["cases"]
    assert "what the solution computes" in kit["left_out"]["again"]


def test_names_that_only_the_solution_has_are_not_told(course: CourseOnDisk) -> None:
    assert course.run("handout", "hw1", "--output", "named").code == 0
    text = json.dumps(read_data(course.root / "named").index)
    assert "normalise" in text
    assert "secretly" not in text


def run_check(kit: Path, folder: Path, *arguments: str) -> Run:
    command = [sys.executable, str(kit / "check.py"), str(folder), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    return Run(done.returncode, done.stdout, done.stderr)


def test_functions_are_checked_with_and_without_goldsmith(course: CourseOnDisk, tmp_path: Path) -> None:
    assert course.run("handout", "hw1", "--output", "plain").code == 0
    text = (course.root / "private/solutions/hw1/ops_solution.py").read_text()
    for content, code in ((text, 0), (text.replace("mean(axis=-1", "mean(axis=0"), 1)):
        (tmp_path / "ops.py").write_text(content)
        for run in (run_check(course.root / "plain", tmp_path, *plain) for plain in ([], ["--plain"])):
            assert run.code == code, run.out + run.err
            is_right = "Nothing that was looked at is wrong. It is not your grade.\n" in run.out
            assert is_right == (code == 0)


def test_what_is_not_written_yet_could_not_run(course: CourseOnDisk) -> None:
    assert course.run("handout", "hw1", "--output", "early").code == 0
    run = run_check(course.root / "early", course.root / "src/assignments/hw1", "--case", "normalised", "--plain")
    assert run.code == 3, run.out + run.err
    assert "not written yet" in run.out
    assert "1 of 1 cases could not run; nothing that ran is wrong.\n" in run.out
    assert run.last_line.startswith("Not looked at, cases: wider, again")


def test_the_same_gold_makes_the_same_kit_and_others_files_stay(course: CourseOnDisk) -> None:
    kit = course.root / "again"
    run = course.run("handout", "hw1", "--output", "again")
    assert run.code == 0, run.err
    assert run.last_line.startswith("Written. Students run `python3 again/check.py`; `goldsmith guard again` looks")
    assert "Nothing found in again: " in course.run("guard", "again").out
    before = {path.name: path.read_bytes() for path in kit.iterdir()}
    size = sum(map(len, before.values()))
    (kit / "my notes.txt").write_text("mine")
    run = course.run("handout", "hw1", "--output", "again")
    assert run.code == 0, run.err
    assert "Already there, byte for byte" in run.out
    for settings, cases in (('leave-out = ["normalised"]', ["wider"]), (f"max-bytes = {size - 2000}", ["normalised"])):
        course.write({"goldsmith.toml": f"[assignment.hw1.handout]\n{settings}\n"})
        run = course.run("handout", "hw1", "--output", "again")
        (course.root / "goldsmith.toml").unlink()
        assert run.code == 0, run.err
        after = {path.name: path.read_bytes() for path in kit.iterdir()}
        assert after.pop("my notes.txt") == b"mine"
        assert after.keys() == before.keys()
        assert after[DATA] != before[DATA]
        assert sum(map(len, after.values())) <= size - 2000
        assert list(read_data(kit).index["cases"]) == cases


def test_a_private_recipe_is_handed_out_only_where_that_is_allowed(course: CourseOnDisk) -> None:
    recipe = course.root / "src/assignments/hw1/generate_fixtures.py"
    private = course.root / "private/solutions/hw1/generate_fixtures.py"
    recipe.rename(private)
    try:
        assert course.run("generate", "hw1", "--force").code == 0
        run = course.run("handout", "hw1", "--output", "private-kit")
        assert run.code == 2
        assert "recipe = true" in run.err
        course.write({"goldsmith.toml": "[assignment.hw1.handout]\nrecipe = true\n"})
        run = course.run("handout", "hw1", "--output", "private-kit")
        assert run.code == 0, run.err
        assert course.run("guard", "private-kit").code == 0
    finally:
        private.rename(recipe)
        (course.root / "goldsmith.toml").unlink(missing_ok=True)


SMALL = """
    import numpy as np

    import goldsmith as gs
    from ops import normalise, scaled


    def normalised_of(case, rows):
        case.record("y", normalise(case.input("x", lambda: np.random.randn(rows, 4))))


    @gs.case
    def normalised(case):
        normalised_of(case, 3)


    @gs.case
    def other(case):
        normalised_of(case, 2)


    @gs.case
    def scales(case):
        case.record("y", scaled(case.input("x", lambda: np.random.randn(5))))


    if __name__ == "__main__":
        gs.main()
"""
LARGER = """
    @gs.case(points=0)
    def normalised_for_kit(case):
        normalised_of(case, 60)


    if __name__"""


def test_a_kit_that_can_hold_few_cases_says_so_first_and_what_helps(tmp_path: Path) -> None:
    course = numpy_course(tmp_path / "course")
    scaled = "\n\n    def scaled(x):\n        {}\n"
    course.write(
        {
            "src/assignments/hw1/ops.py": STARTER + scaled.format("raise NotImplementedError"),
            "private/solutions/hw1/ops_solution.py": SOLUTION + scaled.format("return 3 * x"),
            "src/assignments/hw1/generate_fixtures.py": SMALL,
        }
    )
    assert course.run("generate", "hw1").code == 0
    none = course.run("handout", "hw1", "--output", "kit")
    assert none.code == 3
    assert "`@gs.case(points=0)`" in none.err
    course.write({"src/assignments/hw1/generate_fixtures.py": SMALL.replace("    if __name__", LARGER)})
    assert course.run("generate", "hw1").code == 0
    run = course.run("handout", "hw1", "--output", "kit")
    assert run.code == 0, run.err
    assert "hw1: a kit can hold only 1 of 4 cases." in run.err
    assert "normalised records 12 numbers at most, and\na sketch takes 64 or more: 6 times as many" in run.err
    # what is written is right, what is not is never said to be
    half = tmp_path / "half"
    CourseOnDisk(half).write({"ops.py": SOLUTION + scaled.format("raise NotImplementedError")})
    for plain in ([], ["--plain"]):
        checked = run_check(course.root / "kit", half, *plain)
        assert checked.code == 3, checked.out
        assert "Not written yet: scaled. Nothing else that was looked at is wrong." in checked.out
        assert "Not looked at, cases: normalised, other, scales." in checked.out
    CourseOnDisk(half).write({"ops.py": SOLUTION + scaled.format("return 4 * x")})
    checked = run_check(course.root / "kit", half, "--plain")
    assert checked.code == 0
    assert "Not looked at, parts that no case here runs: scaled." in checked.out
