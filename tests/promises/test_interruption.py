"""Ctrl-C, kill and power cuts: the starter never changes, gold is the whole old or the whole new one."""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from goldsmith.gold.publish import Staging
from goldsmith.workspace.temporary import sweep_abandoned
from support.course import RECIPE_FILE, CourseOnDisk, names_no_process, numpy_course, recipe, wait_until

SLOW = """
    import os, time
    @gs.case
    def slow(case):
        time.sleep(float(os.environ.get("PAUSE", "0.3")))
        case.record("y", np.arange(5.0) * FACTOR)
"""
ROUNDS = [2, pytest.param(8, marks=pytest.mark.long)]
"""How often a run is cut off; `make soak` does it for longer."""


def slow_recipe(factor: int) -> str:
    return recipe(SLOW.replace("FACTOR", str(factor)))


@pytest.fixture
def temporary(tmp_path: Path) -> Path:
    folder = tmp_path / "tmp"
    folder.mkdir()
    return folder


def whole_golds(course: CourseOnDisk) -> list[dict[str, bytes]]:
    """The two golds that may stand there, the second published."""
    golds = []
    for factor in (2, 1):
        shutil.rmtree(course.gold(), ignore_errors=True)
        golds.append(course.write({RECIPE_FILE: slow_recipe(factor)}).with_gold().gold_bytes())
    course.write({RECIPE_FILE: slow_recipe(2)})
    return golds


def moments(rounds: int, first: float, last: float) -> list[float]:
    """Seconds between the two, by chance, but one in each of as many equal parts."""
    chance, width = random.Random(rounds), (last - first) / rounds
    return [first + width * (number + chance.random()) for number in range(rounds)]


@pytest.mark.parametrize("rounds", ROUNDS)
# In small, SIGTERM is in test_an_interruption_while_children_are_watched_waits_until_nothing_is_half_done.
@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.long)])
def test_an_interruption_at_any_moment_leaves_no_trace(
    course: CourseOnDisk, temporary: Path, number: signal.Signals, rounds: int
) -> None:
    golds = whole_golds(course)
    before = course.snapshot()
    codes = set()
    for index, moment in enumerate(moments(rounds, 0.25, 1.1)):
        pause = "60" if index % 2 else "0.3"  # a run that waits is interrupted, however busy the machine is
        process = course.start("generate", "hw1", TMPDIR=str(temporary), PAUSE=pause)
        if index % 2:
            wait_until(lambda: list(temporary.iterdir()))
        time.sleep(moment)
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
        had_begun = process.returncode != -number and "init_import_site" not in errors
        codes.add(process.returncode if had_begun else -number)
        assert course.snapshot() == before
        assert course.gold_bytes() in golds
        assert sorted(path.name for path in course.gold().parent.iterdir()) == ["hw1"]
        assert list(temporary.iterdir()) == []
        assert "Traceback" not in errors or not had_begun
    assert codes <= {0, 130, -number}, "only before goldsmith has begun may the interpreter itself end"
    assert 130 in codes


@pytest.mark.parametrize("rounds", ROUNDS)
def test_kill_9_at_any_moment_loses_nothing(course: CourseOnDisk, temporary: Path, rounds: int) -> None:
    golds = whole_golds(course)
    before = course.snapshot()
    for moment in moments(rounds, 0.2, 1.1):
        process = course.start("generate", "hw1", TMPDIR=str(temporary))
        time.sleep(moment)
        process.kill()
        process.communicate()
        assert course.snapshot() == before
        assert course.gold_bytes() in golds
    assert course.run("generate", "hw1").code == 0
    assert course.gold_bytes() == golds[0]
    assert sorted(path.name for path in course.gold().parent.iterdir()) == ["hw1"]


def test_a_recipe_ends_with_the_command_that_started_it(course: CourseOnDisk, tmp_path: Path) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    mark = tmp_path / "alive"
    body = f"""
        import time, pathlib
        while True:
            pathlib.Path({str(mark)!r}).write_text("x")
            time.sleep(0.1)
        """
    course.write({RECIPE_FILE: recipe(body)})
    process = course.start("generate", "hw1", TMPDIR=str(temporary))
    wait_until(mark.exists)
    assert not names_no_process(str(temporary)), "its job lies there, and is on its command line"
    process.kill()
    process.communicate()
    wait_until(lambda: names_no_process(str(temporary)))
    mark.unlink()
    time.sleep(0.2)
    assert not mark.exists()


