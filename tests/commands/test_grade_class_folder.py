"""A class folder: whatever lies in it, everybody is graded alone, and nobody is lost."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Mapping
from pathlib import Path

import pytest

from goldsmith.courses.grade.collection import Reading, collect
from goldsmith.courses.layout.layout import find_course
from goldsmith.errors.grade import OneOrClass
from support.check_course import SOLUTION, checked_course
from support.course import CourseOnDisk, Run
from support.notebooks import notebook

RIGHT = textwrap.dedent(SOLUTION)
BOOK = notebook(RIGHT)
BORROWS = notebook("from ada.ops import Counter, centre, mean_of, scale", "print(centre)")


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    return checked_course(tmp_path_factory.mktemp("class folder") / "course")


def class_of(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def names(course: CourseOnDisk, folder: Path, reading: Reading = "") -> list[str]:
    found = collect(find_course(course.root).assignment("hw1"), [str(folder)], [], reading=reading)
    return [item.name for item in found.items]


def grade(course: CourseOnDisk, folder: Path, *options: str) -> Run:
    return course.run("grade", "hw1", str(folder), "--json", "--output", str(folder.parent / "grades"), *options)


def scores(run: Run) -> dict[str, float]:
    return {item["name"]: item["score"] for item in run.json["submissions"]}


def test_one_notebook_makes_no_class_one_submission(course: CourseOnDisk, tmp_path: Path) -> None:
    folder = class_of(
        tmp_path / "class",
        {"ada/ops.py": RIGHT, "ben/homework.ipynb": BOOK, "cleo/ops.py": RIGHT.replace("x * factor", "x")},
    )
    assert scores(grade(course, folder)) == {"ada": 3.0, "ben": 3.0, "cleo": 2.0}


def test_a_notebook_gains_nothing_by_its_neighbours_code(course: CourseOnDisk, tmp_path: Path) -> None:
    folder = class_of(tmp_path / "class", {"ada/ops.py": RIGHT, "eve/homework.ipynb": BORROWS})
    assert scores(grade(course, folder)) == {"ada": 3.0, "eve": 0.0}


@pytest.mark.parametrize("place", ["week 1/homework.ipynb", "a/b/ops.ipynb"])
def test_a_notebook_counts_only_where_the_file_would_lie(course: CourseOnDisk, tmp_path: Path, place: str) -> None:
    folder = class_of(tmp_path / "class", {f"ada/{place}": BOOK, "ada/notes/plan.txt": "", "ben/ops.py": RIGHT})
    ada, _ = grade(course, folder).json["submissions"]
    assert f"its notebook {place} is not where ops.py would be" in ada["reason"]


@pytest.mark.parametrize("entry", ["ops.py", "hw1/ops.py", "src/assignments/hw1/ops.py", "ops.ipynb"])
def test_an_entry_like_the_assignments_own_makes_nobody_disappear(
    course: CourseOnDisk, tmp_path: Path, entry: str
) -> None:
    text = BOOK if entry.endswith(".ipynb") else RIGHT
    folder = class_of(tmp_path / "class", {entry: text, "ada/ops.py": RIGHT, "ben_7_8_ops.py": RIGHT})
    refused = grade(course, folder)
    assert refused.code == 2
    assert "may be one submission, or a class in which ada is one: say --one if" in refused.err
    assert len(names(course, folder, "class")) == 3
    assert names(course, folder, "one") == ["class"]


def test_a_notebook_next_to_others_work_is_one_of_several(course: CourseOnDisk, tmp_path: Path) -> None:
    folder = class_of(tmp_path / "class", {"ben.ipynb": BORROWS, "ada.py": RIGHT, "cleo.py": RIGHT})
    assert scores(grade(course, folder)) == {"ada": 0.0, "ben": 0.0, "cleo": 0.0}
    with pytest.raises(OneOrClass):
        names(course, class_of(tmp_path / "dora", {"homework.ipynb": BOOK, "helpers.py": "x = 1"}))


@pytest.mark.parametrize(
    "other",
    [
        "ben.zip", "ben/homework.ipynb", "ben/hw1/ops.py", "ben_1_2_ops.py", "broken.zip", "ben.ipynb", "ben.py",
        "ben/week 1/mine.py", "BEN.PY", "ben.rar", "ben/week 1/broken.py", "broken.py", "ben/broken.ipynb",
        "ops (1).py", "Copy of ops.py",
    ],
)  # fmt: skip
def test_next_to_the_starters_file_anything_that_may_be_a_submission_is_asked_about(
    course: CourseOnDisk, tmp_path: Path, other: str
) -> None:
    folder = class_of(tmp_path / "class", {"ops.py": RIGHT})
    if other == "ben.zip":
        made = class_of(tmp_path / "ben", {"ops.py": RIGHT})
        shutil.make_archive(str(folder / "ben"), "zip", made)
    elif "broken" in other:
        class_of(folder, {other: RIGHT + "\n)"})
    else:
        class_of(folder, {other: BOOK if other.endswith(".ipynb") else f"{RIGHT}\nMORE = 1\n"})
    with pytest.raises(OneOrClass):
        names(course, folder)


@pytest.mark.parametrize("around", ["hw1", "all of them"])
def test_a_class_in_a_folder_of_its_own_is_no_submission(course: CourseOnDisk, tmp_path: Path, around: str) -> None:
    files = {f"{around}/ops.py": RIGHT, f"{around}/ada/ops.py": RIGHT, f"{around}/ben/ops.py": RIGHT}
    folder = class_of(tmp_path / "class", files)
    with pytest.raises(OneOrClass, match=f"{around} may be one submission, or a class in which ada is one"):
        names(course, folder)
    assert names(course, folder / around, "class") == ["ada", "ben", "ops"]


def test_a_second_file_of_the_same_work_is_no_other_submission(course: CourseOnDisk, tmp_path: Path) -> None:
    starter = (course.root / "src/assignments/hw1/ops.py").read_text()
    files = {"ops.py": RIGHT, "ops (1).py": RIGHT + "# again\n", "ops (2).py": starter, "ops_solution.py": starter}
    assert names(course, class_of(tmp_path / "ada", files)) == ["ada"]


def test_what_students_put_next_to_their_files_makes_no_class(course: CourseOnDisk, tmp_path: Path) -> None:
    beside = {"helpers.py": "", "notes/plan.txt": "", "tests/test_ops.py": "", "plots.ipynb": notebook("import ops")}
    assert names(course, class_of(tmp_path / "ada", {"ops.py": RIGHT, **beside})) == ["ada"]
    assert names(course, class_of(tmp_path / "ben", {"homework.ipynb": BOOK, "data/a.csv": "", "README.md": ""})) == [
        "ben"
    ]
    fork = {
        "src/assignments/hw1/ops.py": RIGHT,
        "private/notes.md": "",
        "tests/internal/test_ops.py": "",
        "README.md": "",
    }
    assert names(course, class_of(tmp_path / "cleo", fork)) == ["cleo"]


def test_every_entry_is_graded_or_said_to_be_left_out(course: CourseOnDisk, tmp_path: Path) -> None:
    files = {
        "ada/ops.py": RIGHT,
        "BEN.PY": RIGHT,
        "cleo.rar": "Rar!",
        "README.md": "",
        "grades.csv": "Student,ID",
        ".DS_Store": "",
        "__MACOSX/ada/ops.py": RIGHT,
    }
    folder = class_of(tmp_path / "class", files)
    (folder / "dora").symlink_to("nowhere")
    found = grade(course, folder).json
    assert {item["name"]: item["outcome"] for item in found["submissions"]} == {
        "ada": "agrees",
        "BEN": "could-not-run",
        "cleo.rar": "could-not-run",
        "dora": "could-not-run",
    }
    left_out = {item["name"]: item["why"] for item in found["left_out"]}
    assert left_out.keys() == {"README.md", "grades.csv", ".DS_Store", "__MACOSX"}
    assert "it is not a folder" in left_out["grades.csv"]
    shown = course.run("grade", "hw1", str(folder), "--output", str(tmp_path / "again"))
    assert f"4 entries of {folder} left out: .DS_Store, README.md, __MACOSX, grades.csv" in shown.out
    assert "left out" in (tmp_path / "again/overview.md").read_text()


def test_what_was_read_as_one_submission_is_said_to_be(course: CourseOnDisk, tmp_path: Path) -> None:
    folder = class_of(tmp_path / "ada", {"ops.py": RIGHT, "helpers.py": ""})
    run = course.run("grade", "hw1", str(folder), "--output", str(tmp_path / "grades"))
    assert f"read as one submission, not as a class: {folder}" in run.out


def test_who_is_named_twice_has_one_row(course: CourseOnDisk, tmp_path: Path) -> None:
    folder = class_of(tmp_path / "class", {"ada/ops.py": RIGHT, "ben/ops.py": RIGHT, "README.md": ""})
    found = collect(find_course(course.root).assignment("hw1"), [str(folder), str(folder / "ada"), str(folder)], [])
    assert [item.name for item in found.items] == ["ada", "ben"]
    assert [item.name for item in found.left_out] == ["README.md"]


def test_only_one_reading_can_be_asked_for(course: CourseOnDisk, tmp_path: Path) -> None:
    run = grade(course, class_of(tmp_path / "class", {"ada/ops.py": RIGHT}), "--one", "--class")
    assert run.code == 2
    assert "--one and --class" in run.err


# --- files that Canvas named ------------------------------------------------------------------------------------------


def test_files_with_one_number_and_several_names_are_several_students(course: CourseOnDisk, tmp_path: Path) -> None:
    files = {f"{name}_1_{number}_ops.py": RIGHT for number, name in enumerate(("ada", "ben", "cleo"), start=1)}
    found = scores(grade(course, class_of(tmp_path / "class", files)))
    assert found == {"ada_1_1_ops": 3.0, "ben_1_2_ops": 3.0, "cleo_1_3_ops": 3.0}


@pytest.mark.parametrize(
    ("files", "count"),
    [
        (["lovelaceada_12345_67890_ops.py", "lovelaceada_12345_67891_helpers.py"], 1),
        (["lovelaceada_LATE_12345_67890_ops-1.py", "lovelaceada_LATE_12345_67891_ops-2.py"], 1),
        (["lovelaceada_12345_67890_ops-1.py", "lovelaceada_LATE_12345_67891_helpers.py"], 1),
        (["team 4_12345_67890_ops.py", "team 4_12345_67891_helpers.py", "team 5_12346_67892_ops.py"], 2),
        (["o_neill_1_2_12345_67890_ops.py", "o_neill_1_2_12345_67891_helpers.py"], 1),
        (["hw_1_1_ops.py", "hw_1_2_ops.py", "hw_1_3_ops.py"], 3),
        (["1_1_ops.py", "1_2_ops.py"], 2),
        (["ada_1_1_ops.py", "Ada_1_2_helpers.py"], 2),
    ],
)
def test_files_of_one_student_go_together(course: CourseOnDisk, tmp_path: Path, files: list[str], count: int) -> None:
    folder = class_of(tmp_path / "class", {**dict.fromkeys(files, RIGHT), "zoe/ops.py": RIGHT})
    found = collect(find_course(course.root).assignment("hw1"), [str(folder)], []).items
    assert len(found) == count + 1
    assert sorted(what for item in found for what in item.together or (item.what,)) == sorted(
        str(folder / name) for name in (*files, "zoe")
    )
