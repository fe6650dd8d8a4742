"""`--review`: go through the cases whose gold would change, one key each.

Gold is of one solution. A case that keeps its old values while others get new ones would be gold that the solution
itself does not agree with, and that fails everybody who is right; so one case that is kept keeps all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from goldsmith.cli.menus.prompt import ask_one
from goldsmith.cli.menus.rows import Row
from goldsmith.errors.gold import CasesKept, ReviewAlone, ReviewLeft, ReviewNeedsTerminal

if TYPE_CHECKING:
    from rich.console import Console

    from goldsmith.gold.diff import TensorChange

Choice = Literal["accept", "keep", "accept-rest", "keep-rest", "help"]

_QUESTION_LINES = 12
_ROWS = (
    Row("keep", "Keep", "k", "the old values are right; then nothing is written", keys="k"),
    Row("accept", "Accept", "a", "the new values are right", keys="a"),
    Row("accept-rest", "Accept the rest", "A", "this case and all that follow", keys="A"),
    Row("keep-rest", "Keep the rest", "K", "this case and all that follow", keys="K"),
    Row(None, "Quit", "q", "stop here; nothing is written", keys="q"),
    Row("help", "Help", "?", "what this is about", keys="?"),
)
_HELP = (
    "Each case is shown as `goldsmith diff` shows it: the largest change of an element, the same over the tensor's root"
    " mean square, and over its tolerance. Up to 1 x its tolerance, no comparison would notice the change.",
    "New gold is written once every case is accepted. If you keep one, nothing is written: the solution would not agree"
    " with gold that is partly old. What you kept is listed at the end: fix the solution, or the recipe, for those.",
)


def require_review(*, interactive: bool, yes: bool, check: bool) -> None:
    """Raise unless a review can be made: at a terminal, without an option that answers for the person."""
    if yes or check:
        raise ReviewAlone("--yes" if yes else "--check")
    if not interactive:
        raise ReviewNeedsTerminal


def review(console: Console, name: str, changes: Sequence[TensorChange], *, no_color: bool) -> None:
    """Ask about each case that would change; raise unless all of them are accepted."""
    cases = list(dict.fromkeys(item.case for item in changes))
    kept: list[str] = []
    for number, case in enumerate(cases, 1):
        choice = _ask(console, f"case {case} ({number} of {len(cases)})", changes, case, no_color)
        if choice == "accept-rest":
            break
        if choice == "keep-rest":
            kept += cases[number - 1 :]
            break
        kept += [case] if choice == "keep" else []
    if kept:
        raise CasesKept(name, tuple(kept), len(cases))


def _ask(console: Console, which: str, changes: Sequence[TensorChange], case: str, no_color: bool) -> Choice:
    """Show what would change in a case, and return what to do about it."""
    from goldsmith.render.console import print_line
    from goldsmith.render.gold_diff import show_changes

    print_line(console)
    show_changes(console, [item for item in changes if item.case == case], below=_QUESTION_LINES)
    while True:
        choice: Choice | None = ask_one(f"Accept the new values of {which}?", _ROWS, no_color=no_color)
        if choice is None:
            raise ReviewLeft
        if choice != "help":
            return choice
        for paragraph in _HELP:
            print_line(console, paragraph)
