"""`goldsmith new`: an assignment that works from the first minute, in any layout, and never in place of another."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.course import CourseOnDisk
from support.pytest_course import LEAN
from support.terminal import Terminal

DOWN, ENTER, ESCAPE = "\x1b[B", "\r", "\x1b"
MADE = {
    "src/assignments/hw-1/README.md",
    "src/assignments/hw-1/hw_1.py",
    "src/assignments/hw-1/generate_fixtures.py",
    "private/solutions/hw-1/hw_1_solution.py",
    "tests/public/test_hw_1.py",
    "tests/internal/test_hw_1_gold.py",
}
OTHER_NAMES = """
    assignments = "labs"
    solutions = "staff/answers"
    internal-tests = "staff/checks"
    fixtures = "staff/gold"
    recipe = "make_gold.py"
"""


def files(course: CourseOnDisk) -> set[str]:
    return {path.relative_to(course.root).as_posix() for path in course.root.rglob("*") if path.is_file()}


@pytest.fixture
def fresh(tmp_path: Path) -> CourseOnDisk:
    """A course without assignments."""
    return CourseOnDisk(tmp_path / "my course").write({"goldsmith.toml": ""})


@pytest.fixture
def renamed(tmp_path: Path) -> CourseOnDisk:
    """The same, with every folder somewhere else."""
    return CourseOnDisk(tmp_path / "other").write({"goldsmith.toml": OTHER_NAMES})


def works(course: CourseOnDisk, name: str, solution: str) -> None:
    """All that staff would do next."""
    made = course.run("generate", name, "--json")
    assert made.code == 0, made.out + made.err
    (outcome,) = made.json["assignments"]
    assert outcome["advice"] == [], "an example that is blind somewhere is a bad one"
    assert course.run("check", name).code == 3, "the starter could not run"
    right = course.run("check", name, solution)
    assert right.code == 0, right.out + right.err
    tested = course.run("test", name, "--json").json["assignments"][0]
    assert tested["outcome"] == "passed", tested
    assert tested["starter"]["passed"] == tested["solution"]["failed"] == 0
    assert course.run("guard").code == 0


def test_a_numpy_assignment_works_at_once_from_an_empty_folder(tmp_path: Path) -> None:
    course = CourseOnDisk(tmp_path / "my course")
    course.root.mkdir()
    course.git("init", "--quiet")
    assert course.run("init", "--yes").code == 0
    before = files(course)
    run = course.run("new", "hw-1", "--kind", "numpy")
    assert run.code == 0, run.err
    assert run.last_line == "Next: goldsmith generate hw-1"
    assert files(course) - before == MADE
    works(course, "hw-1", "private/solutions/hw-1")
    course.git("add", "--all")
    course.git("commit", "--quiet", "-m", "with the hook that init installed")


@pytest.mark.parametrize("kind", ["numpy", pytest.param("torch", marks=pytest.mark.long)])
def test_its_public_tests_fail_on_the_starter_and_pass_on_the_solution(fresh: CourseOnDisk, kind: str) -> None:
    fresh.run("new", "hw1", "--kind", kind)
    starter, solution = "src/assignments/hw1/hw1.py", "private/solutions/hw1/hw1_solution.py"
    for code, counted in ((fresh.root / starter, "6 failed"), (fresh.root / solution, "6 passed")):
        code.rename(fresh.root / starter)
        command = [sys.executable, "-m", "pytest", "-q", *LEAN, "tests/public/test_hw1.py"]
        done = subprocess.run(command, cwd=fresh.root, capture_output=True, text=True)
        assert counted in done.stdout, done.stdout


@pytest.mark.long
def test_a_torch_assignment_works_at_once_where_folders_have_other_names(renamed: CourseOnDisk) -> None:
    assert renamed.run("new", "net", "--kind", "torch").code == 0
    assert files(renamed) - {"goldsmith.toml"} == {
        "labs/net/README.md",
        "labs/net/net.py",
        "labs/net/make_gold.py",
        "staff/answers/net/net_solution.py",
        "tests/public/test_net.py",
        "staff/checks/test_net_gold.py",
    }
    works(renamed, "net", "staff/answers/net")
    assert renamed.run("generate", "net", "--check").code == 0


@pytest.mark.long
@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_its_gold_catches_every_mistake_that_goldsmith_can_think_of(fresh: CourseOnDisk, kind: str) -> None:
    fresh.run("new", "hw1", "--kind", kind)
    assert fresh.run("generate", "hw1").code == 0
    run = fresh.run("rigor", "hw1", "--min", "1.0")
    assert run.code == 0, run.out
    assert "rigor 1.00" in run.last_line


def test_the_numpy_one_needs_no_torch(fresh: CourseOnDisk, without_torch: Path) -> None:
    assert fresh.run("new", "hw1", "--json", python=without_torch).json["assignments"][0]["kind"] == "numpy"
    run = fresh.run("generate", "hw1", python=without_torch)
    assert run.code == 0, run.out + run.err


def test_several_stand_beside_each_other_without_giving_anything_away(fresh: CourseOnDisk) -> None:
    for name, kind in (("hw1", "numpy"), ("hw2", "numpy"), ("hw3", "torch"), ("hw4", "torch"), ("hw5", "jax")):
        assert fresh.run("new", name, "--kind", kind).code == 0
    run = fresh.run("guard")
    assert run.code == 0, run.out
    for check in (["check", "--select", "E,F,W,B,SIM,UP"], ["format", "--check"]):
        command = [
            Path(sys.executable).with_name("ruff"),
            *check,
            "--isolated",
            "--no-cache",
            "--line-length",
            "120",
            ".",
        ]
        done = subprocess.run(command, cwd=fresh.root, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("a b", "letters and digits, in words joined by dashes"),
        ("../up", "letters and digits, in words joined by dashes"),
        ("-x", "there is no option -x"),
        ("1st", "beginning with a letter"),
        ("übung", "letters and digits, in words joined by dashes"),
        ("x" * 61, "letters and digits, in words joined by dashes"),
        ("all", "`all` stands for every assignment"),
        ("numpy", "its code goes into numpy.py"),
        ("random", "its code goes into random.py"),
        ("class", "its code goes into class.py"),
    ],
)
def test_names_that_cannot_work_are_refused_in_one_sentence(fresh: CourseOnDisk, name: str, said: str) -> None:
    run = fresh.run("new", name)
    assert run.code == 2
    assert said in run.err
    assert files(fresh) == {"goldsmith.toml"}


@pytest.mark.parametrize(
    "there",
    [
        "src/assignments/hw-1/mine.py",
        "src/assignments/HW_1/mine.py",
        "private/solutions/hw-1/mine.py",
        "tests/public/test_hw_1.py",
        "tests/internal/fixtures/hw-1/gold_output.npz",
    ],
)
def test_what_is_there_is_never_overwritten(fresh: CourseOnDisk, there: str) -> None:
    fresh.write({there: "mine\n"})
    run = fresh.run("new", "hw-1")
    assert run.code == 2
    assert "exists already; nothing was written. Choose another name." in run.err
    assert files(fresh) == {"goldsmith.toml", there}


def test_nothing_is_written_through_a_link_out_of_the_course(fresh: CourseOnDisk, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (fresh.root / "private").symlink_to(outside)
    run = fresh.run("new", "hw-1", "--kind", "numpy")
    assert run.code == 3
    assert "goldsmith does not write through links" in run.err
    assert not list(outside.iterdir())
    assert files(fresh) == {"goldsmith.toml"}


def test_a_dry_run_shows_every_line_and_writes_none(fresh: CourseOnDisk) -> None:
    run = fresh.run("new", "hw-1", "--kind", "numpy", "--dry-run")
    assert run.code == 0
    assert "+def squared_distances(points, centres):" in run.out
    assert files(fresh) == {"goldsmith.toml"}


def test_outside_of_a_course_the_way_into_one_is_named(tmp_path: Path) -> None:
    run = CourseOnDisk(tmp_path).run("new", "hw1")
    assert run.code == 2
    assert "make this folder one with `goldsmith init`" in run.err


@pytest.mark.long
def test_a_person_who_leaves_the_menu_gets_nothing(fresh: CourseOnDisk) -> None:
    terminal = Terminal(["new", "hw1"], fresh.root)
    terminal.wait_for("What does it use?")
    terminal.keys(ESCAPE)
    assert terminal.end() == 130
    assert files(fresh) == {"goldsmith.toml"}


def test_a_person_chooses_what_it_uses(fresh: CourseOnDisk) -> None:
    terminal = Terminal(["new", "hw1"], fresh.root)
    terminal.wait_for("What does it use?")
    assert "PyTorch   a two-layer network" in terminal.screen
    terminal.keys(DOWN + ENTER)
    assert terminal.end() == 0
    assert "import numpy" in (fresh.root / "src/assignments/hw1/hw1.py").read_text()
