"""Nothing is deleted or overwritten that goldsmith has not made, whatever it is called and however old it is."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from goldsmith.courses.grade.output_folder import Folder
from goldsmith.courses.injection.inject import recover
from goldsmith.courses.layout.layout import find_course
from goldsmith.courses.scaffold.changes import Change, apply
from goldsmith.errors.gold import CannotWrite, LeadsElsewhere, NotOursToReplace
from goldsmith.foundation.atomic_files import PARTIAL, write_durably
from goldsmith.gold.manifest import encode, read_manifest
from goldsmith.gold.publish import Staging
from goldsmith.mutants.cache import FindingCache
from goldsmith.workspace.lock import make_state_folder, project_lock
from support.course import RECIPE_FILE, SOLUTION_FILE, CourseOnDisk, recipe
from support.foreign_files import TEST, TEST_FILE, age, bytes_in
from support.injection_course import assert_clean, do_inject, do_reset
from support.kill import killed_at_step, whole_tree

# --- beside the gold --------------------------------------------------------------------------------------------


def test_folders_beside_gold_stay(course: CourseOnDisk) -> None:
    beside = course.gold().parent
    for name in (".hw1.staging", ".hw1.old", ".hw1.0123456789ab.staging", "hw1.old"):
        (beside / name / "old").mkdir(parents=True)
        (beside / name / "old/a.pt").write_text("mine")
    (beside / ".hw1.ba9876543210.staging").symlink_to(".hw1.old")
    age(beside)
    before = bytes_in(beside)
    assert course.run("generate", "hw1").code == 0
    course.write({SOLUTION_FILE: "def scale(x):\n    return x * 3.0\n"})
    assert course.run("generate", "hw1").code == 0
    assert {name: content for name, content in bytes_in(beside).items() if name.split("/")[0] != "hw1"} == before


def test_gold_that_somebody_edited_stays_when_its_case_is_gone(course: CourseOnDisk) -> None:
    case = "@gs.case\ndef NAME(case):\n    case.record('y', np.arange(3.0))\n\n"
    course.write({RECIPE_FILE: recipe("".join(case.replace("NAME", name) for name in ("one", "two", "three")))})
    assert course.run("generate", "hw1").code == 0
    (course.gold() / "two.npz").write_text("mine now")
    course.write({RECIPE_FILE: recipe(case.replace("NAME", "one"))})
    run = course.run("generate", "hw1")
    assert "removed, since no case makes them any more: three.npz" in run.out
    assert "kept in the gold folder, not made by goldsmith: two.npz" in run.out
    assert (course.gold() / "two.npz").read_text() == "mine now"
    assert not (course.gold() / "three.npz").exists()


def test_what_is_put_into_the_gold_folder_at_the_last_moment_stays(tmp_path: Path) -> None:
    gold = tmp_path / "hw1"
    gold.mkdir()
    for name in ("case.npz", "notes.txt"):
        (gold / name).write_text("old")
    staging = Staging(gold)
    staging.open()
    staging.write("case.npz", b"new")
    staging.carry_over({"case.npz"})
    (gold / "notes.txt").write_text("edited while a question was open")
    (gold / "more.txt").write_text("added while a question was open")
    staging.publish()
    assert {path.name: path.read_text() for path in gold.iterdir()} == {
        "case.npz": "new",
        "notes.txt": "edited while a question was open",
        "more.txt": "added while a question was open",
    }


def test_a_file_in_the_place_of_the_gold_folder_stays(tmp_path: Path) -> None:
    (tmp_path / "hw1").write_text("mine")
    staging = Staging(tmp_path / "hw1")
    staging.open()
    with pytest.raises(CannotWrite, match="a file stands in the place"):
        staging.publish()
    staging.discard()
    assert bytes_in(tmp_path) == {"hw1": b"mine"}


# --- partial files ----------------------------------------------------------------------------------------------


def test_a_file_with_the_name_of_a_partial_one_stays(tmp_path: Path) -> None:
    names = [f".a.txt{PARTIAL}", f".0123456789abcdef-0123456789abcdef{PARTIAL}", f"notes{PARTIAL}"]
    for name in names:
        (tmp_path / name).write_text("mine")
    age(tmp_path)
    write_durably(tmp_path / "a.txt", b"new")
    assert bytes_in(tmp_path) == {"a.txt": b"new"} | dict.fromkeys(names, b"mine")


def test_a_partial_file_of_a_killed_process_is_removed_once_it_is_old(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    assert not killed_at_step(3, lambda: write_durably(target, b"half"))
    (left,) = tmp_path.iterdir()
    assert not killed_at_step(100, lambda: write_durably(target, b"new")) or left.exists(), "it may be somebody's yet"
    age(tmp_path)
    killed_at_step(100, lambda: write_durably(target, b"new"))
    assert bytes_in(tmp_path) == {"a.txt": b"new"}


# --- injection --------------------------------------------------------------------------------------------------


def test_whatever_lies_beside_journals_and_injected_files_stays(rich: CourseOnDisk) -> None:
    injected = rich.root / ".goldsmith/injected"
    mine = {
        injected / ".notes/todo.md",
        injected / ".hw1.preparing/todo.md",
        injected / ".hw1.done/todo.md",
        injected / ".hw1.0123456789ab.done/todo.md",
        rich.root / f"src/assignments/hw1/.ops.py{PARTIAL}",
        rich.root / "src/assignments/hw1/__pycache__/ops.notes.pyc",
    }
    for path in mine:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine")
        age(path.parent)
    assert rich.run("inject", "hw1").code == 0
    assert rich.run("reset", "hw1").code == 0
    assert rich.run("status").code in (0, 1)
    assert all(path.read_text() == "mine" for path in mine)


def test_a_copy_that_a_killed_injection_left_on_another_file_system_is_removed(
    rich: CourseOnDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = whole_tree(rich.root)
    replace = os.replace

    def elsewhere(source: Any, target: Any) -> None:
        if "incoming" in str(source):
            raise OSError(errno.EXDEV, "another file system")
        if str(source).endswith(PARTIAL) and str(target).endswith("ops.py"):
            os.kill(os.getpid(), signal.SIGKILL)
        replace(source, target)

    monkeypatch.setattr(os, "replace", elsewhere)
    assert not killed_at_step(10_000, lambda: do_inject(rich))
    monkeypatch.undo()
    assert list((rich.root / "src/assignments/hw1").glob(f"*{PARTIAL}"))
    recover(find_course(rich.root))
    assert_clean(rich, before)


def test_an_edit_of_somebody_elses_stops_a_reset(rich: CourseOnDisk) -> None:
    do_inject(rich)
    (rich.root / "src/assignments/hw1/ops.py").write_text("my work on the solution")
    with pytest.raises(Exception, match="edited"):
        do_reset(rich)
    assert (rich.root / "src/assignments/hw1/ops.py").read_text() == "my work on the solution"


# --- the state folder -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", ["my holder", '["pid"]', '{"pid": 1}'])
def test_a_file_that_is_no_announcement_stays(course: CourseOnDisk, content: str) -> None:
    state = course.root / ".goldsmith"
    state.mkdir()
    (state / "holder.json").write_text(content)
    with project_lock(find_course(course.root), "test", wait=False, on_wait=print):
        pass
    assert (state / "holder.json").read_text() == content


def test_a_link_in_the_place_of_an_announcement_is_not_written_through(course: CourseOnDisk, tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    (course.root / ".goldsmith").mkdir()
    (course.root / ".goldsmith/holder.json").symlink_to(tmp_path / "precious")
    with project_lock(find_course(course.root), "test", wait=False, on_wait=print):
        pass
    assert (tmp_path / "precious").read_text() == "mine"
    assert (course.root / ".goldsmith/holder.json").is_symlink()


def test_a_file_in_the_place_of_the_lock_is_refused(course: CourseOnDisk) -> None:
    (course.root / ".goldsmith").mkdir()
    (course.root / ".goldsmith/lock").write_text("mine")
    run = course.run("generate", "hw1")
    assert run.code == 3
    assert "goldsmith did not make what stands there" in run.out + run.err
    assert (course.root / ".goldsmith/lock").read_text() == "mine"


def test_only_findings_are_forgotten(tmp_path: Path) -> None:
    names = ["notes.md", f"{'0' * 40}.json", "thesis.json"]
    for name in names:
        (tmp_path / name).write_text('{"mine": true}')
    (tmp_path / f"{'1' * 40}.json").write_text('{"finding": {}, "case": "", "cases": ""}')
    (tmp_path / "folder").mkdir()
    (tmp_path / f"{'2' * 40}.json").symlink_to("notes.md")
    age(tmp_path)
    FindingCache(tmp_path, "", {}).evict()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*names, "folder", f"{'2' * 40}.json"])


# --- files for people -------------------------------------------------------------------------------------------


def test_a_file_that_stands_where_a_report_goes_gets_another_name(course: CourseOnDisk) -> None:
    course.write({TEST_FILE: TEST, "tests/internal/reports/hw1.txt": "mine", "tests/internal/reports/hw1.xml": "mine"})
    run = course.run("test", "hw1")
    assert run.code == 0, run.out
    assert "tests/internal/reports/hw1.txt.yours is a file that was where the report goes" in run.out
    assert course.run("test", "hw1").code == 0
    reports = course.root / "tests/internal/reports"
    assert sorted(path.name for path in reports.iterdir() if path.name.endswith(".yours")) == [
        "hw1.txt.yours",
        "hw1.xml.yours",
    ]
    assert all((reports / f"hw1.{kind}.yours").read_text() == "mine" for kind in ("txt", "xml"))


@pytest.mark.parametrize("name", ["feedback", "feedback/late"])
def test_a_linked_folder_among_grades_is_not_written_through(tmp_path: Path, name: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "ada.md").write_text("mine")
    link = tmp_path / "grades" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(elsewhere)
    before = bytes_in(tmp_path / "elsewhere")
    with pytest.raises(LeadsElsewhere, match=f"{name} is a symbolic link"):
        Folder(tmp_path / "grades").write(f"{name}/ada.md", b"new")
    assert bytes_in(elsewhere) == before
    (tmp_path / "grades/.gitignore").unlink()
    (tmp_path / "grades/.gitignore").symlink_to(elsewhere / "new")
    Folder(tmp_path / "grades")
    assert bytes_in(elsewhere) == before


@pytest.mark.parametrize("link", [".goldsmith", ".goldsmith/.gitignore"])
def test_a_linked_state_folder_is_not_written_through(course: CourseOnDisk, tmp_path: Path, link: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (course.root / link).parent.mkdir(exist_ok=True)
    (course.root / link).symlink_to(elsewhere if link == ".goldsmith" else elsewhere / "new")
    with contextlib.suppress(LeadsElsewhere):
        make_state_folder(find_course(course.root))
    assert bytes_in(elsewhere) == {}


def test_gold_behind_a_link_never_takes_the_place_of_other_files(course: CourseOnDisk, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "README.md").write_text("mine")
    course.gold().parent.mkdir(parents=True)
    course.gold().symlink_to(elsewhere)
    run = course.run("generate", "hw1", "--force")
    assert run.code == 3, run.out
    assert "stays as it is: it is not empty, and holds no manifest.json of goldsmith's" in run.err + run.out
    assert bytes_in(elsewhere) == {"README.md": b"mine"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["course", "elsewhere"]


def test_gold_behind_a_link_never_takes_the_place_of_other_gold(course: CourseOnDisk) -> None:
    assert course.run("generate", "hw1").code == 0
    other = course.gold().with_name("hw2")
    course.gold().rename(other)
    course.gold().symlink_to(other)
    before = bytes_in(other)
    assert course.run("generate", "hw1", "--force").code == 0, "a link to its own gold is fine"
    manifest = other / "manifest.json"
    manifest.write_bytes(encode(msgspec.structs.replace(read_manifest(other), assignment="hw2", digest="")))
    run = course.run("generate", "hw1", "--force")
    assert run.code == 3, run.out
    assert "is a symbolic link to the gold of hw2, which stays as it is" in run.err + run.out
    assert bytes_in(other).keys() == before.keys()
    assert read_manifest(other).assignment == "hw2"


def test_a_kit_takes_the_place_of_nothing_but_a_kit(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "README.md").write_text("mine")
    (tmp_path / "kit").symlink_to(elsewhere)
    with pytest.raises(NotOursToReplace):
        Staging(tmp_path / "kit", proof="kit.json").open()
    assert bytes_in(elsewhere) == {"README.md": b"mine"}


def test_nothing_is_injected_through_a_link_that_leads_out_of_the_course(course: CourseOnDisk, tmp_path: Path) -> None:
    starter = course.root / "src/assignments/hw1"
    shutil.move(starter, tmp_path / "elsewhere")
    starter.symlink_to(tmp_path / "elsewhere")
    before = bytes_in(tmp_path / "elsewhere")
    run = course.run("inject", "hw1")
    assert run.code == 3, run.out
    assert "a link leads out of the course on the way there" in run.err
    assert bytes_in(tmp_path / "elsewhere") == before


def test_a_link_in_the_folder_of_grades_is_put_aside(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("new")
    (tmp_path / "grades").mkdir()
    (tmp_path / "grades/grades.csv").symlink_to(tmp_path / "precious")
    folder = Folder(tmp_path / "grades")
    folder.write("grades.csv", b"new")
    folder.finish()
    assert (tmp_path / "grades/earlier/1/grades.csv").is_symlink()
    assert (tmp_path / "precious").read_text() == "new"


def test_a_list_that_goldsmith_did_not_write_is_not_taken_for_its_own(tmp_path: Path) -> None:
    (tmp_path / ".written").write_text("chapters that are written: 1, 2\n")
    with pytest.raises(CannotWrite, match="goldsmith did not write"):
        Folder(tmp_path)
    assert (tmp_path / ".written").read_text() == "chapters that are written: 1, 2\n"


def test_undoing_leaves_what_somebody_wrote_meanwhile(tmp_path: Path) -> None:
    def changes() -> Iterator[Change]:
        yield Change("settings", tmp_path / "a.toml", "create", b"ours")
        (tmp_path / "a.toml").write_text("mine now")
        yield Change("settings", tmp_path / "a.toml/impossible", "create", b"ours")

    with pytest.raises(CannotWrite):
        apply(changes())
    assert (tmp_path / "a.toml").read_text() == "mine now"
