"""`goldsmith init` in repositories that nobody arranged for it: what lies where is found, or asked about."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest

from support.course import RECIPE, SOLUTION, STARTER, CourseOnDisk
from support.terminal import Terminal

DOWN, ENTER, ESCAPE = "\x1b[B", "\r", "\x1b"
STUDENTS = "from ops import scale\n\ndef test_it():\n    assert scale(1) == 3\n"
STAFF = "import numpy as np\n\ndef test_it():\n    np.load('gold.npz')\n"

LAYOUTS = {
    "folders under other names": (
        {
            "homeworks/hw1/ops.py": STARTER,
            "homeworks/hw2/more.py": STARTER,
            "staff/answers/hw1/ops_solution.py": SOLUTION,
            "staff/answers/hw2/more_solution.py": SOLUTION,
            "staff/tests/test_hw1.py": STAFF,
            "tests/test_hw1.py": STUDENTS,
        },
        {"assignments": "homeworks", "solutions": "staff/answers", "internal-tests": "staff/tests"},
    ),
    "solutions that are called like the starter": (
        {"labs/hw1/ops.py": STARTER, "solutions/hw1/ops.py": SOLUTION},
        {"assignments": "labs", "solutions": "solutions"},
    ),
    "names that say nothing": (
        {"a/hw1/ops.py": SOLUTION, "b/hw1/ops.py": STARTER},
        {"assignments": "b", "solutions": "a"},
    ),
    "solutions in one flat folder": (
        {
            "assignments/hw1/ops.py": STARTER,
            "assignments/hw2/more.py": STARTER,
            "answers/ops_solution.py": SOLUTION,
            "answers/more_solution.py": SOLUTION,
        },
        {"assignments": "assignments", "solutions": "answers"},
    ),
    "no solutions yet": ({"exercises/hw1/ops.py": STARTER}, {"assignments": "exercises"}),
    "handed-in work is no solution": (
        {"hw/hw1/ops.py": STARTER, "submissions/hw1/ops.py": SOLUTION, "ref/hw1/ops.py": SOLUTION},
        {"assignments": "hw", "solutions": "ref"},
    ),
    "gold and recipe of old": (
        {
            "hw/hw1/ops.py": STARTER,
            "hw/hw1/make_gold.py": RECIPE,
            "staff/keys/hw1/ops_solution.py": SOLUTION,
            "staff/gold/hw1/out.npz": "",
        },
        {"fixtures": "staff/gold", "recipe": "make_gold.py", "solutions": "staff/keys"},
    ),
    "internal tests in a folder for each assignment": (
        {
            "src/assignments/hw1/ops.py": STARTER,
            "private/solutions/hw1/ops_solution.py": SOLUTION,
            "checks/hidden/hw1/test_a.py": STAFF,
            "checks/hidden/hw2/test_b.py": STAFF,
            "checks/open/test_a.py": STUDENTS,
        },
        {"internal-tests": "checks/hidden", "fixtures": "checks/hidden/fixtures"},
    ),
    "assignments at the root": (
        {
            "hw1/ops.py": STARTER,
            "hw2/ops.py": STARTER,
            "docs/conf.py": "",
            "staff/solutions/hw1/ops_solution.py": SOLUTION,
        },
        {"assignments": ".", "solutions": "staff/solutions", "internal-tests": "tests/internal"},
    ),
    "a library that is no course yet": (
        {"src/package/__init__.py": "", "src/package/ops.py": SOLUTION, "tests/test_ops.py": STUDENTS},
        {"assignments": "src/assignments", "internal-tests": "tests/internal"},
    ),
}


def settings(course: CourseOnDisk) -> dict[str, str]:
    return tomllib.loads((course.root / "goldsmith.toml").read_text())


@pytest.mark.parametrize("name", LAYOUTS)
def test_what_lies_where_is_found(tmp_path: Path, name: str) -> None:
    files, expected = LAYOUTS[name]
    course = CourseOnDisk(tmp_path).write(files)
    before = {path: (course.root / path).read_bytes() for path in files}
    assert course.run("init", "--yes").code == 0
    assert {key: settings(course)[key] for key in expected} == expected
    assert {path: (course.root / path).read_bytes() for path in files} == before
    status = course.run("status", "--json")
    assert status.code == 0, status.err
    home = settings(course)["assignments"]
    names = {path.split("/")[-2] for path in files if path.startswith("hw" if home == "." else f"{home}/")}
    assert {item["name"] for item in status.json["assignments"]} == names


def test_a_course_found_under_other_names_makes_gold(tmp_path: Path) -> None:
    course = CourseOnDisk(tmp_path).write(LAYOUTS["folders under other names"][0])
    course.write({"homeworks/hw1/generate_fixtures.py": RECIPE})
    course.run("init", "--yes")
    run = course.run("generate", "hw1")
    assert run.code == 0, run.out + run.err
    assert (course.root / "staff/tests/fixtures/hw1/gold_output.npz").is_file()
    assert "staff/tests/reports/" in (course.root / ".gitignore").read_text()
    assert course.run("guard").code == 0


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (
            {"homework/hw1/ops.py": STARTER, "homework/hw1/ops_solution.py": SOLUTION},
            "homework/hw1: starter and solution",
        ),
        (
            {"homework/hw1/ops.py": STARTER, "homework/hw1/solution/ops.py": SOLUTION},
            "homework/hw1: starter and solution",
        ),
    ],
)
def test_layouts_that_cannot_work_are_named(tmp_path: Path, files: dict[str, str], said: str) -> None:
    course = CourseOnDisk(tmp_path).write(files)
    assert said in course.run("init").out
    assert any(said in note for note in course.run("init", "--yes", "--json").json["notes"])


DOUBTFUL = {"one/hw1/ops.py": SOLUTION, "two/hw1/ops.py": SOLUTION, "tests/test_hw1.py": STUDENTS}


def test_doubt_stops_it_where_nobody_can_be_asked_and_an_option_decides(tmp_path: Path) -> None:
    course = CourseOnDisk(tmp_path).write(DOUBTFUL)
    for more in ([], ["--yes"], ["--dry-run"], ["--json"]):
        run = course.run("init", *more)
        assert run.code == 2
        assert "hw1 is in several places, and it is unclear which of them students get; nothing was written" in run.err
    assert not (tmp_path / "goldsmith.toml").exists()
    option = re.findall(r"`goldsmith (init --assignments one [^`]+)`", run.err)[0]
    assert course.run(*shlex.split(option), "--yes").code == 0
    assert (settings(course)["assignments"], settings(course)["solutions"]) == ("one", "two")
    again = course.run("init", "--assignments", "two", "--yes")
    assert again.code == 2
    assert "goldsmith.toml already says where things are" in again.err


def test_folders_that_share_a_file_name_are_no_starter_and_solution(tmp_path: Path) -> None:
    course = CourseOnDisk(tmp_path).write(
        {
            "project/interface/train.py": SOLUTION,
            "tools/interface/train.py": SOLUTION,
            "apps/demo/utils.py": SOLUTION,
            "package/demo/utils.py": SOLUTION,
            "package/__init__.py": "",
            "package/layers/ops.py": STARTER,
            "tests/layers/ops.py": SOLUTION,
            "other/layers/ops.py": SOLUTION,
        }
    )
    run = course.run("init", "--yes")
    assert "assignments: none found yet; they go into src/assignments/" in run.out
    assert "solutions: none found yet; they go into private/solutions/" in run.out
    assert settings(course)["assignments"] == "src/assignments"


def test_a_repository_without_solutions_is_one_assignment_by_what_it_leaves_to_write(tmp_path: Path) -> None:
    files = {"package/__init__.py": "", "package/ops.py": STARTER, "package/more.py": STARTER, "apps/x.py": STARTER}
    course = CourseOnDisk(tmp_path / "my hw").write({**files, "tests/test_ops.py": STUDENTS})
    run = course.run("init", "--yes")
    assert "assignments: the whole repository is one, my-hw (1); package/" in run.out
    assert "public tests: tests/" in run.out
    assert settings(course)["assignment"] == {"my-hw": {"folder": "."}}
    said = CourseOnDisk(tmp_path / "other").write(files)
    assert said.run("init", "--yes", "--one-assignment", "all").code == 2
    assert said.run("init", "--yes", "--one-assignment", "hw-3", "--solutions", "staff/answers").code == 0
    assert [item["name"] for item in said.run("status", "--json").json["assignments"]] == ["hw-3"]
    assert settings(said)["solutions"] == "staff/answers"


def test_doubt_is_a_question_at_a_terminal(tmp_path: Path) -> None:
    course = CourseOnDisk(tmp_path).write(DOUBTFUL)
    terminal = Terminal(["init"], course.root, lines=200)
    terminal.wait_for("hw1: found in two places. Which one do students get?")
    terminal.keys(DOWN + ENTER)
    terminal.wait_for("Do students get the tests in tests/?")
    terminal.keys(DOWN + ENTER)
    terminal.wait_for("Write these 4 files?")
    terminal.keys(ENTER)
    assert terminal.end() == 0
    found = settings(course)
    assert (found["assignments"], found["solutions"]) == ("two", "one")
    assert (found["internal-tests"], found["fixtures"]) == ("tests", "tests/fixtures")
    assert "Next: goldsmith status" in terminal.screen


@pytest.mark.long
def test_leaving_a_question_writes_nothing(tmp_path: Path) -> None:
    course = CourseOnDisk(tmp_path).write(DOUBTFUL)
    terminal = Terminal(["init"], course.root)
    terminal.wait_for("Which one do students get?")
    terminal.keys(ESCAPE)
    assert terminal.end() == 130
    assert not (course.root / "goldsmith.toml").exists()
