"""What people see: on a terminal, in a log, without colours, and while a recipe runs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.course import RECIPE_FILE, SOLUTION_FILE, CourseOnDisk, recipe
from support.terminal import Terminal

HEAVY = """
    import time
    from pathlib import Path

    def wait_for(name):
        while not Path(FOLDER, name).exists():
            time.sleep(0.02)

    @gs.case
    def first_one(case):
        wait_for("first seen")
        case.record("y", np.arange(3.0))

    @gs.case
    def second_one(case):
        print("progress of my own")
        wait_for("second seen")
        case.record("y", np.arange(3.0))
"""


def test_a_terminal_gets_a_box_marks_and_the_important_line_last(course: CourseOnDisk) -> None:
    terminal = Terminal(["generate", "hw1"], course.root)
    assert terminal.end() == 0
    lines = terminal.screen.splitlines()
    assert lines[0] == "╔" + "═" * 62 + "╗"
    assert lines[1][0] == lines[1][-1] == "║"
    assert "Gold published: Hw1" in lines[1]
    assert len(lines[1]) == len(lines[0]) == len(lines[2])
    text = terminal.screen
    assert "✅ gold_output.npz" in text.replace("✅  ", "✅ ")
    assert text.count("✅") == 3 + 12 + 1
    for words in ("No NaN values", "Seed recorded", "Reset to starter:", "Next steps:", "Measure the gold"):
        assert words in text
    assert lines[-1].startswith("hw1: gold published, all 12 checks passed,")
    assert b"\x1b[" in terminal.seen


def test_a_refusal_is_shown_with_its_reason_last(course: CourseOnDisk) -> None:
    course.write({RECIPE_FILE: recipe("@gs.case\ndef a(case):\n    case.record('y', np.array([1.0, np.nan]))\n")})
    terminal = Terminal(["generate", "hw1"], course.root)
    assert terminal.end() == 3
    assert "Gold refused: Hw1" in terminal.screen
    assert "❌" in terminal.screen
    assert "hw1: gold refused: case a: output.y has 1 NaN of 2, first at index [1]" in terminal.screen


STARTER_FILE = "src/assignments/hw1/ops.py"
BAD = "case.record('y', np.array([1.0, np.nan]))"
GOOD = "case.record('y', np.arange(3.0) + case.input('x', lambda: np.random.randn(3)))"


def test_only_files_of_refused_cases_have_failed_and_the_key_that_accepts_them_is_named(course: CourseOnDisk) -> None:
    course.write({RECIPE_FILE: recipe(f"@gs.case\ndef a(case):\n    {BAD}\n\n@gs.case\ndef b(case):\n    {GOOD}\n")})
    run = course.run("generate", "hw1")
    assert re.search(r"^  FAILED a\.npz", run.out, re.M)
    assert re.search(r"^  ok     b\.npz", run.out, re.M)
    assert run.last_line.endswith(
        'fix it, or accept it by name: allow={"nan": "why"} in @gs.case of case a, or on that value alone.'
    )
    item = course.run("generate", "hw1", "--json").json["assignments"][0]
    assert {file["path"].rpartition("/")[2]: file["ok"] for file in item["files"]} == {"a.npz": False, "b.npz": True}
    (failed,) = [check for check in item["checks"] if check["outcome"] == "failed"]
    assert (failed["cases"], failed["accepted_by"]) == (["a"], ["nan"])


def test_what_a_refusal_names_is_what_accepts_it(course: CourseOnDisk) -> None:
    course.write({RECIPE_FILE: recipe(f"@gs.case(allow={{'nan': 'why'}})\ndef a(case):\n    {BAD}\n")})
    assert course.run("generate", "hw1").code == 0
    changed = (course.root / SOLUTION_FILE).read_text() + "\n\ndef provided(x):\n    return x\n"
    starter = (course.root / STARTER_FILE).read_text() + "\n\ndef provided(x):\n    return x + 1\n"
    course.write({SOLUTION_FILE: changed, STARTER_FILE: starter})
    refused = course.run("generate", "hw1").last_line
    match = re.search(r"accept it by name: (.+) below \[(.+)\] in goldsmith.toml", refused)
    assert match, refused
    course.write({"goldsmith.toml": f"[{match[2]}]\n{match[1]}\n"})
    assert course.run("generate", "hw1").code == 0


@pytest.mark.parametrize("how", ["environment", "option"])
def test_colours_can_be_switched_off(course: CourseOnDisk, how: str) -> None:
    options, env = ((), {"NO_COLOR": "1"}) if how == "environment" else (("--no-color",), {})
    terminal = Terminal(["generate", "hw1", *options], course.root, **env)
    assert terminal.end() == 0
    for colour in (b"\x1b[31m", b"\x1b[32m", b"\x1b[36m", b"\x1b[1;32m"):
        assert colour not in terminal.seen


def test_progress_names_step_case_and_seconds_while_a_recipe_runs(course: CourseOnDisk, tmp_path: Path) -> None:
    course.write({RECIPE_FILE: recipe(HEAVY.replace("FOLDER", repr(str(tmp_path))))})
    terminal = Terminal(["generate", "hw1", "-v", "--no-calibrate"], course.root)
    terminal.wait_for("5/9 generate  case 1 of 2: first_one")
    (tmp_path / "first seen").touch()
    terminal.wait_for("5/9 generate  case 2 of 2: second_one")
    terminal.wait_for("| progress of my own")
    (tmp_path / "second seen").touch()
    assert terminal.end() == 0
    assert "5/9" not in terminal.screen, "the live line must be gone at the end"


def test_a_log_gets_plain_text_without_escapes_or_marks(course: CourseOnDisk) -> None:
    run = course.run("generate", "hw1")
    assert run.out.isascii()
    assert "\x1b" not in run.out + run.err
    assert run.out.startswith("Gold published: Hw1\n")
    assert "  ok     No NaN values" in run.out
    assert "hw1: 5/9 generate" in run.err


def test_long_paths_are_not_wrapped_in_a_log(course: CourseOnDisk) -> None:
    course.write({RECIPE_FILE: recipe(f"@gs.case\ndef {'a' * 90}(case):\n    case.record('y', np.arange(3.0))\n")})
    assert f"{'a' * 90}.npz" in course.run("generate", "hw1", COLUMNS="40").out


def test_status_imports_nothing_that_takes_long(course: CourseOnDisk) -> None:
    code = (
        "import sys; sys.argv = ['goldsmith', 'status']\nfrom goldsmith.cli import run\n"
        "try:\n    run()\nfinally:\n    print(' '.join(sys.modules), file=sys.stderr)"
    )
    course.with_gold()
    done = subprocess.run([sys.executable, "-c", code], cwd=course.root, capture_output=True, text=True, check=True)
    imported = set(done.stderr.split())
    assert "goldsmith.render.status" in imported
    assert not imported & {"torch", "numpy", "tarfile", "difflib", "importlib.metadata", "goldsmith.process.messages"}


def test_status_says_missing_fresh_and_stale_with_the_reason(course: CourseOnDisk) -> None:
    assert "missing" in course.run("status").out
    course.with_gold()
    assert "All gold is fresh." in course.run("status").out
    with (course.root / "private/solutions/hw1/ops_solution.py").open("a") as file:
        file.write("# edited\n")
    text = course.run("status").out
    assert "private/solutions/hw1/ops_solution.py changed since the gold was made" in text
    assert text.rstrip().splitlines()[-1] == "Next: goldsmith generate hw1"
    (course.root / "src/assignments/hw1/README.md").write_text("# Prose\n")
    course.run("generate", "hw1")
    (course.root / "src/assignments/hw1/README.md").write_text("# Reworded\n")
    assert course.run("status", "--json").json["assignments"] == [
        {
            "name": "hw1",
            "outcome": "fresh",
            "reasons": [],
            "notes": [],
            "label": "Hw1",
            "description": "Reworded",
            "recipe": "src/assignments/hw1/generate_fixtures.py",
            "folder": "tests/internal/fixtures/hw1",
        }
    ]


def test_errors_are_one_sentence_and_a_traceback_only_with_debug(course: CourseOnDisk) -> None:
    run = course.run("generate", "nothing")
    assert len(run.err.splitlines()) == 1
    assert "Traceback" in course.run("generate", "nothing", "--debug").err


@pytest.mark.parametrize(
    ("heading", "shown"),
    [
        ("# Hw1: a straight line", "a straight line"),
        ("text\n\n## HW1 – a straight line", "a straight line"),
        ("# A straight line", "A straight line"),
        ("# Hw10: another", "Hw10: another"),
        ("no heading", ""),
    ],
)
def test_an_assignment_is_described_by_its_readme_s_heading(course: CourseOnDisk, heading: str, shown: str) -> None:
    course.write({"src/assignments/hw1/README.md": f"{heading}\n"})
    assert course.run("status", "--json").json["assignments"][0]["description"] == shown
