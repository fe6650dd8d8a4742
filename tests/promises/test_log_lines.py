"""Whatever strangers have written is printed as text: no CI system obeys it, no terminal does, it is no markup."""

from __future__ import annotations

import ast
import io
import json
import re
from pathlib import Path

import pytest
from rich.console import Group
from rich.table import Table
from rich.text import Text

from goldsmith.courses.grade.redaction import one_line
from goldsmith.foundation.log_injection import BLANK_LETTERS, printable, say, say_json
from goldsmith.render.console import print_line, text_console
from goldsmith.runs.notes import is_name
from goldsmith.sandbox.packages import PACKAGE
from support.check_course import checked_course, hand_in
from support.course import RECIPE_FILE, SOLUTION_FILE, CourseOnDisk, Run

HOSTILE = "::error::x ##[error]y \x1b[2Jz\x9b31m ##vso[task.x]\u202e\u3164\u200f [/] [red]w :smile: \x08"
OBEYED = re.compile(
    r"^\s*::\S|##\[|##vso\[|##teamcity\[|[\x00-\x08\x0b-\x1f\x7f-\x9f\u200f\u2028\u2029\u202a-\u202e\u3164]", re.M
)
PLACES_TO_PRINT = {
    "render/console.py", "foundation/log_injection.py",
    "courses/handout/kit_check.py", "sandbox/private_network.py",  # without goldsmith; to the process that asked
}  # fmt: skip


def test_nothing_is_printed_but_by_the_one_printer() -> None:
    """Else the next printer forgets to escape, as six of seven had."""
    found = []
    for path in PACKAGE.rglob("*.py"):
        name = path.relative_to(PACKAGE).as_posix()
        if name.startswith(("worker/", "runs/live/")):  # what a child prints is read, and printed by its parent
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if called in ("print", "Console", "sys.stdout.write", "sys.stderr.write", "traceback.print_exc"):
                found.append(f"{name}:{node.lineno}: {called}")  # type: ignore[attr-defined]
    assert [place for place in found if place.partition(":")[0] not in PLACES_TO_PRINT] == []


@pytest.mark.parametrize("width", [20, 80, 10_000])
def test_a_console_escapes_however_a_line_is_laid_out(width: int) -> None:
    text = io.StringIO()
    console = text_console(text, width)
    console.print(HOSTILE)
    console.print(f"a line before\n  {HOSTILE}")
    console.print(Text.assemble("  ", (":", "red"), (":error::", "bold"), "x ", "#", "#[group]"))
    print_line(console, Text("  ", "dim"), HOSTILE)
    print_line(console, HOSTILE, keep=True)
    table = Table(HOSTILE, "b")
    table.add_row(HOSTILE, HOSTILE)
    table.add_row("x", HOSTILE * 3)
    console.print(Group(table, Text(HOSTILE)))
    assert OBEYED.search(text.getvalue()) is None
    assert "\\::error::x" in text.getvalue()
    assert "\\x1b[2Jz" in text.getvalue() or width == 20
    assert "[red]w :smile:" in text.getvalue() or width == 20


def test_plain_lines_are_escaped_and_json_keeps_its_values(capsys: pytest.CaptureFixture[str]) -> None:
    say(f"{HOSTILE}\n{HOSTILE}")
    assert OBEYED.search(capsys.readouterr().out) is None
    say_json(json.dumps({"name": HOSTILE, "a ::b": "##[c]"}, ensure_ascii=False, indent=2))
    told = capsys.readouterr().out
    assert OBEYED.search(told) is None
    assert json.loads(told) == {"name": HOSTILE, "a ::b": "##[c]"}


@pytest.mark.parametrize("blank", sorted(BLANK_LETTERS))
def test_letters_that_show_nothing_make_no_sentence_of_a_name(blank: str) -> None:
    name = f"all{blank}points"
    assert not is_name(name)
    assert one_line(name) == f"all\\u{ord(blank):04x}points" == printable(name)


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    return checked_course(tmp_path_factory.mktemp("lines") / "course")


def harmless(run: Run) -> str:
    told = run.out + run.err
    found = OBEYED.search(told)
    assert found is None, told[max(0, found.start() - 200) : found.end() + 100]
    return told


NAME = "::error::x ##[error]y \x1b[2Jz"


def test_no_command_prints_a_stranger_s_words_so_that_they_are_obeyed(course: CourseOnDisk, tmp_path: Path) -> None:
    raises = f"raise ValueError({HOSTILE!r})"
    work = hand_in(course, ("return x * factor", raises), name="work")
    folder = tmp_path / "class"
    for name in (NAME, "ada"):
        (folder / name).mkdir(parents=True)
        (folder / name / "ops.py").write_bytes((Path(work) / "ops.py").read_bytes())
    out = str(tmp_path / "out")
    told = [
        harmless(course.run(*arguments))
        for arguments in (
            ("check", "hw1", str(work)),
            ("check", "hw1", str(work), "--json"),
            ("check", "hw1", str(work), "--markdown"),
            ("check", "hw1", str(tmp_path / NAME)),
            ("check", NAME, str(work)),
            ("grade", "hw1", str(folder), "--output", out),
            ("grade", "hw1", str(folder), "--output", out, "--json"),
            ("grade", "hw1", str(folder / NAME), "--output", out, "--format", "autolab"),
            ("status", NAME),
            (NAME,),
        )
    ]
    assert all("error::x" in item for item in told if "agree" not in item)


@pytest.mark.long
def test_words_of_recipes_solutions_and_files_are_not_obeyed(course: CourseOnDisk) -> None:
    solution = (course.root / SOLUTION_FILE).read_text(encoding="utf-8")
    recipe = (course.root / RECIPE_FILE).read_text(encoding="utf-8")
    leaked = course.root / "src/assignments/hw1" / f"{NAME.replace('/', '')}.py"
    leaked.write_text(solution)
    try:
        told = harmless(course.run("guard"))
        assert "error::x" in told
        harmless(course.run("guard", "--json"))
        course.write({RECIPE_FILE: f"print({HOSTILE!r})\nraise ValueError({HOSTILE!r})\n{recipe}"})
        for arguments in (("generate", "hw1", "--verbose"), ("verify", "hw1"), ("status",), ("diff", "hw1")):
            harmless(course.run(*arguments))
        course.write({"src/assignments/hw1/ops.py": f"def scale(x):\n    raise ValueError({HOSTILE!r})\n"})
        course.write({"tests/internal/test_hw1.py": f"print({HOSTILE!r})\nassert False, {HOSTILE!r}\n"})
        for arguments in (
            ("test", "hw1"),
            ("inject", "hw1"),
            ("reset", "hw1"),
            ("rigor", "hw1"),
            ("init", "--dry-run"),
        ):
            harmless(course.run(*arguments))
    finally:
        leaked.unlink()
