"""`goldsmith doctor`: what on this machine bears on determinism, and on locking submissions in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from goldsmith.cli.options import DebugOption, JsonOption, NoColorOption, report_errors

if TYPE_CHECKING:
    from goldsmith.doctor import Fact
    from goldsmith.sandbox.promises import SandboxLevel


def doctor(json: JsonOption = False, no_color: NoColorOption = False, debug: DebugOption = False) -> None:
    """Say what on this machine bears on the bits that come out of a recipe, and how well submissions are locked in.

    Exit codes: 0 nothing interferes, 1 something does.
    """
    with report_errors("doctor", as_json=json, debug=debug, subjects="facts"):
        from goldsmith.doctor import examine
        from goldsmith.sandbox.capabilities import probe
        from goldsmith.sandbox.promises import sandbox_level

        facts = examine()
        level = sandbox_level([probe().name] if probe().sufficient else [])
        bad = [fact for fact in facts if fact.outcome == "warning"]
        if json:
            from goldsmith.render.json_output import report

            print(report("doctor", not bad, "facts", facts, sandbox=level))
        else:
            _show(facts, level, bad, no_color)
    raise typer.Exit(1 if bad else 0)


def _show(facts: list[Fact], level: SandboxLevel, bad: list[Fact], no_color: bool) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(no_color=no_color or None)
    if not console.is_terminal:
        console.width = 240
    colours = {"ok": "green", "note": "cyan", "warning": "yellow"}
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("", "what", "here", "what it means"):
        table.add_column(heading)
    for fact in facts:
        table.add_row(Text(fact.outcome, style=colours[fact.outcome]), fact.name, fact.value, fact.meaning)
    console.print(table)
    console.print()
    console.print(level.sentence, highlight=False, soft_wrap=True)
    names = ", ".join(fact.name for fact in bad)
    verdict = (
        f"Look at {names} before you trust gold made here." if bad else "Nothing here interferes with making gold."
    )
    console.print(verdict, style="bold", highlight=False)
