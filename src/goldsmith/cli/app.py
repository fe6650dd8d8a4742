"""The application: commands put together, and what all of them share at their outer edge."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from goldsmith._version import __version__
from goldsmith.cli import (
    check,
    diff,
    doctor,
    generate,
    grade,
    guard,
    help,
    init,
    inject,
    new,
    parity,
    reset,
    rigor,
    skills,
    status,
    test,
    verify,
)


class _PlainFlags:
    """Shows no type beside an option that takes no value."""

    def get_params(self, ctx: Any) -> list[Any]:
        found: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in found:
            if getattr(parameter, "is_flag", False) and parameter.metavar is None:
                parameter.metavar = ""
        return found


class _Command(_PlainFlags, TyperCommand):
    pass


class _Group(_PlainFlags, TyperGroup):
    pass


app = typer.Typer(
    name="goldsmith",
    cls=_Group,
    help="Gold-standard test fixtures from a reference solution: made, verified, documented, starter untouched.",
    epilog="First steps: `goldsmith init` in your course; or `goldsmith init --example my-course`, to try things on.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(cls=_Command, name="init")(init.init)
app.command(cls=_Command, name="new")(new.new)
app.command(cls=_Command, name="generate")(generate.generate)
app.command(cls=_Command, name="status")(status.status)
app.command(cls=_Command, name="verify")(verify.verify)
app.command(cls=_Command, name="diff")(diff.diff)
app.command(cls=_Command, name="check")(check.check)
app.command(cls=_Command, name="parity")(parity.parity)
app.command(cls=_Command, name="test")(test.try_tests)
app.command(cls=_Command, name="rigor")(rigor.rigor)
app.command(cls=_Command, name="grade")(grade.grade)
app.command(cls=_Command, name="inject")(inject.inject)
app.command(cls=_Command, name="reset")(reset.reset)
app.command(cls=_Command, name="guard")(guard.guard)
for command in skills.app.registered_commands:
    command.cls = _Command
app.add_typer(skills.app, name="skills", cls=_Group)
app.command(cls=_Command, name="doctor")(doctor.doctor)
app.command(cls=_Command, name="help")(help.help_)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"goldsmith {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and leave."),
    ] = False,
) -> None:
    pass
