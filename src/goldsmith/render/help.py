"""Show the pages that come with goldsmith: rendered on a terminal, as Markdown source in a log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec
from rich.console import Console

from goldsmith.foundation.log_injection import say
from goldsmith.help_topics import TOPICS, topic_text


class HelpTopic(msgspec.Struct, frozen=True, kw_only=True):
    """A page about goldsmith."""

    name: str
    """What it is called."""
    outcome: Literal["shown"] = "shown"
    """It always is."""
    about: str
    """What it is about, in a line."""
    text: str | None = None
    """All of it, in Markdown, where it was asked for; else null."""


class ShellCompletion(msgspec.Struct, frozen=True, kw_only=True):
    """What makes a shell complete command lines."""

    name: Literal["bash", "zsh", "fish"]
    """The shell."""
    outcome: Literal["shown"] = "shown"
    """It always is."""
    script: str
    """What the shell is to run when it starts."""


def find_topics(wanted: str) -> list[HelpTopic]:
    """Read the page called `wanted`; without a name, list every page without its text."""
    if wanted:
        return [HelpTopic(name=wanted, about=TOPICS[wanted], text=topic_text(wanted))]
    return [HelpTopic(name=name, about=about) for name, about in TOPICS.items()]


def show_topics(console: Console, topics: Sequence[HelpTopic]) -> None:
    """Show a page, or the list of pages where none has its text."""
    width = max(len(topic.name) for topic in topics)
    for topic in topics:
        if topic.text is None:
            say(f"{topic.name.ljust(width)}  {topic.about}")
        elif console.is_terminal:
            from rich.markdown import Markdown

            console.print(Markdown(topic.text))
        else:
            say(topic.text.rstrip())
