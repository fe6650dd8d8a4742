"""The questions a person is asked at a terminal. Nobody else ever is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from goldsmith.course import Assignment
from goldsmith.generation import KINDS

if TYPE_CHECKING:
    from questionary import Choice, Question

    from goldsmith.scaffolding import Change, Doubt, Kind, Plan


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


def ask_what_to_write(plan: Plan) -> list[Change] | None:
    """Those of a plan's changes that are wanted; None when the person leaves."""
    import questionary

    from goldsmith.report import shown_name, why

    pending = plan.pending
    many = len(pending) > 1
    choices = [questionary.Choice("All of it" if many else "Write it", value="all")]
    choices += [questionary.Choice("Some of it  choose which", value="some")] if many else []
    choices.append(questionary.Choice("Nothing", value="nothing"))
    answer = _select(f"Write {f'these {len(pending)} files' if many else shown_name(plan, pending[0])}?", choices)
    if answer in (None, "all"):
        return pending if answer else None
    if answer == "nothing":
        return []
    width = max(len(shown_name(plan, change)) for change in pending)
    rows = [
        questionary.Choice(f"{shown_name(plan, change).ljust(width)}  {why(change)}", value=change, checked=True)
        for change in pending
    ]
    chosen: list[Change] | None = _answer(
        questionary.checkbox("Which of them?", choices=rows, instruction="(Space chooses, Enter; Esc leaves)")
    )
    return chosen


def ask_about_layout(doubt: Doubt) -> Mapping[str, str] | None:
    import questionary

    from goldsmith.report import doubt_words

    question, words = doubt_words(doubt)
    choices = [questionary.Choice(text, value=option) for text, option in zip(words, doubt.options, strict=True)]
    answer: Mapping[str, str] | None = _select(question, choices)
    return answer


def ask_new_kind(usual: str) -> Kind | None:
    """What a new assignment uses; the usual one stands first."""
    import questionary

    from goldsmith.report import kind_words

    choices = [questionary.Choice(text, value=kind) for kind, text in kind_words().items()]
    answer: Kind | None = _select("What does it use?", sorted(choices, key=lambda item: item.value != usual))
    return answer


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

    return _answer(questionary.select(question, choices=choices, instruction="(arrow keys, Enter; Esc leaves)"))


def _answer(menu: Question) -> Any:
    from prompt_toolkit.key_binding import KeyBindings

    bindings = menu.application.key_bindings
    assert isinstance(bindings, KeyBindings)
    bindings.add("escape", eager=True)(lambda event: event.app.exit(result=None))
    try:
        return menu.unsafe_ask()
    except KeyboardInterrupt:
        return None
