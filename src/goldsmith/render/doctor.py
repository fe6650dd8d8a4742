"""Show what on this machine affects gold, in a table, and how well submissions can be sandboxed."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from goldsmith.doctor import Fact
from goldsmith.render.console import LOG_WIDTH
from goldsmith.sandbox.promises import SandboxLevel

_COLOURS = {"ok": "green", "note": "cyan", "warning": "yellow"}


class MachineSummary(msgspec.Struct, frozen=True, kw_only=True):
    """What `doctor` says about a machine as a whole."""

    sandbox: SandboxLevel
    """How well submissions can be sandboxed."""


def show_machine(console: Console, facts: Sequence[Fact], machine: MachineSummary) -> None:
    """Show a row for each fact, then what to look at before gold is made here."""
    if not console.is_terminal:
        console.width = LOG_WIDTH
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("", "what", "here", "what it means"):
        table.add_column(heading)
    for fact in facts:
        table.add_row(Text(fact.outcome, style=_COLOURS[fact.outcome]), fact.name, fact.value, fact.meaning)
    console.print(table)
    console.print()
    console.print(machine.sandbox.sentence, highlight=False, soft_wrap=True)
    names = ", ".join(fact.name for fact in facts if fact.outcome == "warning")
    verdict = (
        f"Look at {names} before you trust gold made here." if names else "Nothing here interferes with making gold."
    )
    console.print(verdict, style="bold", highlight=False)
