"""Run the application; report a command line that cannot be understood in one sentence, like every other error."""

from __future__ import annotations

import re
import sys
from itertools import pairwise
from pathlib import Path

import click

from goldsmith.cli.app import app
from goldsmith.cli.options import JsonReport
from goldsmith.errors.usage import BadUsage
from goldsmith.foundation.log_injection import say
from goldsmith.foundation.wording import nearest


def run_app() -> int:
    """Run the command line and return its exit code."""
    try:
        code = app(standalone_mode=False, prog_name="goldsmith")
    except click.Abort:
        raise KeyboardInterrupt from None
    except click.UsageError as problem:
        return _refuse(problem)
    return code if isinstance(code, int) else 0


def _refuse(problem: click.UsageError) -> int:
    if isinstance(problem, click.exceptions.NoArgsIsHelpError):
        click.echo(problem.message, color=app.context_settings["color"])  # the help; there is nothing to add
        return problem.exit_code
    error = _in_our_words(problem)
    command = error.command.removeprefix("goldsmith").strip()
    given = sys.argv[1:]
    if "--json" in given or "--format=json" in given or ("--format", "json") in pairwise(given):
        JsonReport(command, "assignments").print([], ok=False, error=error)
    say(f"goldsmith{f' {command}' if command else ''}: {error}", stderr=True)
    return error.exit_code


def _in_our_words(problem: click.UsageError) -> BadUsage:
    context = problem.ctx or click.Context(app, info_name="goldsmith")
    command = context.command_path
    parameter = getattr(problem, "param", None)
    if isinstance(problem, click.NoSuchOption):
        return BadUsage(command, f"there is no option {problem.option_name}", [*(problem.possibilities or ())][:1])
    if isinstance(problem, click.BadOptionUsage):
        needs = "takes no value" if "not take a value" in problem.message else "needs a value"
        return BadUsage(command, f"{problem.option_name} {needs}")
    if isinstance(problem, click.MissingParameter) and parameter is not None:
        option = f"{parameter.opts[0]} " if isinstance(parameter, click.Option) else ""
        return BadUsage(command, f"{option}{parameter.metavar or str(parameter.name).upper()} is missing")
    unknown = re.match(r"No such command '([^']+)'", problem.message)
    if unknown and isinstance(context.command, click.Group):
        known = context.command.list_commands(context)
        near = nearest(unknown[1], known) or _as_assignment(unknown[1])
        return BadUsage(command, f"there is no command {unknown[1]}", near)
    more = re.fullmatch(r"Got unexpected extra arguments? \((.+)\)\.?", problem.message)
    if more:
        return BadUsage(command, f"{more[1]} is one argument too many")
    said = _limit_in_words(problem.message.rstrip("."), parameter)
    if parameter is None:
        return BadUsage(command, f"{said[:1].lower()}{said[1:]}")
    problem_words = f"{parameter.opts[0]}{'' if said.startswith('must') else ':'} {said[:1].lower()}{said[1:]}"
    given = re.match(r"'(.*)' is not one of", said)
    choices = [str(item) for item in parameter.type.choices] if isinstance(parameter.type, click.Choice) else []
    return BadUsage(command, problem_words, nearest(given[1], choices) if given else ())


def _as_assignment(given: str) -> list[str]:
    """Return what can be done with an assignment of this name, if the course here has one."""
    from goldsmith.courses.layout.layout import find_course
    from goldsmith.errors.base import GoldsmithError

    try:
        names = [item.name for item in find_course(Path()).assignments()]
    except (GoldsmithError, OSError):
        return []
    return [f"`goldsmith check {name}`" for name in nearest(given, names)]


def _limit_in_words(message: str, parameter: click.Parameter | None) -> str:
    """Say what a number must be, rather than what it is not."""
    if re.search(r"is not a valid (integer|float)( range)?$", message):
        return f"must be a valid {'integer' if 'integer' in message else 'number'}"
    outside = re.match(r"(\S+) is not in the range ", message)
    kind = parameter and parameter.type
    if not outside or not isinstance(kind, click.IntRange | click.FloatRange):
        return message
    if kind.max is not None and float(outside[1]) > kind.max:
        return f"must be less than or equal to {kind.max}"
    return f"must be greater than or equal to {kind.min}"
