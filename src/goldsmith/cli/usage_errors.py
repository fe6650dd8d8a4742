"""Run the application; report a command line that cannot be understood in one sentence, like every other error."""

from __future__ import annotations

import difflib
import re
import sys
from typing import Any

import typer

from goldsmith.cli.app import app
from goldsmith.cli.options import JsonReport
from goldsmith.errors.usage import BadUsage

_UsageError: Any = typer.BadParameter.__bases__[0]
_SAID = {"Input should be ": "must be "}


def run_app() -> int:
    """Run the command line and return its exit code."""
    try:
        code = app(standalone_mode=False, prog_name="goldsmith")
    except typer.Abort:
        raise KeyboardInterrupt from None
    except _UsageError as problem:
        return _refuse(problem)
    return code if isinstance(code, int) else 0


def _refuse(problem: Any) -> int:
    if type(problem).__name__ == "NoArgsIsHelpError":  # the help was shown; there is nothing to add
        problem.show()
        return int(problem.exit_code)
    error = _in_our_words(problem)
    command = error.command.removeprefix("goldsmith").strip()
    if "--json" in sys.argv:
        JsonReport(command, "assignments").print([], ok=False, error=error)
    print(f"goldsmith{f' {command}' if command else ''}: {error}", file=sys.stderr)
    return error.exit_code


def _in_our_words(problem: Any) -> BadUsage:
    group = typer.main.get_command(app) if problem.ctx is None else problem.ctx.command
    known = getattr(group, "commands", {})
    path = problem.ctx.command_path.split()[1:] if problem.ctx is not None else [*known.keys() & {*sys.argv[1:2]}]
    command = " ".join(["goldsmith", *path])
    kind, parameter = type(problem).__name__, getattr(problem, "param", None)
    if kind == "NoSuchOption":
        return BadUsage(command, f"there is no option {problem.option_name}", [*(problem.possibilities or ())][:1])
    if kind == "BadOptionUsage":
        return BadUsage(command, f"{problem.option_name} needs a value")
    if kind == "MissingParameter" and parameter is not None:
        return BadUsage(command, f"{parameter.metavar or str(parameter.name).upper()} is missing")
    unknown = re.match(r"No such command '([^']+)'", problem.message)
    if unknown:
        return BadUsage(command, f"there is no command {unknown[1]}", difflib.get_close_matches(unknown[1], known, n=1))
    more = re.fullmatch(r"Got unexpected extra arguments?(?:\(s\))? \((.+)\)\.?", problem.message)
    if more:
        return BadUsage(command, f"{more[1]} is one argument too many")
    said = re.sub(
        r"^Input should be |^Value error, |, unable to .*|\.$", lambda found: _SAID.get(found[0], ""), problem.message
    )
    if parameter is None:
        return BadUsage(command, f"{said[:1].lower()}{said[1:]}")
    return BadUsage(
        command, f"{parameter.opts[0]}{'' if said.startswith('must') else ':'} {said[:1].lower()}{said[1:]}"
    )
