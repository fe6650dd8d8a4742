"""The questions a person is asked at a terminal. Nobody else ever is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from goldsmith.course import Assignment
from goldsmith.generation import KINDS

if TYPE_CHECKING:
    from questionary import Choice


def ask_assignments(found: Sequence[Assignment]) -> list[Assignment]:
    """One of those found, or all of them; an empty list when the person leaves."""
    import questionary

    width = max(len(item.label) for item in found)
    choices = [
        questionary.Choice(f"{item.label.ljust(width)}  {item.description}".rstrip(), value=[item]) for item in found
    ]
    if len(found) > 1:
        choices.append(questionary.Choice(f"{'All'.ljust(width)}  all {len(found)} of them", value=list(found)))
    answer: list[Assignment] | None = _select("Which assignment would you like to generate fixtures for?", choices)
    return answer or []


def ask_kind() -> str | None:
    import questionary

    width = max(len(label) for label, _ in KINDS.values())
    choices = [
        questionary.Choice(f"{label.ljust(width)}  {description}", value=kind)
        for kind, (label, description) in KINDS.items()
    ]
    question = "No fixture generator found. What type of fixtures should we create?"
    answer: str | None = _select(question, choices)
    return answer


def ask_to_replace(count: int) -> bool:
    """Whether gold that would change may be replaced; No is the default."""
    import questionary

    try:
        question = f"{count} tensor{'' if count == 1 else 's'} of the gold would change. Replace it?"
        return bool(questionary.confirm(question, default=False).unsafe_ask())
    except KeyboardInterrupt:
        return False


def ask_to_write(name: str, why: str) -> bool:
    import questionary

    try:
        return bool(questionary.confirm(f"Write {name}? ({why})", default=True).unsafe_ask())
    except KeyboardInterrupt:
        return False


def ask_about_edits(name: str, count: int) -> str | None:
    """`keep`, `save`, `discard`, or None to leave everything as it is."""
    import questionary

    what = "this file" if count == 1 else f"these {count} files"
    choices = [
        questionary.Choice("Keep     the edits become the solution", value="keep"),
        questionary.Choice(f"Save     into {name}-edits/", value="save"),
        questionary.Choice("Discard  they are given up", value="discard"),
        questionary.Choice("Leave    everything stays injected, as it is", value=None),
    ]
    answer: str | None = _select(f"You edited {what} while injected. What is to become of that?", choices)
    return answer


def _select(question: str, choices: Sequence[Choice]) -> Any:
    """The value of the choice, None when the person leaves by Esc or Ctrl-C."""
    import questionary
    from prompt_toolkit.key_binding import KeyBindings

    menu = questionary.select(question, choices=choices, instruction="(arrow keys, Enter; Esc leaves)")
    bindings = menu.application.key_bindings
    assert isinstance(bindings, KeyBindings)
    bindings.add("escape", eager=True)(lambda event: event.app.exit(result=None))
    try:
        return menu.unsafe_ask()
    except KeyboardInterrupt:
        return None
