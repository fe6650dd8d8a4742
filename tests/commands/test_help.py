"""`--help`, and the completion of a shell: whole, in any window, and without importing what it does not need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest

from goldsmith.cli.app import app, commands
from goldsmith.cli.command import MAX_HELP_LINES, Command
from goldsmith.help_topics import TOPICS
from support.course import CourseOnDisk, numpy_course

COMMANDS = dict(commands())


def shown(name: str, columns: int) -> str:
    command = COMMANDS[name]
    assert isinstance(command, Command)
    with command.context_class(command, info_name="goldsmith", terminal_width=columns) as context:
        return click.unstyle(command.whole_help(context))


@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_the_window_and_loses_no_word(name: str) -> None:
    command = COMMANDS[name]
    for columns in (50, 80, 120):
        lines = shown(name, columns).splitlines()
        wide = [line for line in lines if len(line) > columns]
        assert [line for line in wide if not line.startswith(("  goldsmith ", "  --"))] == []  # what is typed is whole
        words = " ".join(lines).split()
        assert [word for word in (command.help or "").split() if word not in words] == []
        for item in command.params:
            assert " ".join(str(item.help).split()) in " ".join(words), item.name  # type: ignore[attr-defined]


def test_examples_stand_in_columns_or_one_below_the_other() -> None:
    assert "\n  goldsmith inject            choose from a menu\n  goldsmith inject scratch-1  then" in shown(
        "inject", 80
    )
    assert "\n  goldsmith inject\n      choose from a menu\n  goldsmith inject scratch-1\n" in shown("inject", 50)


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_fits_a_screen_and_says_where_the_rest_is(name: str, tmp_path: Path) -> None:
    course = CourseOnDisk(tmp_path)
    asked = course.run(*name.split(), "--help", COLUMNS="100")
    assert (asked.code, len(asked.out.splitlines()) <= MAX_HELP_LINES) == (0, True)
    if not name:
        assert [item for item in app.list_commands(click.Context(app)) if f"\n  {item} " not in asked.out] == []
    elif name in TOPICS:
        assert "Exit codes:" in asked.out, "`goldsmith help` shows a page of that name, so nothing may be left to it"
    else:
        whole = course.run("help", *name.split(), COLUMNS="100")
        assert (whole.out == asked.out) is (f"`goldsmith help {name}`" not in asked.out)
        options = [item.opts[0] for item in COMMANDS[name].params if isinstance(item, click.Option)]
        assert [option for option in options if option not in whole.out] == []


def test_without_a_command_it_says_what_is_here_and_what_to_do_next(tmp_path: Path) -> None:
    course = numpy_course(tmp_path / "course")
    elsewhere = course.run(cwd=tmp_path)
    assert (elsewhere.code, "no course and no gold in" in elsewhere.out) == (0, True)
    assert "goldsmith init --example my-course  " in elsewhere.out
    missing = course.run().out
    assert "the course in" in missing
    assert "\nhw1          missing   " in missing
    assert "  goldsmith generate hw1  make its gold\n" in missing
    course.with_gold()
    assert "  goldsmith check hw1 PATH  is this implementation right" in course.run().out
    course.run("inject", "hw1")
    assert "  goldsmith reset hw1  take the solution out again\n" in course.run().out


def test_without_a_command_it_sees_recipes_by_themselves_and_kits(tmp_path: Path) -> None:
    course = CourseOnDisk(tmp_path)
    (tmp_path / "cases.py").write_text("import goldsmith as gs\n")
    (tmp_path / "cases.gold").mkdir()
    assert "  goldsmith record cases.py  " in course.run().out
    kit = tmp_path / "kit"
    kit.mkdir()
    for name in ("kit.json", "check.py"):
        (kit / name).write_text("")
    assert "python3 check.py" in course.run(cwd=kit).out


def test_a_name_that_is_nearly_right_is_suggested(tmp_path: Path) -> None:
    course = numpy_course(tmp_path / "course")
    assert "there is no command chek; did you mean check?" in course.run("chek").err
    assert "--output DIR is missing" in course.run("handout", "hw1", "kit").err
    assert "did you mean `goldsmith check hw1`?" in course.run("hw1").err
    assert "did you mean torch?" in course.run("new", "hw2", "--kind", "torhc").err
    assert "did you mean grade?" in course.run("help", "grad").err


def test_a_shell_can_complete_commands_options_and_values(tmp_path: Path) -> None:
    course = CourseOnDisk(tmp_path)

    def completed(line: str) -> str:
        words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
        return course.run(_GOLDSMITH_COMPLETE="bash_complete", **words).out

    assert completed("goldsmith st") == "plain,status\n"
    assert completed("goldsmith skills ins") == "plain,install\n"
    assert completed("goldsmith generate --ki") == "plain,--kind\n"
    assert completed("goldsmith generate --kind che") == "plain,checkpoint\n"
    assert completed("goldsmith check h").strip() == ""
    numpy_course(tmp_path)
    assert completed("goldsmith check h") == "plain,hw1\n"
    for shell in ("bash", "zsh", "fish"):
        assert "_GOLDSMITH_COMPLETE" in course.run("completion", shell).out


@pytest.mark.parametrize("arguments", [[], ["generate"], ["init"]])
def test_help_imports_neither_what_commands_need_nor_other_commands(arguments: list[str]) -> None:
    code = (
        f"import sys; sys.argv = ['goldsmith', *{arguments!r}, '--help']\nfrom goldsmith.cli import run\n"
        "try:\n    run()\nfinally:\n    print(' '.join(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    imported = set(done.stderr.split())
    assert not imported & {
        "torch",
        "numpy",
        "rich",
        "msgspec",
        "asyncio",
        "importlib.metadata",
        "goldsmith.courses.layout",
    }
    assert ("goldsmith.cli.grade" in imported) is (arguments == [])
