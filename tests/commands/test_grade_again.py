"""One folder, run after run: its files always belong together, and nothing that a person wrote is lost."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from goldsmith.courses.grade import open_contexts
from goldsmith.courses.grade.grader import Grader, rubric_for
from goldsmith.courses.grade.output_folder import Folder
from goldsmith.courses.grade.submissions import SubmissionRef
from goldsmith.courses.layout.layout import find_course
from goldsmith.errors.gold import CannotWrite
from goldsmith.generate.options import Options
from support.check_course import checked_course, hand_in
from support.course import CourseOnDisk, Run

CLASS = ("grades.csv", "junit.xml")


def run(path: Path, *names: str, **contents: str) -> Folder:
    """A run in which these submissions are graded, and what it says about some."""
    folder = Folder(path)
    for name in names:
        folder.write(f"feedback/{name}.md", contents.get(name, f"about {name}").encode())
        folder.write(f"gradescope/{name}/results.json", contents.get(name, name).encode())
    folder.put_aside_the_rest(along=CLASS)
    for name in CLASS:
        folder.write(name, ", ".join(f"{one}={contents.get(one, one)}" for one in names).encode())
    folder.finish()
    return folder


def files(path: Path) -> dict[str, str]:
    there = [file for file in sorted(path.rglob("*")) if file.is_file() and not file.name.startswith(".")]
    return {file.relative_to(path).as_posix(): file.read_text() for file in there}


def test_the_same_again_changes_nothing(tmp_path: Path) -> None:
    run(tmp_path, "ada", "bob")
    before = files(tmp_path), (tmp_path / ".written").read_bytes()
    again = run(tmp_path, "ada", "bob")
    assert (files(tmp_path), (tmp_path / ".written").read_bytes()) == before
    assert (again.earlier, again.left) == (None, [])


def test_whoever_is_gone_is_put_aside_with_the_class_they_were_in(tmp_path: Path) -> None:
    run(tmp_path, "ada", "bob")
    made = run(tmp_path, "ada")
    assert made.earlier == tmp_path / "earlier/1"
    assert files(tmp_path / "earlier/1") == {
        "feedback/bob.md": "about bob",
        "gradescope/bob/results.json": "bob",
        "grades.csv": "ada=ada, bob=bob",
        "junit.xml": "ada=ada, bob=bob",
    }
    assert set(files(tmp_path)) - {f"earlier/1/{name}" for name in files(tmp_path / "earlier/1")} == {
        "feedback/ada.md", "gradescope/ada/results.json", *CLASS,
    }  # fmt: skip
    assert not (tmp_path / "gradescope/bob").exists()
    run(tmp_path, "bob")
    assert files(tmp_path / "earlier/1")["feedback/bob.md"] == "about bob", "what was put aside stays"
    assert set(files(tmp_path / "earlier/2")) == {"feedback/ada.md", "gradescope/ada/results.json", *CLASS}


def test_what_a_person_has_changed_stays_while_there_is_nothing_new_to_say(tmp_path: Path) -> None:
    run(tmp_path, "ada", "bob")
    (tmp_path / "feedback/ada.md").write_text("about ada. Well done!")
    (tmp_path / "grades.csv").write_text("with a column of my own")
    for _ in range(2):
        made = run(tmp_path, "ada", "bob")
        assert (made.earlier, made.left) == (None, ["feedback/ada.md", "grades.csv"])
        assert files(tmp_path)["feedback/ada.md"] == "about ada. Well done!"
    made = run(tmp_path, "ada", "bob", ada="other news")
    assert files(tmp_path)["feedback/ada.md"] == "other news"
    assert files(tmp_path / "earlier/1") == {
        "feedback/ada.md": "about ada. Well done!",
        "grades.csv": "with a column of my own",
    }


def test_what_was_never_ours_is_not_lost_either(tmp_path: Path) -> None:
    (tmp_path / "feedback").mkdir()
    (tmp_path / "feedback/notes.md").write_text("whom to call")
    (tmp_path / "grades.csv").write_text("of last year")
    run(tmp_path, "ada")
    run(tmp_path, "bob")
    assert files(tmp_path)["feedback/notes.md"] == "whom to call"
    assert files(tmp_path / "earlier/1") == {"grades.csv": "of last year"}


def test_a_run_that_was_cut_off_leaves_nothing_that_looks_like_a_persons(tmp_path: Path) -> None:
    run(tmp_path, "ada", "bob")
    cut_off = Folder(tmp_path)
    cut_off.write("feedback/ada.md", b"half a class")
    cut_off.write("feedback/cy.md", b"about cy")
    made = run(tmp_path, "ada", "bob", ada="other news")
    assert files(tmp_path)["feedback/ada.md"] == "other news"
    assert set(files(tmp_path / "earlier/1")) == {"feedback/cy.md", *CLASS}
    assert made.left == []


def test_a_folder_that_cannot_be_written_is_said_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "feedback").write_text("a file where a folder should be")
    with pytest.raises(CannotWrite, match="feedback"):
        run(tmp_path, "ada")


# --- by the command line ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    return checked_course(tmp_path_factory.mktemp("again") / "course")


def names_in(folder: Path) -> list[list[str]]:
    """Who is in the table, who has feedback, and whom Gradescope gets."""
    with (folder / "grades.csv").open(encoding="utf-8") as file:
        table = [row["name"] for row in csv.DictReader(file)]
    feedback = sorted({path.name.partition(".")[0] for path in (folder / "feedback").iterdir()})
    return [table, feedback, sorted(path.name for path in (folder / "gradescope").iterdir())]


def test_table_and_feedback_agree_after_each_run(course: CourseOnDisk) -> None:
    ada, bob = hand_in(course, name="ada"), hand_in(course, ("x * factor", "x + factor"), name="bob")

    def grade(*arguments: str) -> Run:
        return course.run("grade", "hw1", *arguments)

    folder = course.root / "private/grades/hw1"
    assert grade(ada, bob).code == 0
    assert names_in(folder) == [["ada", "bob"]] * 3
    note = (folder / "feedback/ada.md").read_text() + "\nSee me.\n"
    (folder / "feedback/ada.md").write_text(note)
    out = grade(ada).out.splitlines()
    assert names_in(folder) == [["ada"]] * 3
    assert out[-2:] == [
        "Kept as you edited it, since nothing in it has changed: feedback/ada.md.",
        "Moved to private/grades/hw1/earlier/1/: files that only earlier runs wrote, and files that you edited.",
    ]
    assert "2 of 3 points" in (folder / "earlier/1/feedback/bob.md").read_text()
    assert json.loads((folder / "earlier/1/feedback/bob.json").read_text())["name"] == "bob"
    (course.root / "goldsmith.toml").write_text("[assignment.hw1.rubric.cases]\ncentred = 7\n")
    found = grade(ada, bob, "--json").json
    (course.root / "goldsmith.toml").unlink()
    assert names_in(folder) == [["ada", "bob"]] * 3
    assert (found["earlier"], found["left"]) == (str(folder / "earlier/2"), [])
    assert (folder / "earlier/2/feedback/ada.md").read_text() == note
    assert "7 of 7 points" in (folder / "feedback/ada.md").read_text()


def test_a_worker_closes_what_runs_have_left_that_nobody_goes_on_with(
    course: CourseOnDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    assignment = find_course(course.root).assignment("hw1")
    rubric = rubric_for(assignment, allow_stale=False)
    first, second, third = (
        Grader(assignment, rubric, Options(seed=42, threads=1, timeout=60), each, 6) for each in (20, 21, 22)
    )
    item = SubmissionRef("ada", hand_in(course, name="ada"))
    with open_contexts.judging_contexts():
        assert first(item).verdict.outcome == "agrees"
        room = open_contexts._contexts[first.base].temporary_folder
        assert second(item).verdict.outcome == "agrees"
        assert room.is_dir()  # another run may be under way
        monkeypatch.setattr(open_contexts, "_IDLE_S", 0.0)
        assert third(item).verdict.outcome == "agrees"
        assert list(open_contexts._contexts) == [third.base]
        assert not room.exists()
