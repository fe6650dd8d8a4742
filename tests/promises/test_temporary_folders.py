"""Of all that lies in the temporary folder, only what goldsmith has made is ever removed, and that always is."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from pathlib import Path

import pytest

from goldsmith.errors.gold import CannotWrite
from goldsmith.foundation.ownership import MARK
from goldsmith.workspace.temporary import private_folder, sweep_abandoned
from support.course import RECIPE_FILE, CourseOnDisk, names_no_process, recipe, wait_until
from support.foreign_files import TEST, TEST_FILE, age, bytes_in
from support.kill import killed_at_step


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary folder of this test's own, for this process, too."""
    folder = tmp_path / "tmp with a space"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def unlucky(temporary: Path, elsewhere: Path) -> None:
    """Put into a temporary folder what people might have there, under the most unlucky names."""
    user = os.getuid()
    for name in (
        "goldsmith-anything",
        "goldsmith-homework",
        "goldsmith-0123456789ab",
        f"goldsmith-{user}",
        f"goldsmith-{user}-2",
        f"goldsmith-{user}/0123456789ab",
        "0123456789ab",
        "gold-check-abc",
        "goldsmith-pytest-abc",
    ):
        folder = temporary / name
        folder.mkdir(exist_ok=True)
        (folder / "thesis.md").write_text("years of work")
        (folder / "owner.lock").touch()
    (temporary / "goldsmith-homework/.git").mkdir()
    (temporary / "goldsmith-homework/.git/HEAD").write_text("ref: refs/heads/main\n")
    (temporary / "goldsmith-homework" / MARK).write_text("a note of mine\n")
    (temporary / "goldsmith-empty").mkdir()
    (temporary / "goldsmith-file").write_text("not even a folder")
    elsewhere.mkdir()
    (elsewhere / "precious").write_text("linked")
    (temporary / "goldsmith-linked").symlink_to(elsewhere)
    (temporary / f"goldsmith-{user}-3").symlink_to(elsewhere)
    age(temporary)
    age(elsewhere)


# --- the temporary folder ---------------------------------------------------------------------------------------


@pytest.mark.long
def test_every_byte_survives_every_command(course: CourseOnDisk, temporary: Path, tmp_path: Path) -> None:
    unlucky(temporary, tmp_path / "elsewhere")
    before, linked = bytes_in(temporary), bytes_in(tmp_path / "elsewhere")
    course.write({TEST_FILE: TEST, "handed-in/ada/ops.py": "def scale(x):\n    return x * 2.0\n"})
    course.git("init", "--quiet")
    course.git("add", "--all")
    course.git("commit", "--quiet", "-m", "all")
    for arguments, codes in {
        ("doctor",): {0},
        ("init", "--yes"): {0},
        ("new", "hw2", "--kind", "numpy", "--yes"): {0},
        ("skills", "install"): {0},
        ("generate", "hw1"): {0},
        ("generate", "hw1", "--check"): {0},
        ("status",): {0, 1},
        ("verify", "hw1", "--reproduce"): {0},
        ("diff", "hw1"): {0},
        ("check", "hw1", "private/solutions/hw1"): {0},
        ("check", "hw1", "HEAD"): {3},
        ("test", "hw1"): {0},
        ("rigor", "hw1", "--list"): {0},
        ("rigor", "hw1", "--max", "1", "--jobs", "1"): {0},
        ("grade", "hw1", "handed-in", "--jobs", "1", "--allow-unsandboxed"): {0, 1},
        ("inject", "hw1"): {0},
        ("reset", "hw1"): {0},
        ("guard",): {0, 1},
    }.items():
        run = course.run(*arguments, TMPDIR=str(temporary))
        assert run.code in codes, (arguments, run.out, run.err)
        assert bytes_in(temporary) == before, arguments
        assert bytes_in(tmp_path / "elsewhere") == linked, arguments


