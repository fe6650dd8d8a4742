"""Menus for people: which assignments, and how their gold stands; and that leaving one leaves everything as it was."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from goldsmith.cli.menus.menu import Menu
from goldsmith.cli.menus.rows import Row
from support.course import FILES, CourseOnDisk
from support.injection_course import state
from support.kill import whole_tree
from support.terminal import Terminal

UP, DOWN, END, SPACE, ENTER = "\x1b[A", "\x1b[B", "\x1b[F", " ", "\r"
ESCAPE, CTRL_C, CTRL_D = "\x1b", "\x03", "\x04"
LEFT = 130

TELLS_WHAT_IT_IMPORTED = [
    sys.executable,
    "-c",
    "import sys\nfrom goldsmith.cli import run\n"
    "try:\n    run()\nfinally:\n    print('HEAVY', [n for n in ('torch', 'numpy') if n in sys.modules])",
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    """hw1 fresh, hw2 stale, hw3 without gold."""
    course = CourseOnDisk(tmp_path_factory.mktemp("menus") / "course")
    for name in ("hw1", "hw2", "hw3"):
        course.write({path.replace("hw1", name): text for path, text in FILES.items()})
    course.write({"src/assignments/hw2/README.md": "# Hw2: the second exercise\n"})
    course.with_gold("hw1").with_gold("hw2")
    with (course.root / "private/solutions/hw2/ops_solution.py").open("a") as file:
        file.write("# edited\n")
    return course


@pytest.fixture
def three(made: CourseOnDisk, tmp_path: Path) -> CourseOnDisk:
    shutil.copytree(made.root, tmp_path / "course", symlinks=True)
    return CourseOnDisk(tmp_path / "course")


# --- what it shows


def test_rows_are_aligned_and_say_how_the_gold_stands(made: CourseOnDisk) -> None:
    terminal = Terminal(["generate"], made.root)
    terminal.wait_for("Esc cancels.")
    assert terminal.screen.splitlines() == [
        "Make gold for which assignment?",
        "  [ ] All  all 3 of them",
        "  [ ] Hw1  fresh",
        "> [x] Hw2  stale: ops_solution.py changed  the second exercise",
        "  [x] Hw3  missing: no gold yet",
        "  private/solutions/hw2/ops_solution.py changed since the gold was made",
        "Enter: Hw2, Hw3",
        "Up and Down move, Space ticks, a ticks all, Enter confirms, Esc cancels.",
    ]
    terminal.keys(ESCAPE)
    assert terminal.end() == LEFT
    assert terminal.screen == "goldsmith generate: nothing was chosen, and nothing was done."


def test_enter_does_what_is_ticked(three: CourseOnDisk) -> None:
    fresh = three.gold_bytes("hw1")
    terminal = Terminal(["generate", "--no-calibrate"], three.root)
    terminal.wait_for("Enter: Hw2, Hw3")
    terminal.keys(ENTER)
    assert terminal.end() == 0, terminal.screen
    assert b"Make gold for which assignment? Hw2, Hw3" in terminal.seen
    assert "2 of 2 assignments have verified gold." in terminal.screen
    assert three.gold("hw3").is_dir()
    assert three.gold_bytes("hw1") == fresh


def test_one_several_or_all(made: CourseOnDisk) -> None:
    """`verify` ticks those that have gold; whoever takes all ticks away wants none."""
    terminal = Terminal(["verify"], made.root)
    for keys, chosen in [
        ("", "Hw1, Hw2"),
        (SPACE, "Hw2"),
        ("a", "Hw1, Hw2, Hw3"),
        ("a", "nothing"),
        (UP, "nothing"),
        (SPACE + END + SPACE, "Hw1, Hw2"),
        (UP + SPACE, "Hw1"),
        (SPACE + UP + SPACE, "Hw2"),
    ]:
        terminal.keys(keys)
        terminal.wait_for(f"Enter: {chosen}\n")
    terminal.keys(ENTER)
    assert terminal.end() == 0
    assert terminal.screen.startswith("Verify the gold of which assignment? Hw2\n")
    assert [f"hw{number}: " in terminal.screen for number in (1, 2, 3)] == [False, True, False]


def test_a_choice_of_one_runs_the_command_on_it(made: CourseOnDisk) -> None:
    terminal = Terminal(["check"], made.root)
    terminal.wait_for("> Hw1  fresh")
    terminal.keys(DOWN + DOWN + ENTER)
    assert terminal.end() == 3
    assert "there is no gold for hw3; make it with `goldsmith generate hw3`." in terminal.screen


# --- every command that takes assignments


QUESTIONS = {
    ("generate",): "Make gold for which assignment?",
    ("verify",): "Verify the gold of which assignment?",
    ("diff",): "Compare the gold of which assignment?",
    ("check",): "Check against the gold of which assignment?",
    ("test",): "Test which assignment?",
    ("rigor",): "Measure the gold of which assignment?",
    ("grade", "--refs", "*"): "Grade which assignment?",
    ("inject",): "Inject the solution of which assignment?",
}


HEAVIEST = ("check", "diff", "grade", "rigor", "verify")
"""Commands whose own code needs NumPy; the others are asked the same way."""


@pytest.mark.parametrize(
    "arguments",
    [pytest.param(item, marks=[] if item[0] in HEAVIEST else pytest.mark.long, id=item[0]) for item in QUESTIONS],
)
def test_every_command_asks_quickly_and_can_be_left(made: CourseOnDisk, arguments: tuple[str, ...]) -> None:
    before = whole_tree(made.root)
    terminal = Terminal(arguments, made.root, command=TELLS_WHAT_IT_IMPORTED)
    terminal.wait_for(QUESTIONS[arguments])
    terminal.wait_for("Esc cancels.")
    terminal.keys(ESCAPE)
    assert terminal.end() == LEFT
    assert "nothing was chosen, and nothing was done." in terminal.screen
    assert "HEAVY []" in terminal.screen
    assert whole_tree(made.root) == before


@pytest.mark.parametrize("command", ["generate", "diff", "check", "test", "rigor", "grade", "inject"])
def test_without_a_terminal_one_sentence_names_the_choices(made: CourseOnDisk, command: str) -> None:
    run = made.run(command)
    assert (run.code, run.out) == (2, "")
    which = "an assignment or `all`" if command in ("generate", "test", "rigor") else "an assignment"
    rest = " submissions/" if command == "grade" else ""
    example = f"`goldsmith {command} hw1{rest}`"
    assert run.err == f"goldsmith {command}: name {which}, as in {example}; there are hw1, hw2, hw3.\n"
    asked = made.run(command, "--json")
    assert (asked.code, asked.json["error"]["kind"]) == (2, "nothing-chosen")


@pytest.mark.parametrize("command", ["generate", "verify", "test", "rigor", "check", "inject"])
def test_a_course_without_assignments_says_where_they_go(tmp_path: Path, command: str) -> None:
    course = CourseOnDisk(tmp_path).write({"goldsmith.toml": ""})
    run = course.run(command, *(["all"] if command in ("generate", "test", "rigor") else []))
    assert run.code == 2
    assert "there are no assignments in src/assignments yet; make one with `goldsmith new NAME`." in run.err


def test_json_at_a_terminal_asks_nothing(made: CourseOnDisk) -> None:
    terminal = Terminal(["check", "--json"], made.root)
    assert terminal.end() == 2
    assert '"kind": "nothing-chosen"' in terminal.screen


def test_several_injected_solutions_are_chosen_from(three: CourseOnDisk) -> None:
    for name in ("hw1", "hw2"):
        assert three.run("inject", name).code == 0
    terminal = Terminal(["reset"], three.root)
    terminal.wait_for("Enter: hw1, hw2")
    assert "> [x] hw1  injected       since " in terminal.screen
    terminal.keys(SPACE + ENTER)
    assert terminal.end() == 0
    assert "hw2: 1 file as before the injection" in terminal.screen
    assert state(three) == "injected"


# --- leaving


@pytest.mark.parametrize("key", [CTRL_C, CTRL_D, pytest.param(ESCAPE, marks=pytest.mark.long)])
def test_a_key_that_leaves_gives_the_terminal_back(made: CourseOnDisk, key: str) -> None:
    before = whole_tree(made.root)
    terminal = Terminal(["generate"], made.root)
    typed = terminal.modes_before
    terminal.wait_for("Esc cancels.")
    assert terminal.modes != typed
    terminal.keys(key)
    assert terminal.end() == LEFT
    assert terminal.screen == "goldsmith generate: nothing was chosen, and nothing was done."
    assert terminal.modes_left == typed
    assert whole_tree(made.root) == before


@pytest.mark.parametrize("number", [signal.SIGHUP, pytest.param(signal.SIGTERM, marks=pytest.mark.long)])
def test_a_signal_leaves_too(made: CourseOnDisk, number: signal.Signals) -> None:
    before = whole_tree(made.root)
    terminal = Terminal(["generate"], made.root)
    typed = terminal.modes_before
    terminal.wait_for("Esc cancels.")
    os.kill(terminal.pid, number)
    assert terminal.end() == LEFT
    assert "Traceback" not in terminal.screen
    assert terminal.modes_left == typed
    assert whole_tree(made.root) == before


def test_a_window_that_is_closed_leaves_everything_as_it_was(made: CourseOnDisk) -> None:
    before = whole_tree(made.root)
    terminal = Terminal(["generate"], made.root)
    terminal.wait_for("Esc cancels.")
    assert terminal.close() != 0
    assert whole_tree(made.root) == before


# --- terminals of all kinds


def test_a_dumb_terminal_is_told_in_a_sentence(made: CourseOnDisk) -> None:
    terminal = Terminal(["generate"], made.root, TERM="dumb")
    assert terminal.end() == 2
    assert b"\x1b" not in terminal.seen
    assert "name an assignment or `all`" in terminal.screen


@pytest.mark.parametrize("how", ["option", pytest.param("environment", marks=pytest.mark.long)])
def test_a_menu_without_colours_says_the_same(made: CourseOnDisk, how: str) -> None:
    options, env = ((), {"NO_COLOR": "1"}) if how == "environment" else (("--no-color",), {})
    terminal = Terminal(["generate", *options], made.root, **env)
    terminal.wait_for("> [x] Hw2  stale: ops_solution.py changed")
    terminal.wait_for("Esc cancels.")
    terminal.keys(ESCAPE)
    assert terminal.end() == LEFT
    for colour in range(30, 38):
        assert f";{colour}".encode() not in terminal.seen
        assert f"[{colour}".encode() not in terminal.seen


def test_a_narrow_window_cuts_columns_and_says_the_rest_below(made: CourseOnDisk) -> None:
    terminal = Terminal(["generate"], made.root, columns=40)
    terminal.wait_for("Esc cancels.")
    assert terminal.screen.splitlines() == [
        "Make gold for which assignment?",
        "  [ ] All  all 3 of them",
        "  [ ] Hw1  fresh",
        "> [x] Hw2  stale: ops_solution.py chan…",
        "  [x] Hw3  missing: no gold yet",
        "  private/solutions/hw2/ops_solution.py",
        "  changed since the gold was made",
        "  the second exercise",
        "Enter: Hw2, Hw3",
        "Up and Down move, Space ticks, a ticks",
        "all, Enter confirms, Esc cancels.",
    ]
    terminal.keys(ESCAPE)
    terminal.end()


def test_a_long_list_scrolls(tmp_path: Path) -> None:
    course = CourseOnDisk(tmp_path)
    for number in range(1, 61):
        course.write({f"src/assignments/hw{number}/ops.py": ""})
    terminal = Terminal(["inject"], course.root, lines=12)
    terminal.wait_for("> Hw1 ")
    terminal.wait_for("more below")
    terminal.keys(END)
    terminal.wait_for("> Hw60")
    assert "… 53 more above" in terminal.screen
    terminal.keys(DOWN)
    terminal.wait_for("> Hw1 ")
    terminal.keys(ESCAPE)
    assert terminal.end() == LEFT


def test_a_menu_follows_the_window_while_it_asks(made: CourseOnDisk) -> None:
    terminal = Terminal(["generate"], made.root)
    terminal.wait_for("Esc cancels.")
    wide = terminal.screen
    terminal.resize(38, 12)
    terminal.wait_for("ticks all, Enter confirms, Esc")
    assert all(len(line) <= 38 for line in terminal.screen.splitlines())
    terminal.resize(110, 70)
    terminal.wait_for("a ticks all, Enter confirms, Esc cancels.")
    assert terminal.screen.endswith(wide)
    terminal.keys(SPACE + ESCAPE)
    assert terminal.end() == LEFT


words = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp", "Mn", "Me", "Cf"]), max_size=30)
rows = st.builds(Row, st.integers(), words, words, words, words)


@given(
    st.lists(rows, min_size=1, max_size=30),
    st.integers(1, 150),
    st.integers(2, 50),
    st.booleans(),
    st.lists(st.integers(-3, 5), max_size=9),
)
def test_a_menu_fits_any_window_with_its_pointer_in_sight(
    found: list[Row], columns: int, height: int, several: bool, moves: list[int]
) -> None:
    menu = Menu("Which of these?", found, ticked=() if several else None)
    for by in [0, *moves]:
        menu.move(by)
        lines = ["".join(text for _, text in line) for line in menu.lines(columns, height)]
        assert len(lines) <= height
        assert sum(line.startswith("> ") for line in lines) == 1
        if columns > 40:
            assert max(map(cell_len, lines)) < columns


# --- questions besides


def test_the_kind_of_a_first_recipe_is_asked_for_before_anything_is_done(three: CourseOnDisk) -> None:
    (three.root / "src/assignments/hw3/generate_fixtures.py").unlink()
    before = whole_tree(three.root)
    terminal = Terminal(["generate", "hw1", "hw3"], three.root)
    terminal.wait_for("Esc cancels.")
    assert terminal.screen.splitlines() == [
        "hw3 has no recipe yet. What should the first one record?",
        "> Model outputs        what the model returns for fixed inputs and weights",
        "  Trained checkpoints  weights and losses after training for a while",
        "  Both                 what it returns, and what it learns",
        "Up and Down move, Enter chooses, Esc cancels.",
    ]
    terminal.keys(ESCAPE)
    assert terminal.end() == LEFT
    assert whole_tree(three.root) == before


@pytest.mark.parametrize(
    ("keys", "code"),
    [
        ("y", 0),
        (ENTER, 1),
        (CTRL_C, LEFT),
        *(pytest.param(*item, marks=pytest.mark.long) for item in [(DOWN + ENTER, 0), ("n", 1), (ESCAPE, 1)]),
    ],
)
def test_gold_is_replaced_only_by_a_clear_yes(three: CourseOnDisk, keys: str, code: int) -> None:
    three.write({"private/solutions/hw2/ops_solution.py": "def scale(x):\n    return x * 3.0\n"})
    before = whole_tree(three.root)
    terminal = Terminal(["generate", "hw2", "--no-calibrate"], three.root)
    terminal.wait_for("Esc cancels.")
    difference, _, question = terminal.screen.partition("1 tensor of the gold of hw2 would change. Replace it?")
    assert "of its tolerance" in difference
    assert question.splitlines()[1].startswith("> Keep ")
    terminal.keys(keys)
    assert terminal.end() == code
    assert (whole_tree(three.root) == before) is (code != 0)
