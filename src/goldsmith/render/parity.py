"""Show a parity on a terminal: the answer first, then what was compared, then what is wrong, the next step last."""

from __future__ import annotations

import io

from rich.console import Console
from rich.text import Text

from goldsmith.judge import leaf_words
from goldsmith.judge import words as verdict_words
from goldsmith.judge.verdicts import AGREES, CaseVerdict
from goldsmith.model_parity import words
from goldsmith.model_parity.reference_words import reference_tables
from goldsmith.model_parity.result import ParityReport
from goldsmith.render.console import print_line, print_table, text_console
from goldsmith.render.verdict import COLOURS, outcome_cell
from goldsmith.weights.rule_lines import adapter_text

_MOST = 2
_FRAMES = 4


def parity_text(report: ParityReport) -> str:
    """Return the result as plain text."""
    text = io.StringIO()
    show_parity(text_console(text), report)
    return text.getvalue().rstrip()


def show_parity(console: Console, report: ParityReport) -> None:
    colour = next((colour for outcome, colour in COLOURS.items() if outcome == report.outcome), "yellow")
    headline = verdict_words.ended(f"{report.name}: {words.headline(report)}")
    print_line(console, Text(verdict_words.one_line(headline), f"bold {colour}"))
    for line in words.built_with_lines(report):
        print_line(console, Text("Built with: ", "dim"), f"{line}.")
    for table in reference_tables(report):
        print_line(console)
        print_table(console, table.headings, table.rows)
        if table.left_out:
            print_line(console, Text(table.left_out, "dim"))
    if report.cases:
        print_line(console)
        rows = [
            (case.name, outcome_cell(case.outcome), case.judged_in, why)
            for case, why in verdict_words.rows(report.cases)
        ]
        print_table(console, ("compared", "outcome", "judged in", ""), rows)
    wrong = [case for case in report.cases if case.outcome != AGREES]
    for case in wrong[:_MOST]:
        _explain(console, case)
    frames = report.failure.frames[-_FRAMES:] if report.failure is not None else ()
    if frames:
        print_line(console)
        for frame in frames:
            print_line(console, Text(f"  {frame.file}:{frame.line} in {frame.function}: {frame.text}", "dim"))
    lines = words.module_summary(report)
    if lines:
        print_line(console)
    for line in lines:
        print_line(console, Text("Modules: ", "dim"), f"{line}.")
    for number, note in enumerate(report.notes):
        if not number:
            print_line(console)
        print_line(console, Text("Note: ", "dim"), f"{note}.")
    _next(console, report)


def _explain(console: Console, case: CaseVerdict) -> None:
    """Explain what differs: which module, and how far the first wrong value is off."""
    sources = verdict_words.source_lines(case, gold=words.REFERENCE)
    first = case.first_wrong
    if not sources and first is None:
        return
    print_line(console)
    print_line(console, Text(case.name, "bold"))
    for line in sources:
        print_line(console, Text("  "), line)
    if first is None:
        return
    said = any(line.endswith(leaf_words.how_far(first).removeprefix("is off ")) for line in sources)
    leaf, far = leaf_words.leaf_name(case, first), leaf_words.how_far(first)
    print_line(console, Text(f"  {leaf}:" if said else f"  {leaf} {far}"))
    lines = leaf_words.leaf_lines(first, reveal=True, gold=words.REFERENCE)
    for line in (*lines, *leaf_words.choice_lines(case, first, reveal=True)):
        print_line(console, Text("    "), line)


def _next(console: Console, report: ParityReport) -> None:
    advice = words.adapter_advice(report)
    if advice:
        print_line(console)
        print_line(console, Text(f"{advice}:"))
        for line in adapter_text(report.adapter_lines).splitlines():
            print_line(console, Text("  "), line)
    step = words.next_step(report)
    if step:
        print_line(console)
        print_line(console, Text(f"Next, {step}", "bold"))
