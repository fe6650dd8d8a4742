"""`goldsmith doctor`: what on this machine affects determinism and the sandboxing of submissions."""

from __future__ import annotations

from click.exceptions import Exit

from goldsmith.cli.command import command
from goldsmith.cli.options import output_options, report_errors
from goldsmith.cli.reports import Output, Wanted, asked_for, report_formats
from goldsmith.errors.base import AGAINST


@command
@report_formats("machine")
@output_options
def doctor(formats: tuple[Wanted, ...], json: bool, no_color: bool, debug: bool) -> None:
    """Show what on this machine affects a recipe's results, and how well submissions can be sandboxed.

    Exit codes: 0 nothing interferes, 1 something does.
    """
    wanted = asked_for(formats, json=json)
    with report_errors("doctor", as_json=Wanted("json") in wanted, debug=debug, subjects="facts") as report:
        from goldsmith.doctor import examine
        from goldsmith.render.doctor import MachineSummary
        from goldsmith.sandbox.capabilities import probe
        from goldsmith.sandbox.promises import sandbox_level

        facts = examine()
        machine = MachineSummary(sandbox=sandbox_level([probe().name] if probe().sufficient else []))
        ok = all(fact.outcome != "warning" for fact in facts)
        output = Output(report, "machine", wanted, no_color, {"machine": machine})
        output.show(facts)
        output.finish(facts, [facts], ok=ok, more=machine)
    raise Exit(0 if ok else AGAINST)
