"""`goldsmith doctor`: what on this machine affects determinism and the sandboxing of submissions."""

from __future__ import annotations

from click.exceptions import Exit

from goldsmith.cli.command import command
from goldsmith.cli.options import output_options, report_errors
from goldsmith.errors.base import AGAINST


@command
@output_options
def doctor(json: bool, no_color: bool, debug: bool) -> None:
    """Show what on this machine affects a recipe's results, and how well submissions can be sandboxed.

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
