"""`goldsmith generate --review`: every case that would change is accepted or kept by a key, and gold stays whole."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from support.course import FILES, RECIPE_FILE, SOLUTION_FILE, CourseOnDisk, recipe
from support.kill import whole_tree
from support.terminal import Terminal

ESCAPE, CTRL_C, ENTER = "\x1b", "\x03", "\r"
KEPT, INTERRUPTED = 1, 130
CASES = recipe(
    """
    @gs.case
    def small(case):
        case.record("y", scale(case.input("x", lambda: np.random.randn(4, 7))))

    @gs.case
    def large(case):
        case.record("y", scale(case.input("x", lambda: 100 * np.random.randn(3, 5))))

    @gs.case
    def zero(case):
        case.record("y", scale(case.input("x", lambda: np.random.randn(2, 2))) * 0 + np.arange(4).reshape(2, 2))
    """
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    """Gold of three cases, two of which the solution has moved away from."""
    course = CourseOnDisk(tmp_path_factory.mktemp("review") / "course")
    course.write(FILES | {RECIPE_FILE: CASES})
    run = course.run("generate", "hw1", "--yes", "--no-calibrate")
    assert run.code == 0, run.out + run.err
    return course.write({SOLUTION_FILE: "def scale(x):\n    return x * 3.0\n"})


@pytest.fixture
def course(made: CourseOnDisk, tmp_path: Path) -> CourseOnDisk:
    shutil.copytree(made.root, tmp_path / "course", symlinks=True)
    return CourseOnDisk(tmp_path / "course")


def review(course: CourseOnDisk) -> Terminal:
    terminal = Terminal(["generate", "hw1", "--no-calibrate", "--review"], course.root)
    terminal.wait_for("Esc cancels.")
    return terminal


def answer(terminal: Terminal, keys: str) -> None:
    """Type a key for each question, each once it is asked."""
    for number, key in enumerate(keys, 1):
        terminal.wait_for(f"({number} of 2)?\n> Keep ")
        terminal.keys(key)


def test_each_case_is_shown_as_diff_shows_it_and_accepted_by_a_key(course: CourseOnDisk) -> None:
    shown = course.run("diff", "hw1").out.splitlines()
    before = course.gold_bytes("hw1")
    terminal = review(course)
    first = terminal.screen
    assert "Accept the new values of case small (1 of 2)?" in first
    assert shown[1].split() == first.split("of its tolerance")[1].splitlines()[1].split()
    assert "case large" not in first
    answer(terminal, "aa")
    assert terminal.end() == 0, terminal.screen
    assert b"case large (2 of 2)? Accept" in terminal.seen
    after = course.gold_bytes("hw1")
    moved = {name for name in before if name.endswith(".npz") and before[name] != after[name]}
    assert moved == {"small.npz", "large.npz"}
    assert "All gold is fresh." in course.run("status").out
    again = Terminal(["generate", "hw1", "--no-calibrate", "--review"], course.root)
    assert again.end() == 0, again.screen
    assert course.gold_bytes("hw1") == after, "a second run asks nothing and changes nothing"


@pytest.mark.parametrize(
    ("keys", "kept"),
    [("ka", "small was kept"), ("K", "small, large were kept"), ("a" + ENTER, "large was kept")],
)
def test_one_case_that_is_kept_keeps_all_gold(course: CourseOnDisk, keys: str, kept: str) -> None:
    """Gold of two solutions would fail everybody: the solution itself does not agree with it."""
    before = whole_tree(course.root)
    terminal = review(course)
    answer(terminal, keys)
    assert terminal.end() == KEPT
    said = " ".join(terminal.screen.split())
    assert f"nothing was written: of 2 cases that would change, {kept}" in said
    assert "then run `goldsmith generate hw1 --review` again." in said
    assert whole_tree(course.root) == before
    assert f"stale   {SOLUTION_FILE} changed" in course.run("status").out


def test_all_the_rest_is_accepted_at_once(course: CourseOnDisk) -> None:
    terminal = review(course)
    answer(terminal, "A")
    assert terminal.end() == 0, terminal.screen
    assert course.run("diff", "hw1").code == 0


@pytest.mark.parametrize(("key", "code"), [("q", KEPT), (CTRL_C, INTERRUPTED), (ESCAPE, KEPT)])
def test_leaving_it_halfway_changes_nothing(course: CourseOnDisk, key: str, code: int) -> None:
    before = whole_tree(course.root)
    terminal = review(course)
    answer(terminal, "a" + key)
    assert terminal.end() == code
    assert whole_tree(course.root) == before
    assert terminal.modes_left == terminal.modes_before


def test_help_explains_and_asks_again(course: CourseOnDisk) -> None:
    terminal = review(course)
    terminal.keys("?")
    terminal.wait_for("New gold is written once every case is accepted.")
    answer(terminal, "q")
    assert terminal.end() == KEPT


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--review"], "`goldsmith diff`, then accept all of it with --yes instead of --review."),
        (["--review", "--yes"], "--review asks about every case, so --yes does not go with it"),
        (["--review", "--check"], "--review asks about every case, so --check does not go with it"),
    ],
)
def test_without_a_terminal_it_says_what_to_do_instead(course: CourseOnDisk, options: list[str], said: str) -> None:
    before = whole_tree(course.root)
    run = course.run("generate", "hw1", *options, yes=False)
    assert run.code == 2
    assert said in run.err
    assert len(run.err.splitlines()) == 1
    assert whole_tree(course.root) == before


@pytest.mark.parametrize(("keys", "code"), [("n", KEPT), ("y", 0)])
def test_files_that_a_person_edited_are_asked_about_first(course: CourseOnDisk, keys: str, code: int) -> None:
    readme = course.gold("hw1") / "README.md"
    readme.write_text("my own notes\n")
    terminal = Terminal(["generate", "hw1", "--no-calibrate", "--review"], course.root)
    terminal.wait_for("holds edited or foreign files (README.md). Replace them?")
    terminal.keys(keys)
    if code == 0:
        answer(terminal, "A")
    assert terminal.end() == code, terminal.screen
    assert (readme.read_text() == "my own notes\n") is (code != 0)
