"""`goldsmith completion`: what makes a shell complete commands, options and assignments."""

from __future__ import annotations

from typing import Literal

import click

from goldsmith.cli.command import argument, command
from goldsmith.cli.options import output_options, report_errors


@command
@argument("shell", "SHELL", "bash, zsh or fish.", type=click.Choice(["bash", "zsh", "fish"]))
@output_options
def completion(shell: Literal["bash", "zsh", "fish"], json: bool, no_color: bool, debug: bool) -> None:
    """Print what makes a shell complete commands, options, assignments and files.

    Examples:

        goldsmith completion bash >> ~/.bashrc
        goldsmith completion zsh >> ~/.zshrc
        goldsmith completion fish > ~/.config/fish/completions/goldsmith.fish
    """
    with report_errors("completion", as_json=json, debug=debug, subjects="shells") as report:
        from click.shell_completion import get_completion_class

        from goldsmith.cli.app import app
        from goldsmith.render.help import ShellCompletion

        found = get_completion_class(shell)
        assert found is not None
        script = found(app, {}, "goldsmith", "_GOLDSMITH_COMPLETE").source()
        if json:
            report.print([ShellCompletion(name=shell, script=script)])
        else:
            click.echo(script)
