"""Notebooks as submissions: judged by their definitions, and told about by cell and line."""

from __future__ import annotations

import json
import shutil
import tarfile
from pathlib import Path

import pytest

from corpora.notebooks import ALL, NOTEBOOKS
from goldsmith.courses.layout.layout import find_course
from goldsmith.courses.submissions.open_submission import open_submission
from support.check_course import check, checked_course
from support.course import CourseOnDisk, numpy_course
from support.notebooks import notebook


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    return checked_course(tmp_path_factory.mktemp("notebooks") / "course")


def _written(course: CourseOnDisk, name: str, content: str) -> str:
    path = course.root.parent / "handed in" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return str(path)


def test_a_class_of_notebooks_is_judged_right(course: CourseOnDisk, tmp_path: Path) -> None:
    folder = tmp_path / "class"
    folder.mkdir()
    for name, item in NOTEBOOKS.items():
        (folder / f"{name}.ipynb").write_text(item.content)
    graded = course.run("grade", "hw1", str(folder), "--output", str(tmp_path / "grades"), "--json")
    assert graded.code == 1, graded.err
    found = {item["name"]: item for item in graded.json["submissions"]}
    assert found.keys() == NOTEBOOKS.keys()
    outcomes = {
        name: {case["name"]: case["outcome"].replace("-", " ") for case in item["cases"]}
        for name, item in found.items()
    }
    assert outcomes == {name: item.truth for name, item in NOTEBOOKS.items()}
    for name, item in NOTEBOOKS.items():
        feedback = (tmp_path / "grades" / "feedback" / f"{name}.md").read_text()
        for text in item.says:
            assert text in feedback.replace("\\", "") + json.dumps(found[name]), name


def test_a_notebook_alone_says_what_it_was_taken_for(course: CourseOnDisk) -> None:
    run = check(course, _written(course, "any name.ipynb", notebook(*ALL)))
    assert run.code == 0, run.out + run.err
    assert "any name.ipynb was taken for ops.py" in run.out


@pytest.mark.parametrize("form", ["folder", "archive", "branch"])
def test_a_notebook_is_found_in_a(form: str, course: CourseOnDisk, tmp_path: Path) -> None:
    work = tmp_path / "class" / "ada"
    work.mkdir(parents=True)
    (work / "my work.ipynb").write_text(NOTEBOOKS["wrong"].content)
    what = str(work.parent)
    if form == "archive":
        what = str(tmp_path / "ada.tar.gz")
        with tarfile.open(what, "w:gz") as archive:
            archive.add(work, "ada")
    if form == "branch":
        other = checked_course(tmp_path / "other")
        other.git("init", "-q", "-b", "main")
        other.git("add", "-A")
        other.git("commit", "-qm", "all")
        other.git("checkout", "-qb", "ada")
        (other.root / "src/assignments/hw1/my work.ipynb").write_text(NOTEBOOKS["wrong"].content)
        other.git("add", "-A")
        other.git("commit", "-qm", "mine")
        other.git("checkout", "-q", "main")
        course, what = other, "ada"
    run = course.run("grade", "hw1", what, "--output", str(tmp_path / "grades"), "--json")
    (grade,) = run.json["submissions"]
    assert (grade["name"], grade["outcome"], grade["first_part"]) == ("ada", "differs", "centre"), run.err


def test_a_file_that_was_written_counts_before_a_notebook_of_its_name(course: CourseOnDisk, tmp_path: Path) -> None:
    (tmp_path / "ops.py").write_text("\n\n".join(ALL))
    (tmp_path / "ops.ipynb").write_text(NOTEBOOKS["wrong"].content)
    run = check(course, str(tmp_path))
    assert run.code == 0
    assert "ops.ipynb was not used: ops.py was submitted, too" in run.out


def test_among_several_notebooks_none_is_guessed(course: CourseOnDisk, tmp_path: Path) -> None:
    for name in ("one.ipynb", "two.ipynb"):
        (tmp_path / name).write_text(notebook(*ALL))
    run = check(course, str(tmp_path))
    assert run.code == 2
    assert "it has 2 notebooks, and none is called ops.ipynb; submit ops.py." in run.err


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("not a notebook", "it is not JSON, as notebooks are"),
        ('{"cells": [', "it is not JSON, as notebooks are"),
        ('{"a": 1}', "it has no cells"),
        (notebook(), "it has no code; submit the notebook with the code cells in it"),
        (notebook("x <- 3", kernelspec={"language": "R"}), "it is written in r, not in Python"),
    ],
)
def test_what_is_no_notebook_is_refused_with_the_next_step(course: CourseOnDisk, content: str, problem: str) -> None:
    run = check(course, _written(course, "bad.ipynb", content))
    assert run.code == 2
    assert "the notebook bad.ipynb cannot be read: " in run.err
    assert problem in run.err
    assert run.err.count("\n") == 1


def test_a_bad_notebook_in_a_class_is_one_submission_that_could_not_run(course: CourseOnDisk, tmp_path: Path) -> None:
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "ada.ipynb").write_text(notebook(*ALL))
    (tmp_path / "class" / "ben.ipynb").write_text("nothing")
    run = course.run("grade", "hw1", str(tmp_path / "class"), "--output", str(tmp_path / "grades"), "--json")
    found = {item["name"]: item["outcome"] for item in run.json["submissions"]}
    assert found["ada"] == "agrees"
    assert found["ben"] != "agrees"
    assert "it is not JSON" in json.dumps(run.json)


def test_a_script_from_jupytext_runs_none_of_its_training(course: CourseOnDisk, tmp_path: Path) -> None:
    header = "# ---\n# jupyter:\n#   jupytext:\n#     text_representation:\n#       extension: .py\n# ---\n"
    cells = [*ALL, "data = download()\ndef show():\n    return data", "for step in range(10**9):\n    pass"]
    (tmp_path / "ops.py").write_text(header + "\n".join(f"# %%\n{cell}\n" for cell in cells))
    run = check(course, str(tmp_path / "ops.py"))
    assert run.code == 0, run.out + run.err


DEMO = "from ops import centre\n\ndef scale(x):\n    return centre(x)"


@pytest.mark.parametrize(
    ("brought", "is_used"),
    [(notebook(), False), (notebook("print(1)"), False), (notebook(DEMO, "print(2)"), False), (notebook(*ALL), True)],
    ids=["empty", "runs-them", "demonstrates", "has-the-work"],
)
@pytest.mark.parametrize("name", ["demo.ipynb", "ops.ipynb"])
def test_a_notebook_next_to_files_counts_only_for_what_it_adds(
    name: str, brought: str, is_used: bool, tmp_path: Path
) -> None:
    course = numpy_course(tmp_path / "course")
    course.write({f"src/assignments/hw1/{name}": notebook(DEMO)})
    folder = tmp_path / "ada"
    shutil.copytree(course.root / "src/assignments/hw1", folder)
    (folder / name).write_text(brought)
    with open_submission(find_course(course.root).assignment("hw1"), str(folder)) as submission:
        (found,) = [item.source.name for item in submission.placed if item.target == Path("ops.py")]
    assert found == (name if is_used else "ops.py")
