"""`--help`, and the completion of a shell: whole, in any window, and without importing what it does not need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest

from goldsmith.cli.app import app, commands
from support.course import CourseOnDisk

COMMANDS = dict(commands())


def shown(name: str, columns: int) -> str:
    command = COMMANDS[name]
    with command.context_class(command, info_name="goldsmith", terminal_width=columns) as context:
        return click.unstyle(command.get_help(context))


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


def test_without_a_command_the_help_is_shown_and_the_exit_code_is_bad_usage(tmp_path: Path) -> None:
    course = CourseOnDisk(tmp_path)
    bare, asked = course.run(), course.run("--help")
    assert (bare.code, asked.code) == (2, 0)
    assert bare.out == asked.out
    assert [f"  {name}" for name in app.list_commands(click.Context(app)) if f"\n  {name} " not in asked.out] == []


def test_a_shell_can_complete_commands_options_and_values(tmp_path: Path) -> None:
    course = CourseOnDisk(tmp_path)

    def completed(line: str) -> str:
        words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
        return course.run(_GOLDSMITH_COMPLETE="bash_complete", **words).out

    assert completed("goldsmith st") == "plain,status\n"
    assert completed("goldsmith skills ins") == "plain,install\n"
    assert completed("goldsmith generate --ki") == "plain,--kind\n"
    assert completed("goldsmith generate --kind che") == "plain,checkpoint\n"
    assert "complete" in course.run(_GOLDSMITH_COMPLETE="bash_source").out


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
