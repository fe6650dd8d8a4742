"""Nothing is deleted, overwritten or ended that goldsmith has not made, whatever it is called and however old it is."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from courses import RECIPE_FILE, SOLUTION_FILE, CourseOnDisk, recipe
from goldsmith.course import find_course
from goldsmith.durable import PARTIAL, partial_of, write_durably
from goldsmith.errors import CannotWrite
from goldsmith.gold import Staging
from goldsmith.grading.folder import Folder
from goldsmith.ownership import MARK, is_marked
from goldsmith.recording.groups import Leader, end_group
from goldsmith.recording.warm import _Forked
from goldsmith.rigor.keeping import Keeper
from goldsmith.scaffolding.changes import Change, apply
from goldsmith.workspace import course_lock, make_room, recover, sweep_abandoned
from injecting import assert_clean, do_inject, do_reset
from killing import killed_at_step, whole_tree

REPOSITORY = Path(__file__).parents[1]
LONG_AGO = 1_000_000_000
TEST_FILE = "tests/internal/test_hw1.py"
TEST = """
    import sys
    import pytest

    sys.path.insert(0, "src/assignments/hw1")
    import ops

    pytestmark = pytest.mark.rigor

    def test_values():
        assert ops.scale(1.0) == 3.0
"""


def age(folder: Path) -> None:
    """Make everything in a folder, and the folder, look as if nobody had touched it for decades."""
    for path in (*sorted(folder.rglob("*"), reverse=True), folder):
        os.utime(path, (LONG_AGO, LONG_AGO), follow_symlinks=False)


def bytes_in(folder: Path) -> dict[str, bytes | str]:
    """Every path below a folder: a file by its bytes, a link by where it leads."""
    found: dict[str, bytes | str] = {}
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        found[name] = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else "folder"
    return found


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
    deadline = time.monotonic() + 30
    while not list(temporary.glob("goldsmith-*/*/run-2/scratch/job.json")):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.kill()
    process.communicate()
    time.sleep(1.0)  # its children notice a moment later
    (parent,) = temporary.iterdir()
    assert any("return x * 2.0 + 1.0" in path.read_text() for path in parent.rglob("ops.py"))
    rooms = [path for path in parent.iterdir() if path.is_dir()]
    stranger = parent / "0123456789ab"
    shutil.copytree(rooms[0], stranger, symlinks=True)
    age(parent)
    assert course.run("diff", "hw1", TMPDIR=str(temporary)).code != 0, "it makes a private folder, whatever comes of it"
    assert [path.name for path in parent.iterdir() if path.is_dir()] == [stranger.name], "its mark names another room"


def test_a_room_is_made_and_removed_beside_what_others_have(temporary: Path, tmp_path: Path) -> None:
    with make_room() as room:
        assert room.parent == temporary / f"goldsmith-{os.getuid()}"
        for folder in (room, room.parent):
            assert folder.stat().st_mode & 0o777 == 0o700
        with make_room(room) as inner:
            assert inner.parent == room
        assert not inner.exists()
    assert list(temporary.iterdir()) == []
    unlucky(temporary, tmp_path / "elsewhere")
    before = bytes_in(temporary)
    with make_room() as room:
        assert room.parent.name == f"goldsmith-{os.getuid()}-4"
    assert bytes_in(temporary) == before


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o755])
def test_a_folder_that_others_have_a_right_to_is_not_used(temporary: Path, mode: int) -> None:
    with make_room() as room:
        room.parent.chmod(mode)
        with make_room() as other:
            assert other.parent != room.parent
        room.parent.chmod(0o700)
    assert list(temporary.iterdir()) == []


def test_what_others_put_beside_rooms_stays(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("goldsmith.workspace.temporary._SWEEP_AGE_S", 0.0)
    with make_room() as room:
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
                with make_room() as room:
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
    with pytest.raises(CannotWrite), make_room():
        pass


@pytest.mark.parametrize("step", range(1, 12))
def test_killed_at_any_step_a_room_is_removed_by_the_next(
    temporary: Path, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("goldsmith.workspace.temporary._SWEEP_AGE_S", 0.0)

    def work() -> None:
        with make_room() as room:
            (room / "solution.py").write_text("secret")

    killed_at_step(step, work)
    sweep_abandoned()
    assert not list(temporary.rglob("solution.py"))
    assert all(not list(path.iterdir()) for path in temporary.iterdir()), "at most an empty folder without a mark"


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
    with course_lock(find_course(course.root), "test", wait=False, on_wait=print):
        pass
    assert (state / "holder.json").read_text() == content


def test_a_link_in_the_place_of_an_announcement_is_not_written_through(course: CourseOnDisk, tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    (course.root / ".goldsmith").mkdir()
    (course.root / ".goldsmith/holder.json").symlink_to(tmp_path / "precious")
    with course_lock(find_course(course.root), "test", wait=False, on_wait=print):
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
    Keeper(tmp_path, "", {}).tidy()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*names, "folder", f"{'2' * 40}.json"])


# --- files for people -------------------------------------------------------------------------------------------


def test_a_file_that_stands_where_a_report_goes_gets_another_name(course: CourseOnDisk) -> None:
    course.write({TEST_FILE: TEST, "tests/internal/reports/hw1.txt": "mine", "tests/internal/reports/hw1.xml": "mine"})
    run = course.run("test", "hw1")
    assert run.code == 0, run.out
    assert "tests/internal/reports/hw1.txt.yours is a file that stood where the report goes" in run.out
    assert course.run("test", "hw1").code == 0
    reports = course.root / "tests/internal/reports"
    assert sorted(path.name for path in reports.iterdir() if path.name.endswith(".yours")) == [
        "hw1.txt.yours",
        "hw1.xml.yours",
    ]
    assert all((reports / f"hw1.{kind}.yours").read_text() == "mine" for kind in ("txt", "xml"))


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


# --- processes --------------------------------------------------------------------------------------------------

SLEEPER = [sys.executable, "-c", "import time; time.sleep(60)"]


@pytest.fixture
def stranger() -> Iterator[subprocess.Popen[bytes]]:
    """A process that leads a session of its own, as children of goldsmith do."""
    process = subprocess.Popen(SLEEPER, start_new_session=True)
    yield process
    process.kill()
    process.wait()


def test_a_number_stays_taken_until_its_group_is_ended(tmp_path: Path) -> None:
    """What a child leaves running is ended although the child itself has ended long ago, and nobody else can be."""
    script = f"({' '.join(map(repr, SLEEPER))}) & echo $! > {tmp_path / 'number'}; exit 3"
    process = Leader(subprocess.Popen(["bash", "-c", script], start_new_session=True))
    assert process.wait(10) == 3
    assert Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    left = Path(f"/proc/{(tmp_path / 'number').read_text().strip()}/stat")
    end_group(process)
    assert process.returncode == 3
    deadline = time.monotonic() + 10
    while left.exists() and left.read_text().rpartition(")")[2].split()[0] != "Z":
        assert time.monotonic() < deadline
    assert not Path(f"/proc/{process.pid}").exists()


def test_once_a_number_is_free_nothing_is_sent_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    process = Leader(subprocess.Popen(["true"], start_new_session=True))
    end_group(process)
    monkeypatch.setattr(os, "killpg", lambda *_: pytest.fail("whoever has the number now is a stranger"))
    process.signal_group(signal.SIGKILL)


def test_a_process_that_got_the_number_of_a_child_is_left_alone(
    stranger: subprocess.Popen[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = subprocess.Popen(["true"])
    server.wait()
    child = _Forked(stranger.pid, tmp_path / "ended", server)
    monkeypatch.setattr(child, "_began", "1")  # ours began at another time
    child.signal_group(signal.SIGKILL)
    time.sleep(0.1)
    assert stranger.poll() is None
    monkeypatch.undo()
    child.signal_group(signal.SIGKILL)
    assert stranger.wait(10) == -signal.SIGKILL


# --- make -------------------------------------------------------------------------------------------------------


@pytest.fixture
def checkout(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """The Makefile in a git repository with a `goldsmith` that only makes folders."""
    folder = tmp_path / "checkout"
    (folder / ".venv/bin").mkdir(parents=True)
    for name in ("Makefile", ".gitignore"):
        shutil.copy(REPOSITORY / name, folder)
    for name in ("pyproject.toml", "constraints.txt", ".venv/bin/.ready"):
        (folder / name).touch()
    tool = folder / ".venv/bin/goldsmith"
    tool.write_text('#!/bin/sh\n[ "$1" = init ] && mkdir -p "$3" && echo made > "$3/course"\nexit 0\n')
    tool.chmod(0o755)
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)

    def make(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["make", *arguments], cwd=folder, capture_output=True, text=True)

    return make


def test_make_demo_refuses_a_folder_that_it_did_not_make(
    checkout: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    thesis = tmp_path / "my thesis"
    thesis.mkdir()
    (thesis / "chapter.tex").write_text("years of work")
    refused = checkout("demo", f"DEMO={thesis}")
    assert refused.returncode != 0
    assert "make demo did not make it" in refused.stderr
    assert bytes_in(thesis) == {"chapter.tex": b"years of work"}
    for _ in range(2):
        assert checkout("demo").returncode == 0
        (tmp_path / "checkout/build/demo-course/mine.py").write_text("tried out in the demo")
    assert (tmp_path / "checkout/build/demo-course/mine.py").exists()


def test_make_clean_removes_only_what_git_ignores(
    checkout: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    folder = tmp_path / "checkout"
    gone = ["build/site/index.html", "dist/a.whl", "src/__pycache__/a.cpython-311.pyc", ".mypy_cache/a"]
    kept = ["notes/thesis.md", "build/my-clone/work.py", "src/a.py"]
    for name in (*gone, *kept):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")
    subprocess.run(["git", "init", "--quiet", str(folder / "build/my-clone")], check=True)
    done = checkout("clean")
    assert done.returncode == 0, done.stderr
    assert [name for name in gone if (folder / name).exists()] == []
    assert [name for name in kept if not (folder / name).exists()] == []


def test_a_mark_says_what_it_is_about(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / MARK).mkdir()
    (tmp_path / "link").symlink_to("real")
    assert not is_marked(tmp_path / "real", "anything")
    assert not is_marked(tmp_path / "link", "anything")
    assert not is_marked(tmp_path / "nowhere", "anything")
    assert partial_of(tmp_path / ("n" * 255)).name.startswith("."), "also beside a file whose name is as long as can be"
