"""`goldsmith help`: the pages that come with goldsmith, in the terminal."""

from __future__ import annotations

from goldsmith.cli.command import argument, command
from goldsmith.cli.options import output_options, report_errors
from goldsmith.help_topics import TOPICS


@command
@argument("topic", "TOPIC", "The page to show; omit it for a list.", default="")
@output_options
def help_(topic: str, json: bool, no_color: bool, debug: bool) -> None:
    """Show a page about goldsmith: recipes, adapters, grading and more.

    Lists the topics, or shows one. `goldsmith COMMAND --help` lists a command's options.

    Examples:

        goldsmith help                  the topics
        goldsmith help adapters         how to write an adapter

    Exit codes: 0 shown, 2 there is no such topic.
    """
    with report_errors("help", as_json=json, debug=debug, subjects="topics") as report:
        if topic and topic not in TOPICS:
            import difflib

            from goldsmith.errors.usage import BadUsage

            near = difflib.get_close_matches(topic, TOPICS, n=1, cutoff=0.5)
            raise BadUsage("goldsmith help", f"there is no topic {topic}", near)
        from goldsmith.render.console import open_console
        from goldsmith.render.help import find_topics, show_topics

        topics = find_topics(topic)
        if json:
            report.print(topics)
        else:
            show_topics(open_console(no_color=no_color), topics)
