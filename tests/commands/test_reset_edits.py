"""What people do while a solution is in place: edited, moved, lost; nothing is thrown away silently."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from goldsmith.courses.injection.inject import recover
from goldsmith.courses.layout.journal import read_journal
from goldsmith.courses.layout.layout import find_course
from support.course import CourseOnDisk
from support.injection_course import SOLUTION, STARTER, assert_clean, do_inject, do_reset, state
from support.kill import killed_at_step, telling_steps, whole_tree
from support.terminal import Terminal

ENTER = "\r"


# --- edits made meanwhile


@pytest.fixture
def edited(rich: CourseOnDisk) -> CourseOnDisk:
    assert rich.run("inject", "hw1").code == 0
    (rich.root / STARTER / "ops.py").write_text("def scale(x):\n    return 'better'\n")
    return rich


def test_edits_are_never_thrown_away_silently(edited: CourseOnDisk) -> None:
    before = whole_tree(edited.root)
    run = edited.run("reset", "hw1")
    assert run.code == 1
    assert f"{STARTER}/ops.py was edited since the solution was injected" in run.err
    for option in ("--keep", "--save DIR", "--discard"):
        assert option in run.err
    assert whole_tree(edited.root) == before
    run = edited.run("reset", "hw1", "--json")
    assert (run.code, run.json["error"]["kind"]) == (1, "edited-meanwhile")
    assert edited.run("reset", "hw1", "--keep", "--discard").code == 2


def test_edits_can_become_the_solution(edited: CourseOnDisk) -> None:
    run = edited.run("reset", "hw1", "--keep")
    assert run.code == 0, run.err
    assert (edited.root / SOLUTION / "ops_solution.py").read_text() == "def scale(x):\n    return 'better'\n"
    assert "my uncommitted work" in (edited.root / STARTER / "ops.py").read_text()


def test_edits_do_not_replace_a_solution_that_changed_too(edited: CourseOnDisk) -> None:
    (edited.root / SOLUTION / "ops_solution.py").write_text("changed elsewhere\n")
    before = whole_tree(edited.root)
    run = edited.run("reset", "hw1", "--keep")
    assert run.code == 1
    assert "ops_solution.py was changed, too" in run.err
    assert whole_tree(edited.root) == before


def test_edits_can_be_saved_apart_and_overwrite_nothing(edited: CourseOnDisk, tmp_path: Path) -> None:
    goal = tmp_path / "my edits"
    (goal / STARTER).mkdir(parents=True)
    (goal / STARTER / "ops.py").write_text("precious")
    run = edited.run("reset", "hw1", "--save", str(goal))
    assert run.code == 1
    assert (goal / STARTER / "ops.py").read_text() == "precious"
    shutil.rmtree(goal)
    assert edited.run("reset", "hw1", "--save", str(goal)).code == 0
    assert "better" in (goal / STARTER / "ops.py").read_text()
    assert state(edited) is None


def test_edits_can_be_given_up(edited: CourseOnDisk) -> None:
    assert edited.run("reset", "--discard").code == 0
    assert "better" not in (edited.root / STARTER / "ops.py").read_text()


@pytest.mark.parametrize(("keys", "code", "left"), [("k", 0, None), (ENTER, 1, "injected"), ("\x1b", 130, "injected")])
def test_a_person_sees_the_difference_and_chooses(edited: CourseOnDisk, keys: str, code: int, left: str | None) -> None:
    terminal = Terminal(["reset", "hw1"], edited.root)
    terminal.wait_for("What should happen to the edits?")
    assert "+    return 'better'" in terminal.screen
    assert "> Leave" in terminal.screen
    terminal.keys(keys)
    assert terminal.end() == code
    assert state(edited) == left


# --- what people do meanwhile


def test_work_on_what_a_killed_reset_had_put_back_is_not_taken_for_the_solution(
    rich: CourseOnDisk, no_sync: None
) -> None:
    solution = (rich.root / SOLUTION / "ops_solution.py").read_bytes()
    do_inject(rich)
    edited = set()
    for step in telling_steps(rich.root, lambda: do_reset(rich))[::2]:  # `test_inject.py` kills it at every one
        do_inject(rich)
        killed_at_step(step, lambda: do_reset(rich))
        folder = rich.root / ".goldsmith/injected/hw1"
        back = [path for path in ("ops.py", "tool.py") if state(rich) == "resetting" and is_back(rich, path)]
        edited.update(back)
        for name in back:
            (rich.root / STARTER / name).write_text(f"new work on {name}\n")
        recover(find_course(rich.root))
        if state(rich):
            do_reset(rich)
        assert not folder.exists()
        for name in back:
            assert (rich.root / STARTER / name).read_text() == f"new work on {name}\n"
        assert (rich.root / SOLUTION / "ops_solution.py").read_bytes() == solution
        rich.git("checkout", "--quiet", "--", STARTER)
    assert edited == {"ops.py", "tool.py"}


def is_back(course: CourseOnDisk, name: str) -> bool:
    journal = read_journal(find_course(course.root), "hw1")
    (number,) = [at for at, change in enumerate(journal.changes) if change.path.endswith(f"/{name}")]
    return not (course.root / ".goldsmith/injected/hw1/before" / str(number)).exists()


def test_a_file_of_two_assignments_is_not_injected_twice(rich: CourseOnDisk) -> None:
    rich.write({"src/assignments/hw2/own.py": "", f"{SOLUTION}/lib/u.py": "ONE = 1\n"})
    rich.write({"private/solutions/hw2/lib/u.py": "TWO = 2\n", "src/shared/u.py": "STARTER = 0\n"})
    for name in ("hw1", "hw2"):
        (rich.root / "src/assignments" / name / "lib").symlink_to("../../shared")
    before = whole_tree(rich.root)
    assert rich.run("inject", "hw1").code == 0
    run = rich.run("inject", "hw2")
    assert run.code == 3
    assert "it belongs to hw1, too, which is in place" in run.err
    assert rich.run("reset").code == 0
    assert_clean(rich, before)


def test_a_solution_that_was_moved_away_is_not_left_behind(rich: CourseOnDisk) -> None:
    assert rich.run("inject", "hw1").code == 0
    (rich.root / STARTER / "linked.py").rename(rich.root / STARTER / "model.py")
    run = rich.run("reset", "hw1")
    assert run.code == 1
    assert f"the injected solution is now at {STARTER}/model.py" in run.err
    (rich.root / STARTER / "model.py").rename(rich.root / STARTER / "linked.py")
    (rich.root / STARTER).rename(rich.root / "src/assignments/lab1")
    assert "its solution is in place since" in rich.run("status").out
    assert rich.run("reset", "hw1").code == 1
    (rich.root / "src/assignments/lab1").rename(rich.root / STARTER)
    assert rich.run("reset", "hw1").code == 0


def test_a_file_in_the_way_of_a_folder_wedges_nothing(rich: CourseOnDisk) -> None:
    rich.write({f"{STARTER}/data": "a file\n", f"{SOLUTION}/data/d.txt": "x\n"})
    before = whole_tree(rich.root)
    run = rich.run("inject", "hw1")
    assert run.code == 3
    assert "a file is where its folder must be" in run.err
    assert_clean(rich, before)
    rich.write({"goldsmith.toml": '[assignment.hw1]\nremoves = ["nowhere.py"]\n'})
    shutil.rmtree(rich.root / SOLUTION / "data")
    assert "`removes` names it, but it is not there" in rich.run("inject", "hw1").err


def test_a_lost_journal_is_no_all_clear(rich: CourseOnDisk) -> None:
    assert rich.run("inject", "hw1").code == 0
    (rich.root / ".goldsmith/injected/hw1/journal.json").unlink()
    run = rich.run("reset", "hw1")
    assert run.code == 3
    assert "each with a .path file that says where it belongs" in run.err
    kept = rich.root / ".goldsmith/injected/hw1/before"
    places = {path.read_text().strip() for path in kept.glob("*.path")}
    assert f"{STARTER}/ops.py" in places


def test_edits_are_kept_all_or_none(edited: CourseOnDisk) -> None:
    (edited.root / STARTER / "tool.py").write_text("edited too\n")
    (edited.root / SOLUTION / "tool_solution.py").write_text("changed elsewhere\n")
    before = whole_tree(edited.root)
    assert edited.run("reset", "hw1", "--keep").code == 1
    assert whole_tree(edited.root) == before
    run = edited.run("reset", "hw1", "--save", "/dev/null/x")
    assert run.code == 1
    assert "goldsmith itself failed" not in run.err


def test_a_link_in_the_place_of_an_injected_file_can_be_given_up(rich: CourseOnDisk) -> None:
    before = whole_tree(rich.root)
    assert rich.run("inject", "hw1").code == 0
    target = rich.root / STARTER / "ops.py"
    target.unlink()
    target.symlink_to("/etc/hostname")
    assert rich.run("reset", "hw1").code == 1
    assert rich.run("reset", "hw1", "--discard").code == 0
    assert_clean(rich, before)


def test_a_solution_that_stands_there_already_is_not_taken_for_the_starter(course: CourseOnDisk) -> None:
    shutil.copy(course.root / SOLUTION / "ops_solution.py", course.root / STARTER / "ops.py")
    before = whole_tree(course.root)
    run = course.run("inject", "hw1")
    assert run.code == 3
    assert "it is the solution already; restore the starter from git first" in run.err
    assert_clean(course, before)
