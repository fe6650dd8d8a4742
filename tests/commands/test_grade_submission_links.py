"""A submission is resolved once, where it was submitted, and never leads out: to no solution and no neighbour."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from goldsmith.courses.grade.collection import Reading, collect
from goldsmith.courses.grade.submissions import SubmissionRef, opened
from goldsmith.courses.layout.layout import Assignment, find_course
from goldsmith.errors.base import GoldsmithError
from goldsmith.errors.check import SubmissionIsLink, SubmissionIsPrivate, SubmissionLeaves
from support.check_course import checked_course, hand_in
from support.course import CourseOnDisk


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    made = checked_course(tmp_path_factory.mktemp("links") / "course")
    made.git("init", "-q", "-b", "main")
    return made


@pytest.fixture
def assignment(course: CourseOnDisk) -> Assignment:
    return find_course(course.root).assignment("hw1")


@pytest.fixture
def class_folder(course: CourseOnDisk, tmp_path: Path) -> Path:
    """With one honest submission in it."""
    shutil.copytree(hand_in(course), tmp_path / "class/ada")
    return tmp_path / "class"


def refusal(assignment: Assignment, item: SubmissionRef) -> type[GoldsmithError] | None:
    try:
        with opened(assignment, item):
            return None
    except GoldsmithError as error:
        return type(error)


def refusals(assignment: Assignment, *arguments: Path, reading: Reading = "") -> dict[str, type[GoldsmithError] | None]:
    items = collect(assignment, [str(item) for item in arguments], [], reading=reading).items
    return {item.name: refusal(assignment, item) for item in items}


def test_no_link_in_a_class_folder_is_followed(assignment: Assignment, class_folder: Path) -> None:
    shutil.make_archive(str(class_folder.parent / "theirs"), "zip", class_folder / "ada")
    (class_folder / "eve").symlink_to(assignment.solution)
    (class_folder / "mallory").symlink_to("ada")
    (class_folder / "oscar.zip").symlink_to(class_folder.parent / "theirs.zip")
    (class_folder / "ops.py").symlink_to("ada/ops.py")
    names = {"eve", "mallory", "oscar", "ops"}
    assert refusals(assignment, class_folder) == {"ada": None, **dict.fromkeys(names, SubmissionIsLink)}


def test_no_link_is_followed_below_the_folder_that_several_arguments_share(
    assignment: Assignment, class_folder: Path
) -> None:
    (class_folder / "mallory").symlink_to("ada")
    (class_folder / "ada/again").mkdir()
    shutil.copy(class_folder / "ada/ops.py", class_folder / "ada/again/ops.py")
    (class_folder / "oscar").symlink_to(".")
    paths = [class_folder / name for name in ("ada", "mallory", "mallory/again", "oscar")]
    others = dict.fromkeys(["mallory", "again", "oscar"], SubmissionIsLink)
    assert refusals(assignment, *paths, reading="one") == {"ada": None, **others}


def test_namesakes_in_two_classes_are_opened_as_carefully(assignment: Assignment, class_folder: Path) -> None:
    (class_folder.parent / "late").mkdir()
    (class_folder.parent / "late/ada").symlink_to(assignment.solution)
    found = refusals(assignment, class_folder / "ada", class_folder.parent / "late/ada")
    assert found == {"class/ada": None, "late/ada": SubmissionIsLink}


def test_a_link_that_staff_name_alone_is_resolved_once(assignment: Assignment, class_folder: Path) -> None:
    (class_folder.parent / "lone").symlink_to("class/ada")
    (class_folder.parent / "all").symlink_to("class")
    assert refusals(assignment, class_folder.parent / "lone") == {"ada": None}
    (class_folder.parent / "ops.py").symlink_to("class/ada/ops.py")
    assert set(refusals(assignment, class_folder.parent / "ops.py").values()) == {None}
    shutil.make_archive(str(class_folder.parent / "eve"), "zip", class_folder / "ada")
    (class_folder.parent / "work.zip").symlink_to("eve.zip")
    assert refusals(assignment, class_folder.parent / "work.zip") == {"eve": None}
    assert refusals(assignment, class_folder.parent / "all") == {"ada": None}


def test_nothing_of_the_courses_own_is_graded(assignment: Assignment, class_folder: Path) -> None:
    (class_folder.parent / "lone").symlink_to(assignment.solution)
    assert set(refusals(assignment, class_folder.parent / "lone").values()) == {SubmissionIsPrivate}
    assert set(refusals(assignment, assignment.solution).values()) == {SubmissionIsPrivate}
    assert set(refusals(assignment, assignment.course.solutions_folder).values()) == {SubmissionIsPrivate}


def test_a_solution_under_a_second_name_is_not_graded(assignment: Assignment, class_folder: Path) -> None:
    (class_folder / "ada/ops.py").unlink()
    (class_folder / "ada/ops.py").hardlink_to(assignment.solution / "ops_solution.py")
    assert refusals(assignment, class_folder / "ada") == {"ada": SubmissionIsPrivate}


def test_a_folder_inside_that_is_a_link_leads_nowhere(assignment: Assignment, class_folder: Path) -> None:
    shutil.rmtree(class_folder / "ada")
    (class_folder / "ada").mkdir()
    (class_folder / "ada/hw1").symlink_to(assignment.solution)
    (class_folder / "bob/src/assignments").mkdir(parents=True)
    (class_folder / "bob/src/assignments/hw1").symlink_to(assignment.solution)
    assert refusals(assignment, class_folder) == {"ada": SubmissionLeaves, "bob": SubmissionLeaves}


def test_a_link_that_stays_inside_is_the_file_itself(assignment: Assignment, class_folder: Path) -> None:
    (class_folder / "ada/ops.py").rename(class_folder / "ada/real.py")
    (class_folder / "ada/ops.py").symlink_to("real.py")
    (item,) = collect(assignment, [str(class_folder / "ada")], [], reading="one").items
    with opened(assignment, item) as submission:
        found = {str(placed.target): placed.source.read_text() for placed in submission.placed}
        (class_folder / "ada/real.py").write_text("changed afterwards")
        assert "def centre" in found["ops.py"] == found["real.py"]
        assert all("def centre" in placed.source.read_text() for placed in submission.placed), "it is judged as it was"


def commit(course: CourseOnDisk, content: str) -> str:
    """A commit that has nothing in it but a file for the assignment."""

    def git(*arguments: str, text: str = "") -> str:
        settings = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
        command = ["git", "-C", str(course.root), *settings, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True, input=text).stdout.strip()

    tree = git("mktree", text=f"100644 blob {git('hash-object', '-w', '--stdin', text=content)}\tops.py\n")
    return git("commit-tree", tree, "-m", "mine")


@pytest.mark.parametrize("kind", ["a path of the solution", "a path of a neighbour", "another's commit"])
def test_a_branch_is_graded_as_what_is_in_it_whatever_it_is_called(
    course: CourseOnDisk, assignment: Assignment, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.chdir(course.root)
    shutil.copytree(hand_in(course), course.root / "class/ada", dirs_exist_ok=True)
    names = {"a path of the solution": "private/solutions/hw1", "a path of a neighbour": "class/ada"}
    name = names.get(kind) or commit(course, "# another's")
    course.git("update-ref", f"refs/heads/{name}", commit(course, "# mine"))
    (item,) = collect(assignment, [], [name]).items
    assert item.name == name
    with opened(assignment, item) as submission:
        assert [placed.source.read_text() for placed in submission.placed] == ["# mine"]
    course.git("update-ref", "-d", f"refs/heads/{name}")


def test_check_does_not_follow_a_link_to_the_solution(course: CourseOnDisk, tmp_path: Path) -> None:
    (tmp_path / "mallory").symlink_to(course.root / "private/solutions/hw1")
    run = course.run("check", "hw1", str(tmp_path / "mallory"))
    assert run.code == 2
    assert "points into private/solutions, which belongs to the course" in run.err