def test_workspaces_of_a_killed_run_are_swept(
    course: CourseOnDisk, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    course.write({RECIPE_FILE: recipe("import time\ntime.sleep(60)\n")})
    process = course.start("generate", "hw1", TMPDIR=str(temporary))
    wait_until(lambda: [*temporary.glob("goldsmith-*/*/run-2/scratch/job.json")])
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setattr("goldsmith.workspace.temporary._SWEEP_AGE_S", 0.0)
    sweep_abandoned()
    assert list(temporary.iterdir()), "a living run's workspace must stay"
    process.kill()
    process.communicate()
    wait_until(lambda: sweep_abandoned() or not list(temporary.iterdir()))  # its children may still be writing


# --- publication -----------------------------------------------------------------------------------------------


def test_a_swap_that_broke_off_between_its_two_renames_is_repaired(tmp_path: Path) -> None:
    """Where the file system cannot exchange two folders, the old gold is aside for a moment."""
    gold = tmp_path / "hw1"
    gold.mkdir()
    (gold / "a.pt").write_text("old")
    broken = Staging(gold)
    broken.open()
    gold.rename(broken.folder.parent / "old")
    staging = Staging(gold)
    staging.open()
    staging.discard()
    assert (gold / "a.pt").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["hw1"]


@pytest.mark.parametrize("exchange", [True, False])
def test_the_new_gold_replaces_the_old_whole(tmp_path: Path, exchange: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not exchange:
        monkeypatch.setattr("goldsmith.gold.publish._exchange", lambda one, other: False)
    gold = tmp_path / "hw1"
    gold.mkdir()
    (gold / "gone.pt").write_text("old")
    (gold / "notes.txt").write_text("mine")
    staging = Staging(gold)
    staging.open()
    staging.write("new.pt", b"new")
    assert staging.carry_over({"gone.pt"}) == ["notes.txt"]
    staging.publish()
    assert {path.name: path.read_text() for path in gold.iterdir()} == {"new.pt": "new", "notes.txt": "mine"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["hw1"]


def test_files_of_others_stay_and_cases_that_are_gone_go(course: CourseOnDisk) -> None:
    two = """
        @gs.case
        def a(case):
            case.record("y", np.arange(3.0))

        @gs.case
        def b(case):
            case.record("y", np.arange(2.0))
        """
    course.write({RECIPE_FILE: recipe(two)})
    assert course.run("generate", "hw1").code == 0
    (course.gold() / "legacy.pt").write_text("by hand")
    course.write({RECIPE_FILE: recipe(two.replace("def b(", "def c("))})
    run = course.run("generate", "hw1")
    assert "kept in the gold folder, not made by goldsmith: legacy.pt" in run.out
    assert sorted(course.gold_bytes()) == ["README.md", "a.npz", "c.npz", "legacy.pt", "manifest.json"]
    assert course.run("generate", "hw1", "--force").last_line.startswith("hw1: not a byte changed")


def test_a_gold_folder_behind_a_link_stays_behind_it(course: CourseOnDisk, tmp_path: Path) -> None:
    real = tmp_path / "big disk"
    real.mkdir()
    course.gold().parent.mkdir(parents=True)
    course.gold().symlink_to(real)
    assert course.run("generate", "hw1").code == 0
    assert course.gold().is_symlink()
    assert (real / "manifest.json").is_file()


def test_an_interrupted_class_of_assignments_reports_what_was_finished(tmp_path: Path) -> None:
    course = numpy_course(tmp_path / "course")
    shutil.copytree(course.root / "src/assignments/hw1", course.root / "src/assignments/hw2")
    shutil.copytree(course.root / "private/solutions/hw1", course.root / "private/solutions/hw2")
    begun = tmp_path / "begun"
    slow = recipe(f"import time, pathlib\npathlib.Path({str(begun)!r}).touch()\ntime.sleep(60)\n")
    course.write({RECIPE_FILE.replace("hw1", "hw2"): slow})
    process = course.start("generate", "all", "--json")
    wait_until(begun.exists, seconds=60)
    assert (course.gold() / "manifest.json").exists()
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    report = json.loads(out)
    assert [(item["name"], item["outcome"]) for item in report["assignments"]] == [("hw1", "published")]
    assert (report["ok"], report["error"]["kind"]) == (False, "interrupted")
    wait_until(lambda: names_no_process(str(course.root)))


# --- signals ---------------------------------------------------------------------------------------------------

WATCHED = """
import os, signal, subprocess, sys
from goldsmith.foundation.signals import install_handlers, pause, uninterrupted

install_handlers()
with uninterrupted():
    child = subprocess.Popen(["sleep", "60"])
    try:
        child._waitpid_lock.acquire()
        os.kill(os.getpid(), signal.SIGTERM)  # the moment in which subprocess holds its lock
        child._waitpid_lock.release()
        pause(0.01)
        print("went on")
    finally:
        child.kill()
        child.wait()
        print("stopped the child")
"""


def test_an_interruption_while_children_are_watched_waits_until_nothing_is_half_done() -> None:
    """By SIGTERM, which is handled as Ctrl-C is."""
    run = subprocess.run([sys.executable, "-c", WATCHED], capture_output=True, text=True, timeout=60)
    assert run.stdout == "stopped the child\n"
    assert run.stderr.endswith("KeyboardInterrupt\n")
