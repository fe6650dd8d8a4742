"""The application: commands by name, each imported when it is asked for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING

import click

from goldsmith._version import __version__
from goldsmith.cli.command import Group
from goldsmith.frameworks.framework import entry_points_of

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_FUNCTIONS = {
    "init": "init",
    "new": "new",
    "generate": "generate",
    "record": "record",
    "calibrate": "calibrate",
    "status": "status",
    "verify": "verify",
    "diff": "diff",
    "check": "check",
    "parity": "parity",
    "test": "try_tests",
    "rigor": "rigor",
    "grade": "grade",
    "pack": "pack",
    "inject": "inject",
    "reset": "reset",
    "handout": "handout",
    "guard": "guard",
    "skills": "skills",
    "doctor": "doctor",
    "completion": "completion",
    "help": "help_",
}
"""Every command of goldsmith's own, in the order of the help, with the function in the module of that name."""
_GROUP = "goldsmith.commands"
"""The entry points by which other distributions bring commands: a name, and a click command."""
_WITHOUT_COLOUR = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") in ("dumb", "unknown")


class _Application(Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*_FUNCTIONS, *sorted(entry_points_of(_GROUP).keys() - _FUNCTIONS.keys())]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _FUNCTIONS:
            entry = entry_points_of(_GROUP).get(cmd_name)
            return _loaded(entry) if entry else None
        found: click.Command = getattr(import_module(f"goldsmith.cli.{cmd_name}"), _FUNCTIONS[cmd_name])
        return found


def _loaded(entry: EntryPoint) -> click.Command:
    """Import a command of another distribution; one that cannot be imported says so, and breaks no other."""
    try:
        found: click.Command = entry.load()
    except Exception as error:
        problem = f"{entry.value} cannot be imported: {type(error).__name__}: {error}"

        @click.command(entry.name, help=problem)
        def broken() -> None:
            raise click.ClickException(problem)

        return broken
    return found


@click.group(
    "goldsmith",
    cls=_Application,
    invoke_without_command=True,
    epilog="First steps: `goldsmith init` in your course, or `goldsmith init --example my-course`.",
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
        "show_default": True,
        "color": False if _WITHOUT_COLOUR else None,
    },
)
@click.version_option(__version__, message="goldsmith %(version)s", help="Print the version and exit.")
@click.pass_context
def app(ctx: click.Context) -> None:
    """Make, verify and document gold-standard test fixtures from a reference solution; the starter is untouched."""
    if ctx.invoked_subcommand is None:
        from goldsmith.cli.overview import show_overview

        show_overview()


def commands(group: click.Group = app, above: str = "") -> Iterator[tuple[str, click.Command]]:
    """Yield every command by its full name, such as `skills install`, those of groups included."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, f"{above}{name} ")
        elif command is not None:
            yield f"{above}{name}", command
