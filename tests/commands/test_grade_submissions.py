"""What counts as a submission and what it is called; and what was judged once is not judged again."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from goldsmith.courses.grade.collection import collect
from goldsmith.courses.layout.layout import find_course
from support.check_course import checked_course, hand_in
from support.course import CourseOnDisk, Run


def git(root: Path, *arguments: str) -> None:
    settings = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(root), *settings, *arguments], check=True, capture_output=True)


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    return checked_course(tmp_path_factory.mktemp("handed-in") / "course")


def names(course: CourseOnDisk, *arguments: Path) -> list[str]:
    found = collect(find_course(course.root).assignment("hw1"), [str(item) for item in arguments], []).items
    return [item.name for item in found]


def put(course: CourseOnDisk, *folders: Path) -> None:
    for folder in folders:
        shutil.copytree(hand_in(course), folder, dirs_exist_ok=True)


def test_a_class_of_one_is_a_class(course: CourseOnDisk, tmp_path: Path) -> None:
    put(course, tmp_path / "late/mia")
    assert names(course, tmp_path / "late") == ["mia"]


def test_a_folder_in_a_folder_among_others_goes_by_its_own_name(course: CourseOnDisk, tmp_path: Path) -> None:
    put(course, tmp_path / "class/mia/homework", tmp_path / "class/noa/homework")
    assert names(course, tmp_path / "class") == ["mia", "noa"]
    assert names(course, tmp_path / "class/mia", tmp_path / "class/noa") == ["mia", "noa"]


@pytest.mark.parametrize("inside", ["hw1", "src/assignments/hw1"])
def test_a_folder_that_is_called_as_the_assignment_is_has_no_name_of_its_own(
    course: CourseOnDisk, tmp_path: Path, inside: str
) -> None:
    put(course, tmp_path / "mia" / inside)
    assert names(course, tmp_path / "mia") == ["mia"]


def test_of_the_same_name_each_goes_by_as_much_of_its_path_as_tells(course: CourseOnDisk, tmp_path: Path) -> None:
    places = [tmp_path / place for place in ("a/x/ada", "a/y/ada", "b/y/ada", "b/bob")]
    put(course, *places)
    assert names(course, *places) == ["x/ada", "a/y/ada", "b/y/ada", "bob"]
    twice = [f"{places[0]}/", str(places[0])]
    assert [item.name for item in collect(find_course(course.root).assignment("hw1"), twice, []).items] == ["ada"]


def test_what_systems_and_earlier_runs_leave_is_no_submission(course: CourseOnDisk, tmp_path: Path) -> None:
    put(course, tmp_path / "ada", tmp_path / "__MACOSX/ada", tmp_path / "bob")
    assert grade(course, tmp_path, "--output", str(tmp_path)).code == 0
    assert (tmp_path / "feedback").is_dir()
    assert names(course, tmp_path) == ["ada", "bob"]


def grade(course: CourseOnDisk, what: Path, *options: str) -> Run:
    return course.run("grade", "hw1", str(what), *options)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"mia/notes.txt": ""}, "mia cannot be checked: it holds no Python file"),
        ({"mia/other.py": ""}, "mia cannot be checked: none of the starter's files is in it"),
        ({"mia.py": ""}, "mia cannot be checked: mia.py is not a file that students write"),
    ],
)
def test_what_cannot_be_opened_is_called_by_its_name(
    course: CourseOnDisk, tmp_path: Path, files: dict[str, str], said: str
) -> None:
    for name, text in files.items():
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_text(text)
    run = grade(course, tmp_path / "in", "--json", "--output", str(tmp_path / "out"))
    (item,) = run.json["submissions"]
    assert said in item["reason"]
    assert str(tmp_path) not in (tmp_path / "out/feedback/mia.md").read_text()


OFF: Sequence[tuple[str, str]] = [
    ("x * factor", "x * factor + 1"),
    ("x * factor", "(x * factor)[:-1]"),
    ("x * factor", "(x * factor).astype('float32')"),
    ("x * factor", "x / 0"),
]


@pytest.mark.parametrize("change", OFF, ids=["values", "shape", "dtype", "infinite"])
def test_what_was_judged_is_not_judged_again(course: CourseOnDisk, tmp_path: Path, change: tuple[str, str]) -> None:
    what = Path(hand_in(course, change, name="ada"))
    first, second = (grade(course, what, "--json", "--output", str(tmp_path)).json["submissions"][0] for _ in range(2))
    assert first["outcome"] == "differs"
    assert first == second, "to the millisecond: it is what was kept"


def fork(course: CourseOnDisk, branch: str, place: str) -> None:
    """A branch with a history of its own, fetched from a repository in which the assignment's files lie at `place`."""
    root = course.root.parent / branch
    put(course, root / place)
    (root / "README.md").write_text("mine")
    (root / "notes").mkdir()
    (root / "notes/plot.py").write_text("print(1)")
    for command in (["init", "-q", "-b", branch], ["add", "-A"], ["commit", "-qm", "done"]):
        git(root, *command)
    course.git("fetch", "-q", str(root), f"{branch}:{branch}")


