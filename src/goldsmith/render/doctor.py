"""Show what on this machine affects gold, in a table, and how well submissions can be sandboxed."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from rich.console import Console
from rich.text import Text

from goldsmith.doctor import Fact
from goldsmith.render.console import print_line, print_table
from goldsmith.sandbox.promises import SandboxLevel

_COLOURS = {"ok": "green", "note": "cyan", "warning": "yellow"}


class MachineSummary(msgspec.Struct, frozen=True, kw_only=True):
    """What `doctor` says about a machine as a whole."""

    sandbox: SandboxLevel
    """How well submissions can be sandboxed."""


def show_machine(console: Console, facts: Sequence[Fact], machine: MachineSummary) -> None:
    """Show a row for each fact, then what to look at before gold is made here."""
    rows = [(Text(fact.outcome, _COLOURS[fact.outcome]), fact.name, fact.value, fact.meaning) for fact in facts]
    print_table(console, ("", "what", "here", "what it means"), rows)
    print_line(console)
    print_line(console, machine.sandbox.sentence)
    names = ", ".join(fact.name for fact in facts if fact.outcome == "warning")
    verdict = (
        f"Look at {names} before you trust gold made here." if names else "Nothing here interferes with making gold."
    )
    print_line(console, Text(verdict, "bold"))
