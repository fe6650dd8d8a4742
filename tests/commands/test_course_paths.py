"""Assignments at the root of a course, repositories that are one, and paths as courses write them."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

from goldsmith.courses.layout.layout import find_course
from goldsmith.errors.course import BadConfig
from goldsmith.instruments.coverage import Coverage
from goldsmith.recipe.imports import _find_by_plain_path
from support.course import RECIPE, SOLUTION, STARTER, CourseOnDisk

WHOLE = {
    "goldsmith.toml": 'assignments = "."\n',
    "pyproject.toml": '[project]\nname = "my_ops"\nversion = "1"\n',
    "package/__init__.py": "",
    "package/ops.py": STARTER,
    "package/given.py": "def given(x):\n    return x\n",
    "private/solutions/package/ops.py": SOLUTION,
    "generate_fixtures.py": RECIPE.replace("from ops", "from package.ops"),
    ".venv/pyvenv.cfg": "",
    ".venv/lib/other.py": "raise SystemExit\n",
}
NESTED = {"src/assignments/hw1/part1/ops.py": STARTER, "private/solutions/hw1/part1/ops_solution.py": SOLUTION}


def test_a_root_with_no_assignment_in_it_is_one_itself(tmp_path: Path) -> None:
    course = CourseOnDisk(tmp_path).write(WHOLE)
    found = find_course(tmp_path)
    assert [item.name for item in found.assignments()] == ["my_ops"]
    assignment = found.assignment("my_ops")
    assert (assignment.starter, assignment.solution) == (tmp_path, tmp_path / "private/solutions")
    files = [path.relative_to(tmp_path).as_posix() for path in assignment.files(".py")]
    assert files == ["generate_fixtures.py", "package/__init__.py", "package/given.py", "package/ops.py"]
    run = course.run("generate", "my_ops")
    assert run.code == 0, run.out + run.err
    assert course.run("inject", "my_ops").code == 0
    assert (tmp_path / "package/ops.py").read_text() == (tmp_path / "private/solutions/package/ops.py").read_text()
    assert course.run("guard").code == 1
    assert course.run("reset", "my_ops").code == 0
    assert course.run("guard").code == 0
    course.write(
        {"scripts/plot.py": "def plot():\n    return 0\n", "package/given.py": "def given(x):\n    return -x\n"}
    )
    (state,) = course.run("status", "--json").json["assignments"]
    assert state["outcome"] == "stale"
    assert state["reasons"] == ["package/given.py changed since the gold was made"], "a new file elsewhere is none"
    refused = course.run("new", "hw2", "--yes")
    assert refused.code == 2
    assert "the whole repository is one assignment, my_ops" in refused.err


def test_new_makes_an_assignment_at_the_root(tmp_path: Path) -> None:
    course = CourseOnDisk(tmp_path).write({"goldsmith.toml": 'assignments = "."\n', "hw1/ops.py": STARTER})
    assert course.run("new", "attention", "--kind", "numpy", "--yes").code == 0
    assert [item.name for item in find_course(tmp_path).assignments()] == ["attention", "hw1"]
    assert (tmp_path / "attention/attention.py").is_file()


def test_a_folder_may_be_called_otherwise(tmp_path: Path) -> None:
    CourseOnDisk(tmp_path).write(
        {"goldsmith.toml": '[assignment.hw1]\nfolder = "week 1/code"\n', "week 1/code/ops.py": STARTER}
    )
    found = find_course(tmp_path)
    assert [(item.name, item.starter) for item in found.assignments()] == [("hw1", tmp_path / "week 1/code")]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[assignment.a]\nfolder = ".."\n', "must be a folder inside the course"),
        ('[assignment.a]\nfolder = "private/solutions/a"\n', "which students do not get"),
        ('[assignment.a]\nfolder = "."\n[assignment.b]\nfolder = "b"\n', "which is the folder of a"),
        ('solutions = "."\n', "must be a folder inside the course"),
        ('fixtures = "."\nassignments = "."\n', "must be a folder inside the course"),
    ],
)
def test_folders_that_make_no_sense_are_refused(tmp_path: Path, text: str, problem: str) -> None:
    assert tomllib.loads(text)
    CourseOnDisk(tmp_path).write({"goldsmith.toml": text})
    with pytest.raises(BadConfig, match=problem):
        find_course(tmp_path)


def test_a_file_imported_by_a_relative_path_is_the_folders_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "python").mkdir()
    (tmp_path / "python/watched_ops.py").write_text("def twice(x):\n    return 2 * x\n")
    monkeypatch.chdir(tmp_path)
    code = compile((tmp_path / "python/watched_ops.py").read_text(), "./python/../python/watched_ops.py", "exec")
    names: dict[str, object] = {}
    exec(code, names)
    places, before = Coverage(str(tmp_path)), sys.gettrace()
    sys.settrace(places._enter)
    try:
        names["twice"](2)  # type: ignore[operator]
    finally:
        sys.settrace(before)
    assert set(places.by_file()) == {"python/watched_ops.py"}


def test_entries_of_the_path_that_are_relative_lead_to_full_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "python").mkdir()
    (tmp_path / "python/found_ops.py").write_text("HERE = __file__\n")
    monkeypatch.chdir(tmp_path)
    finder = _find_by_plain_path("./python")
    spec = finder.find_spec("found_ops")
    assert spec is not None
    assert spec.origin == str(tmp_path / "python/found_ops.py")
    with pytest.raises(ImportError):
        _find_by_plain_path(str(tmp_path / "python"))


def test_guard_knows_the_starter_of_a_nested_solution(tmp_path: Path) -> None:
    given = """

        def given(rows, weights, rate):
            total = [sum(row[at] * weights[at] for at in range(len(weights))) for row in rows]
            errors = [value - row[-1] for value, row in zip(total, rows)]
            steps = [rate * sum(error * row[at] for error, row in zip(errors, rows)) for at in range(len(weights))]
            return [weight - step for weight, step in zip(weights, steps)]
    """
    whole = {name: text + given.replace("\n        ", "\n    ") for name, text in NESTED.items()}
    course = CourseOnDisk(tmp_path).write(whole)
    course.write({"handout/ops.py": whole["src/assignments/hw1/part1/ops.py"]})
    run = course.run("guard")
    assert run.code == 0, run.out