@pytest.mark.parametrize("place", ["", "hw1", "src/assignments/hw1", "week 1/code"])
def test_a_fork_that_is_no_course_can_be_checked_as_a_revision(course: CourseOnDisk, place: str) -> None:
    if not (course.root / ".git").exists():
        course.git("init", "-q", "-b", "main")
    branch = f"fork-{place.replace('/', '-').replace(' ', '-')}x"
    fork(course, branch, place)
    run = course.run("check", "hw1", branch)
    assert run.code == 0, run.out + run.err


def test_a_revision_without_the_assignment_or_with_two_of_it_is_no_submission(course: CourseOnDisk) -> None:
    if not (course.root / ".git").exists():
        course.git("init", "-q", "-b", "main")
    fork(course, "both", "one/try")
    root = course.root.parent / "both"
    put(course, root / "another/try")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "twice")
    course.git("fetch", "-q", str(root), "both:both")
    fork(course, "theirs", "private/solutions/hw1")
    for branch in ("both", "theirs"):
        run = course.run("check", "hw1", branch)
        assert run.code == 2, run.out + run.err
        assert "it has no src/assignments/hw1" in run.err


def test_which_of_two_files_was_used_is_told_to_student_and_staff(course: CourseOnDisk, tmp_path: Path) -> None:
    put(course, tmp_path / "class/ada", tmp_path / "class/bob")
    shutil.copy(course.root / "src/assignments/hw1/ops.py", tmp_path / "class/ada/ops_solution.py")
    (tmp_path / "class/bob/ops.py").rename(tmp_path / "class/bob/ops (1).py")
    out = tmp_path / "grades"
    run = grade(course, tmp_path / "class", "--output", str(out), "--json")
    ada, bob = run.json["submissions"]
    assert [(item["outcome"], item["score"]) for item in (ada, bob)] == [("agrees", ada["points"])] * 2
    assert ada["choices"] == ["ops_solution.py was not used: ops.py was submitted, too"]
    assert bob["choices"] == ["ops (1).py was used for ops.py"]
    assert "Note: `ops_solution.py` was not used: `ops.py` was submitted, too." in (out / "feedback/ada.md").read_text()
    assert "ada: ops_solution.py was not used" in grade(course, tmp_path / "class", "--output", str(out)).out


def test_an_import_that_fails_half_way_is_told_to_student_and_staff(course: CourseOnDisk, tmp_path: Path) -> None:
    put(course, tmp_path / "class/ada", tmp_path / "class/bob")
    lines = (tmp_path / "class/ada/ops.py").read_text().splitlines()
    added = ["class Own(ValueError): pass", "raise Own('::error::')"]
    (tmp_path / "class/ada/ops.py").write_text("\n".join([*lines, *added]))
    out = tmp_path / "grades"
    run = grade(course, tmp_path / "class", "--output", str(out), "--json")
    ada, bob = run.json["submissions"]
    said = f"ops.py raised ValueError in line {len(lines) + 2} while it was imported"
    assert [note.startswith(said) for note in ada["unfinished"]] == [True]
    assert bob["unfinished"] == []
    assert "`ops.py` raised `ValueError` in line" in (out / "feedback/ada.md").read_text()
    assert "ada: `ops.py` raised `ValueError` in line" in (out / "overview.md").read_text()
    assert said in course.run("check", "hw1", str(tmp_path / "class/ada")).out
