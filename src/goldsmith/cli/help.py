"""`goldsmith help`: the pages that come with goldsmith, in the terminal."""

from __future__ import annotations

import difflib
from typing import Annotated

import typer

from goldsmith.cli.options import DebugOption, JsonOption, NoColorOption, report_errors
from goldsmith.help_topics import TOPICS, topic_text

EXAMPLES = """
Without a topic, says which there are. `goldsmith COMMAND --help` is about a command's options.

Examples:

    goldsmith help                  the topics
    goldsmith help adapters         how to write an adapter

Exit codes: 0 shown, 2 there is no such topic.
"""


def help_(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="A page; without, a list of them.")] = "",
    json: JsonOption = False,
    no_color: NoColorOption = False,
    debug: DebugOption = False,
) -> None:
    with report_errors("help", as_json=json, debug=debug, subjects="topics"):
        from goldsmith.errors.usage import BadUsage

        if topic and topic not in TOPICS:
            near = difflib.get_close_matches(topic, TOPICS, n=1, cutoff=0.5)
            raise BadUsage("goldsmith help", f"there is no topic {topic}", near)
        if json:
            from goldsmith.render.json_output import report

            wanted = [topic] if topic else list(TOPICS)
            items = [
                {"name": name, "outcome": "shown", "about": TOPICS[name], "text": topic_text(name) if topic else None}
                for name in wanted
            ]
            print(report("help", True, "topics", items))
        elif topic:
            _show(topic_text(topic), no_color)
        else:
            width = max(map(len, TOPICS))
            for name, about in TOPICS.items():
                print(f"{name.ljust(width)}  {about}")


help_.__doc__ = f"Show a page about goldsmith: recipes, adapters, grading and more.\n{EXAMPLES}"


def _show(text: str, no_color: bool) -> None:
    """As Markdown reads on a terminal; as it is written in a log."""
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console(no_color=no_color or None)
    if console.is_terminal:
        console.print(Markdown(text))
    else:
        print(text.rstrip())
