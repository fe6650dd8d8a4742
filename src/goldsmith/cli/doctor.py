"""`goldsmith doctor`: what on this machine bears on determinism, and on locking submissions in."""

from __future__ import annotations

from click.exceptions import Exit

from goldsmith.cli.command import command
from goldsmith.cli.options import output_options, report_errors
from goldsmith.errors.base import AGAINST


@command
@output_options
def doctor(json: bool, no_color: bool, debug: bool) -> None:
    """Say what on this machine bears on the bits that come out of a recipe, and how well submissions are sandboxed.

    Exit codes: 0 nothing interferes, 1 something does.
    """
    with report_errors("doctor", as_json=json, debug=debug, subjects="facts") as report:
        from goldsmith.doctor import examine
        from goldsmith.render.console import open_console
        from goldsmith.render.doctor import MachineSummary, show_machine
        from goldsmith.sandbox.capabilities import probe
        from goldsmith.sandbox.promises import sandbox_level

        facts = examine()
        machine = MachineSummary(sandbox=sandbox_level([probe().name] if probe().sufficient else []))
        ok = all(fact.outcome != "warning" for fact in facts)
        if json:
            report.print(facts, ok=ok, more=machine)
        else:
            show_machine(open_console(no_color=no_color), facts, machine)
    raise Exit(0 if ok else AGAINST)
