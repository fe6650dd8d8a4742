"""`goldsmith help`: the pages that come with goldsmith, and everything about a command, in the terminal."""

from __future__ import annotations

import click

from goldsmith.cli.command import Command, Group, argument, command
from goldsmith.cli.options import output_options, report_errors
from goldsmith.help_topics import TOPICS


@command
@argument("topic", "TOPIC | COMMAND", "The page to show, or the command; omit it for a list.", nargs=-1)
@output_options
def help_(topic: tuple[str, ...], json: bool, no_color: bool, debug: bool) -> None:
    """Show a page about goldsmith, or everything about a command.

    Lists the topics (recipes, adapters, grading and more), or shows one. `goldsmith COMMAND --help` is as much about a
    command as fits a screen.

    Examples:

        goldsmith help                  the topics
        goldsmith help adapters         how to write an adapter
        goldsmith help grade            every option of a command, its examples and exit codes

    Exit codes: 0 shown, 2 there is no such topic.
    """
    with report_errors("help", as_json=json, debug=debug, subjects="topics") as report:
        from goldsmith.cli.app import commands
        from goldsmith.render.console import open_console
        from goldsmith.render.help import HelpTopic, find_topics, show_topics

        wanted = " ".join(topic)
        known = {} if wanted in TOPICS or not wanted else dict(commands())
        if wanted and wanted not in TOPICS and wanted not in known:
            from goldsmith.errors.usage import BadUsage
            from goldsmith.foundation.wording import nearest

            near = nearest(wanted, [*TOPICS, *known], cutoff=0.5)
            raise BadUsage("goldsmith help", f"there is no topic {wanted}", near)
        if wanted in known:
            from goldsmith.cli.command import first_sentence

            text = _everything_about(wanted)
            topics = [HelpTopic(name=wanted, about=first_sentence(known[wanted]), text=click.unstyle(text))]
        else:
            topics = find_topics(wanted)
        if json:
            report.print(topics)
        elif wanted in known:
            click.echo(text, color=False if no_color else None, nl=False)
        else:
            show_topics(open_console(no_color=no_color), topics)


def _everything_about(name: str) -> str:
    from goldsmith.cli.app import app

    found: Command = app
    context = app.context_class(app, info_name="goldsmith", **app.context_settings)
    for word in name.split():
        assert isinstance(found, Group)
        inner = found.get_command(context, word)
        assert isinstance(inner, Command)
        found, context = inner, inner.context_class(inner, parent=context, info_name=word)
    return found.whole_help(context)
