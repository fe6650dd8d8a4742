"""Courses in which each starter has its solution beside it, as in `labs/lab01/student` and `labs/lab01/solution`."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from goldsmith.courses.layout.layout import find_course
from goldsmith.courses.layout.resolve import resolve
from goldsmith.workspace.selection import is_private
from support.course import CourseOnDisk, starter_of

SOLUTION = """
    import numpy as np


    def assign(points, centers):
        return ((points[:, None] - centers[None]) ** 2).sum(-1).argmin(1)


    def spread(points):
        return np.sqrt(((points - points.mean(axis=0)) ** 2).sum(axis=1))
"""
OTHER_SOLUTION = """
    def scale(x):
        return x * 3.5 + 1.25
"""
RECIPE = """
    import numpy as np

    import goldsmith as gs
    from kmeans import assign, spread


    @gs.case
    def assigned(case):
        points = case.input("points", lambda: np.random.randn(9, 2))
        case.record("labels", assign(points, case.input("centers", lambda: np.random.randn(3, 2))))


    @gs.case
    def spreads(case):
        case.record("sizes", spread(case.input("points", lambda: np.random.randn(9, 2))))
"""
TESTS = """
    import pytest

    pytestmark = [pytest.mark.rigor, pytest.mark.gold("lab02")]


    def test_case(gold_case):
        gold_case.assert_agrees()
"""
FILES = {
    "README.md": "# Labs\n",
    "labs/lab01/student/scaling.py": starter_of(OTHER_SOLUTION),
    "labs/lab01/solution/scaling.py": OTHER_SOLUTION,
    "labs/lab02/student/kmeans.py": starter_of(SOLUTION),
    "labs/lab02/student/README.md": "Lab 2\n",
    "labs/lab02/solution/kmeans.py": SOLUTION,
    "slides/week1.md": "Clusters.\n",
}


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    found = found_course(tmp_path_factory.mktemp("beside") / "course")
    found.write({"labs/lab02/student/generate_fixtures.py": RECIPE, "tests/internal/test_lab02.py": TESTS})
    made = found.run("generate", "lab02")
    assert made.code == 0, made.out + made.err
    return found


def found_course(root: Path, files: dict[str, str] = FILES) -> CourseOnDisk:
    """The course as it is found, after `init`."""
    course = CourseOnDisk(root)
    root.mkdir(parents=True)
    course.write(files)
    course.git("init", "--quiet")
    course.git("add", "--all")
    course.git("commit", "--quiet", "-m", "The course")
    run = course.run("init", "--yes")
    assert run.code == 0, run.out + run.err
    (root / "said.txt").write_text(run.out)
    return course


def test_init_says_what_it_found_and_gives_each_assignment_its_folders(course: CourseOnDisk) -> None:
    said = (course.root / "said.txt").read_text()
    assert "assignments: labs/lab01/student/, labs/lab02/student/ (2): lab01, lab02" in said
    assert "solutions: labs/lab01/solution/, labs/lab02/solution/ (2)" in said
    tables = tomllib.loads((course.root / "goldsmith.toml").read_text())["assignment"]
    assert tables["lab01"] == {"folder": "labs/lab01/student", "solution": "labs/lab01/solution"}
    assert tables["lab02"] == {"folder": "labs/lab02/student", "solution": "labs/lab02/solution"}
    assert not course.git("status", "--porcelain", "--", "labs/lab01", "slides")


def test_weeks_at_the_root_are_found_as_well(tmp_path: Path) -> None:
    files = {
        "week1/starter/scaling.py": starter_of(OTHER_SOLUTION),
        "week1/solution/scaling.py": OTHER_SOLUTION,
        "week2/starter/lib/kmeans.py": starter_of(SOLUTION),
        "week2/solution/lib/kmeans.py": SOLUTION,
        "week3/notes.md": "Later.\n",
    }
    course = found_course(tmp_path / "course", files)
    assert [item["name"] for item in course.run("status", "--json").json["assignments"]] == ["week1", "week2"]
    assert course.run("guard").code == 0


def test_right_work_agrees_and_wrong_work_differs(course: CourseOnDisk, tmp_path: Path) -> None:
    handed_in = CourseOnDisk(tmp_path / "in")
    handed_in.write({"ada/kmeans.py": SOLUTION.replace("np.sqrt(", "np.sqrt(0.0 + ")})
    handed_in.write({"bob/labs/lab02/student/kmeans.py": SOLUTION.replace("argmin", "argmax")})
    run = course.run("grade", "lab02", str(handed_in.root), "--output", str(tmp_path / "grades"), "--json")
    assert {item["name"]: item["outcome"] for item in run.json["submissions"]} == {"ada": "agrees", "bob": "differs"}
    assert course.run("check", "lab02", str(handed_in.root / "ada")).code == 0
    assert course.run("test", "lab02").code == 0


def test_a_solution_beside_the_starter_is_private(course: CourseOnDisk, tmp_path: Path) -> None:
    assignment = find_course(course.root).assignment("lab02")
    assert is_private(resolve(assignment), course.root / "labs/lab01/solution/scaling.py")
    assert not is_private(resolve(assignment), course.root / "slides/week1.md")
    calm = course.run("guard")
    assert calm.code == 0, calm.out
    course.write({"slides/demo.py": SOLUTION})
    try:
        assert "labs/lab02/solution/kmeans.py" in course.run("guard").out
    finally:
        (course.root / "slides/demo.py").unlink()
    found = course.run("grade", "lab02", "labs/lab02", "--output", str(tmp_path / "grades"), "--json")
    outcomes = {item["name"]: item["outcome"] for item in found.json.get("submissions", [])}
    assert outcomes.get("solution") != "agrees", found.out


def test_the_solution_goes_in_and_comes_out_again(course: CourseOnDisk) -> None:
    before = course.git("status", "--porcelain")
    assert course.run("inject", "lab02").code == 0
    assert (course.root / "labs/lab02/student/kmeans.py").read_text().count("argmin")
    assert course.run("reset", "lab02").code == 0
    assert course.git("status", "--porcelain") == before


def test_a_drafted_recipe_names_the_assignment_and_not_its_folder(course: CourseOnDisk) -> None:
    run = course.run("generate", "lab01", "--kind", "outputs")
    assert run.code == 0, run.out + run.err
    assert (course.root / "labs/lab01/student/generate_fixtures.py").read_text().startswith('"""Gold for lab01:')


@pytest.mark.parametrize(
    ("solution", "problem"),
    [
        ("labs/lab02/student/done", "overlap"),
        ("labs", "overlap"),
        ("../answers", "must be a folder inside the course"),
        ("tests/internal/fixtures/x", "overlap"),
    ],
)
def test_a_solution_where_students_or_gold_are_is_refused(tmp_path: Path, solution: str, problem: str) -> None:
    course = CourseOnDisk(tmp_path / "course").write(
        {
            **FILES,
            "goldsmith.toml": f'''
                [assignment.lab02]
                folder = "labs/lab02/student"
                solution = "{solution}"
            ''',
        }
    )
    run = course.run("status")
    assert run.code == 2, run.out
    assert problem in run.err
    assert "assignment.lab02.solution" in run.err
