"""The solution in place and back: whatever happens in between, nothing is lost and nothing stays."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from goldsmith.courses.injection.inject import recover
from goldsmith.courses.layout.journal import needs_recovery
from goldsmith.courses.layout.layout import find_course
from goldsmith.errors.injection import EditedMeanwhile
from support.course import CourseOnDisk
from support.injection_course import SOLUTION, STARTER, assert_clean, do_inject, do_reset, state
from support.kill import Tree, killed_after, killed_at_step, random_moments, telling_steps, whole_tree

# --- the plain way


def test_every_file_is_placed_and_every_byte_mode_link_and_time_comes_back(rich: CourseOnDisk) -> None:
    before = whole_tree(rich.root)
    run = rich.run("inject", "hw1")
    assert run.code == 0, run.err
    for line in (
        f"over     {STARTER}/ops.py  from {SOLUTION}/ops_solution.py",
        f"added    {STARTER}/parts/deep/more.py",
        f"removed  {STARTER}/gone.py",
        f"Backed up, since not committed: {STARTER}/ops.py",
    ):
        assert line in run.out
    folder = rich.root / STARTER
    assert (folder / "linked.py").read_text() == "LINKED = 'secret'\n"
    assert not (folder / "linked.py").is_symlink()
    assert (rich.root / "src/shared/real.py").read_text() == "SHARED = 1\n", "nothing is written through a link"
    assert (folder / "tool.py").read_text() == ""
    assert (folder / "data table.csv").exists()
    assert not (folder / "gone.py").exists()
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__/ops.cpython-311.pyc").write_bytes(b"compiled solution")
    run = rich.run("reset", "hw1")
    assert run.last_line == "hw1: 7 files as before the injection, byte for byte (checked)."
    assert_clean(rich, before)
    assert rich.run("reset").last_line == "Nothing is injected."
    assert rich.run("reset", "hw1").last_line == "hw1 is not injected; nothing to do."


def test_injecting_twice_does_nothing_and_says_so(rich: CourseOnDisk) -> None:
    assert rich.run("inject", "hw1").code == 0
    before = whole_tree(rich.root)
    run = rich.run("inject", "hw1")
    assert run.code == 0
    assert "hw1 is injected already, since" in run.out
    assert whole_tree(rich.root) == before


def test_while_injected_status_says_so_and_no_gold_is_made(rich: CourseOnDisk) -> None:
    assert rich.run("inject", "hw1").code == 0
    (item,) = rich.run("status", "--json").json["assignments"]
    assert item["outcome"] == "injected"
    assert "since" in item["reasons"][0]
    assert "Next: goldsmith reset hw1" in rich.run("status").out
    run = rich.run("generate", "hw1")
    assert run.code == 3
    assert "take it out with `goldsmith reset hw1` first" in run.last_line
    assert rich.run("generate", "hw1", "--check").code == 3


def test_journal_and_backups_are_private_and_ignored(rich: CourseOnDisk) -> None:
    assert rich.run("inject", "hw1").code == 0
    folder = rich.root / ".goldsmith/injected/hw1"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert ".goldsmith" not in rich.git("status", "--porcelain", "--untracked-files=all")


def test_only_the_named_assignments_own_files_are_used(rich: CourseOnDisk) -> None:
    rich.write({"src/assignments/hw2/ops2.py": "", "private/solutions/hw2/ops2_solution.py": "SECOND = 1\n"})
    before = whole_tree(rich.root / "src/assignments/hw1")
    assert rich.run("inject", "hw2").code == 0
    assert whole_tree(rich.root / "src/assignments/hw1") == before
    assert rich.run("inject", "hw1").code == 0
    assert rich.run("reset", "hw2").code == 0
    assert (rich.root / "src/assignments/hw2/ops2.py").read_text() == ""
    assert state(rich) == "injected"


# --- killed


@pytest.mark.parametrize("action", [do_inject, do_reset], ids=["inject", "reset"])
def test_killed_at_every_step_nothing_is_lost_and_nothing_stays(
    rich: CourseOnDisk, action: Callable[[CourseOnDisk], None], no_sync: None
) -> None:
    before = whole_tree(rich.root)
    do_inject(rich)
    injected = whole_tree(rich.root)
    if action is do_inject:
        do_reset(rich)
    *steps, after_the_last = telling_steps(rich.root, lambda: action(rich))
    if action is do_inject:
        do_reset(rich)
    assert len(steps) > 20
    for step in (*steps, after_the_last):
        if action is do_reset:
            do_inject(rich)
        assert killed_at_step(step, lambda: action(rich)) == (step == after_the_last)
        recovered(rich, before, injected)


def recovered(course: CourseOnDisk, before: Tree, injected: Tree) -> None:
    """After a kill, any command puts things in order: whole before, or whole after, which a reset takes back."""
    found = find_course(course.root)
    recover(found)
    assert not needs_recovery(found)
    if state(course) is None:
        assert_clean(course, before)
    else:
        assert whole_tree(course.root).keys() == injected.keys()
        do_reset(course)
        assert_clean(course, before)


def test_killed_at_random_moments_nothing_is_lost(rich: CourseOnDisk, no_sync: None) -> None:
    before = whole_tree(rich.root)
    do_inject(rich)
    injected = whole_tree(rich.root)
    do_reset(rich)
    for moment in random_moments(6, lambda: do_inject(rich), seed=1):
        killed_after(moment, lambda: do_inject(rich))
        recovered(rich, before, injected)
        do_inject(rich)
        killed_after(moment, lambda: do_reset(rich))
        recovered(rich, before, injected)


@pytest.mark.parametrize("command", [("status",), ("verify",), ("generate", "hw1"), ("inject", "hw1"), ("reset",)])
def test_any_command_repairs_what_a_kill_left(rich: CourseOnDisk, command: tuple[str, ...]) -> None:
    before = whole_tree(rich.root)
    step = 60
    while killed_at_step(step, lambda: do_inject(rich)) or state(rich) != "injecting":
        do_reset(rich)
        step -= 2
    assert whole_tree(rich.root) != before, "it was killed half-way"
    run = rich.run(*command)
    if command != ("reset",):
        assert "an interrupted inject was undone: hw1 is as it was before" in run.err
    rich.run("reset")
    shutil.rmtree(rich.root / "tests/internal", ignore_errors=True)
    assert {key: value for key, value in whole_tree(rich.root).items() if not key.startswith("tests")} == before


def test_work_done_after_a_kill_is_not_lost_either(rich: CourseOnDisk) -> None:
    step = 60
    while killed_at_step(step, lambda: do_inject(rich)) or state(rich) != "injecting":
        do_reset(rich)
        step -= 2
    journal = json.loads((rich.root / ".goldsmith/injected/hw1/journal.json").read_text())
    place = next(
        change["path"]
        for number, change in enumerate(journal["changes"])
        if change["after"] and not (rich.root / ".goldsmith/injected/hw1/incoming" / str(number)).exists()
    )
    (rich.root / place).write_text("written on top of a half-injected solution\n")
    with pytest.raises(EditedMeanwhile):
        recover(find_course(rich.root))
    run = rich.run("status")
    assert run.code == 1
    assert "goldsmith reset hw1` with --keep" in run.err
    assert (rich.root / place).read_text() == "written on top of a half-injected solution\n"
    assert rich.run("reset", "hw1", "--save", "saved").code == 0
    assert (rich.root / "saved" / place).read_text() == "written on top of a half-injected solution\n"


# --- errors half-way


def test_a_full_disk_half_way_leaves_everything_as_it_was(rich: CourseOnDisk) -> None:
    rich.write({f"{SOLUTION}/zz_large.bin": "x" * 300_000})
    before = whole_tree(rich.root)
    run = rich.run("inject", "hw1", prefix=["prlimit", "--fsize=200000"])
    assert run.code == 3
    assert "hw1 was not injected" in run.err
    assert "everything is as it was before" in run.err
    assert_clean(rich, before)


@pytest.mark.skipif(os.getuid() != 0, reason="needs another user to be refused things")
def test_a_folder_that_must_not_be_written_leaves_everything_as_it_was(rich: CourseOnDisk) -> None:
    subprocess.run(["chown", "-R", "nobody", rich.root], check=True)
    for folder in (rich.root, *rich.root.parents):
        if folder.stat().st_uid == 0 and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o011)
    locked = rich.root / STARTER / "parts"
    locked.mkdir()
    locked.chmod(0o555)
    subprocess.run(["chown", "nobody", locked], check=True)
    before = whole_tree(rich.root)
    run = rich.run("inject", "hw1", prefix=["setpriv", "--reuid=nobody", "--clear-groups"])
    assert run.code == 3, run.out + run.err
    assert "Permission denied" in run.err
    assert whole_tree(rich.root) == before


def test_a_folder_where_a_file_must_go_is_refused(rich: CourseOnDisk) -> None:
    (rich.root / STARTER / "data table.csv").mkdir()
    before = whole_tree(rich.root)
    run = rich.run("inject", "hw1")
    assert run.code == 3
    assert "data table.csv (it is a folder" in run.err
    assert_clean(rich, before)


# --- any sequence


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=10)
@given(actions=st.lists(st.tuples(st.sampled_from(["inject", "reset"]), st.integers(1, 90)), max_size=6))
def test_any_sequence_of_killed_injections_and_resets_ends_as_it_began(
    rich: CourseOnDisk, no_sync: None, actions: list[tuple[str, int]]
) -> None:
    before = whole_tree(rich.root)
    for name, step in actions:
        killed_at_step(step, lambda name=name: (do_inject if name == "inject" else do_reset)(rich))
        recover(find_course(rich.root))
    do_reset(rich)
    assert_clean(rich, before)