def test_what_a_killed_command_left_is_removed_by_the_next_one(course: CourseOnDisk, temporary: Path) -> None:
    course.write({RECIPE_FILE: recipe("import time\ntime.sleep(60)\n")})
    process = course.start("generate", "hw1", TMPDIR=str(temporary))
    wait_until(lambda: [*temporary.glob("goldsmith-*/*/run-2/scratch/job.json")])
    process.kill()
    process.communicate()
    wait_until(lambda: names_no_process(str(temporary)))  # its children notice a moment later
    (parent,) = temporary.iterdir()
    assert any("return x * 2.0 + 1.0" in path.read_text() for path in parent.rglob("ops.py"))
    rooms = [path for path in parent.iterdir() if path.is_dir()]
    stranger = parent / "0123456789ab"
    shutil.copytree(rooms[0], stranger, symlinks=True)
    age(parent)
    course.write({RECIPE_FILE: recipe("raise ValueError\n")})
    assert course.run("diff", "hw1", TMPDIR=str(temporary)).code != 0, "it makes a private folder, whatever comes of it"
    assert [path.name for path in parent.iterdir() if path.is_dir()] == [stranger.name], "its mark names another room"


def test_a_room_is_made_and_removed_beside_what_others_have(temporary: Path, tmp_path: Path) -> None:
    with private_folder() as room:
        assert room.parent == temporary / f"goldsmith-{os.getuid()}"
        for folder in (room, room.parent):
            assert folder.stat().st_mode & 0o777 == 0o700
        with private_folder(room) as inner:
            assert inner.parent == room
        assert not inner.exists()
    assert list(temporary.iterdir()) == []
    unlucky(temporary, tmp_path / "elsewhere")
    before = bytes_in(temporary)
    with private_folder() as room:
        assert room.parent.name == f"goldsmith-{os.getuid()}-4"
    assert bytes_in(temporary) == before


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o755])
def test_a_folder_that_others_have_a_right_to_is_not_used(temporary: Path, mode: int) -> None:
    with private_folder() as room:
        room.parent.chmod(mode)
        with private_folder() as other:
            assert other.parent != room.parent
        room.parent.chmod(0o700)
    assert list(temporary.iterdir()) == []


def test_what_others_put_beside_rooms_stays(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("goldsmith.workspace.temporary._SWEEP_AGE_S", 0.0)
    with private_folder() as room:
        theirs = room.parent / "0123456789ab"
        theirs.mkdir(mode=0o700)
        (theirs / "owner.lock").touch()
        (theirs / MARK).write_text((room / MARK).read_text())
        (room.parent / "notes.txt").write_text("mine")
        (room.parent / "ba9876543210").mkdir(mode=0o700)
    sweep_abandoned()
    assert sorted(path.name for path in room.parent.iterdir()) == [MARK, "0123456789ab", "notes.txt"]
    assert sorted(path.name for path in theirs.iterdir()) == [MARK, "owner.lock"]


def test_rooms_are_made_while_others_are_removed(temporary: Path) -> None:
    """The folder for all rooms goes with the last one, and may go just when another is to be made in it."""
    problems: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(40):
                with private_folder() as room:
                    (room / "file").write_text("x")
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert list(temporary.iterdir()) == []


def test_without_a_temporary_folder_there_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere/at/all")
    with pytest.raises(CannotWrite), private_folder():
        pass


@pytest.mark.parametrize("step", range(1, 12))
def test_killed_at_any_step_a_room_is_removed_by_the_next(
    temporary: Path, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("goldsmith.workspace.temporary._SWEEP_AGE_S", 0.0)

    def work() -> None:
        with private_folder() as room:
            (room / "solution.py").write_text("secret")

    killed_at_step(step, work)
    sweep_abandoned()
    assert not list(temporary.rglob("solution.py"))
    assert all(not list(path.iterdir()) for path in temporary.iterdir()), "at most an empty folder without a mark"
