"""What fails because neighbours have used up something that all share is run once more, alone, and is never cached."""

from __future__ import annotations

import os
import subprocess
import tempfile
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from goldsmith.check.shortages import is_shortage
from goldsmith.courses.grade import turns
from goldsmith.courses.grade.submissions import SubmissionRef
from goldsmith.runs.run import Failure
from support import check_course as checking
from support.course import wait_until
from support.hostile_class import Scene, is_safe_here, make_scene

FILLS = """
import os
import time
from pathlib import Path


def fill(wait_s, hold_s):
    time.sleep(wait_s)
    file = Path(os.environ["TMPDIR"], "filled")
    try:
        file.write_bytes(bytes(70 * 2**20))
        time.sleep(hold_s)
    finally:
        file.unlink(missing_ok=True)
"""
TRACE = """
    with (Path(os.environ["HOME"]).parent / "loot.jsonl").open("a") as notes:
        notes.write('{"attack": "%s", "began": ' + str(time.time()) + "}\\n")
"""


@pytest.fixture
def small_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A disk for temporary files that holds what one submission writes, and not what two write."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=110m", "none", str(folder)], capture_output=True)
    if mounted.returncode:
        pytest.skip("only root can mount a small disk")
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def hand_in(scene: Scene, name: str, wait_s: float, hold_s: float) -> SubmissionRef:
    """The right answer, which writes much on its way to it."""
    source = textwrap.dedent(checking.SOLUTION)
    call = f"def centre(x):\n    fill({wait_s}, {hold_s})\n"
    assert "def centre(x):\n" in source
    note = TRACE.replace("%s", name)
    folder = scene.handed_in / name
    folder.mkdir()
    filling = FILLS.replace("    file = Path", f"{note}    file = Path".lstrip("\n"), 1)
    (folder / "ops.py").write_text(filling + source.replace("def centre(x):\n", call))
    return SubmissionRef(name, str(folder))


@pytest.mark.long
@pytest.mark.skipif(os.getuid() != 0, reason="only root can mount a small disk")
@pytest.mark.skipif(not is_safe_here(), reason="takes Landlock and seccomp")
def test_who_finds_the_disk_full_because_of_a_neighbour_is_graded_alone(small_disk: Path, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", None)
        patch.delenv("TMPDIR")
        scene = make_scene(tmp_path)
    try:
        items = {"hog": hand_in(scene, "hog", 0, 5), "ada": hand_in(scene, "ada", 1.5, 0)}
        found = scene.grade(items, "graded", case_timeout=30.0, jobs=2)
    finally:
        scene.close()
    assert {name: (made.outcome, made.score) for name, made in found.grades.items()} == {
        "hog": ("agrees", 6.0),
        "ada": ("agrees", 6.0),
    }
    assert len(found.told("ada")) > len(found.told("hog")), "it was run once more"


@pytest.mark.parametrize(
    ("kind", "message", "log", "wanting"),
    [
        ("raised", "RuntimeError: can't start new thread", "", True),
        ("raised", "BlockingIOError: [Errno 11] Resource temporarily unavailable", "", True),
        ("raised", "OSError: [Errno 28] No space left on device", "", True),
        ("raised", "OSError: [Errno 12] Cannot allocate memory", "", True),
        ("exit", "ended its process early, with exit code 1", "libgomp: Thread creation failed: …", True),
        ("killed", "was killed by SIGKILL", "", True),
        ("killed", "was killed by SIGKILL, for it had more than 64 processes", "", False),
        ("memory", "MemoryError: Unable to allocate 9 GiB", "", False),
        ("timeout", "took longer than 3 s", "No space left on device", False),
        ("timeout", "took longer than 63 s on the wall clock", "", True),
        ("raised", "ValueError: no", "", False),
    ],
)
def test_a_shortage_is_told_by_what_the_system_says(kind: str, message: str, log: str, wanting: bool) -> None:
    assert is_shortage(Failure(kind=kind, message=message), log) is wanting  # type: ignore[arg-type]


def test_who_wants_to_be_alone_waits_for_all_others_and_they_for_it(tmp_path: Path) -> None:
    there: list[str] = []
    seen: list[list[str]] = []
    waiting: set[str] = set()
    guests_leave, single_leaves = threading.Event(), threading.Event()

    def stay(name: str, turn: object, until: Callable[[], object]) -> None:
        with turn(tmp_path, lambda: waiting.add(name)):  # type: ignore[operator]
            there.append(name)
            seen.append([*there])
            until()
            there.remove(name)

    guests = [threading.Thread(target=stay, args=(name, turns.beside_others, guests_leave.wait)) for name in "ab"]
    single = threading.Thread(target=stay, args=("alone", turns.alone, single_leaves.wait))
    late = threading.Thread(target=stay, args=("late", turns.beside_others, lambda: None))
    for guest in guests:
        guest.start()
    wait_until(lambda: len(there) == 2)
    single.start()
    wait_until(lambda: "alone" in waiting)
    late.start()
    wait_until(lambda: "late" in waiting)
    guests_leave.set()
    wait_until(lambda: there == ["alone"])
    waiting.clear()
    wait_until(lambda: "late" in waiting)
    single_leaves.set()
    for thread in (*guests, single, late):
        thread.join()
    assert sorted(seen[1]) == ["a", "b"]
    assert seen[2:] == [["alone"], ["late"]]


def test_nobody_waits_where_files_cannot_be_locked(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with turns.alone(tmp_path / "file", lambda: None), turns.beside_others(tmp_path / "file", lambda: None):
        pass


def test_an_interrupted_run_does_not_wait_for_its_turn(tmp_path: Path) -> None:
    class Stop(Exception):
        pass

    def stop() -> None:
        raise Stop

    with turns.beside_others(tmp_path, stop), pytest.raises(Stop), turns.alone(tmp_path, stop):
        raise AssertionError("it is not alone")
    with turns.alone(tmp_path, stop):
        pass
