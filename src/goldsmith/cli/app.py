"""The application: commands put together, and what all of them share at their outer edge."""

from __future__ import annotations

from typing import Annotated

import typer

from goldsmith._version import __version__
from goldsmith.cli import (
    check,
    diff,
    doctor,
    generate,
    grade,
    guard,
    init,
    inject,
    new,
    reset,
    rigor,
    skills,
    status,
    test,
    verify,
)

app = typer.Typer(
    name="goldsmith",
    help="Gold-standard test fixtures from a reference solution: made, verified, documented, starter untouched.",
    epilog="First steps: `goldsmith init` in your course; or `goldsmith init --example my-course`, to try things on.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("init")(init.init)
app.command("new")(new.new)
app.command("generate")(generate.generate)
app.command("status")(status.status)
app.command("verify")(verify.verify)
app.command("diff")(diff.diff)
app.command("check")(check.check)
app.command("test")(test.try_tests)
app.command("rigor")(rigor.rigor)
app.command("grade")(grade.grade)
app.command("inject")(inject.inject)
app.command("reset")(reset.reset)
app.command("guard")(guard.guard)
app.add_typer(skills.app, name="skills")
app.command("doctor")(doctor.doctor)


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
