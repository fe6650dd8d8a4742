"""A verdict on a terminal: the answer first, then cases and parts in tables, then what is wrong, the next step last."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from goldsmith.checking import AGREES, COULD_NOT_RUN, DIFFERS, PROVIDED_CHANGED, CaseVerdict, Verdict
from goldsmith.report import words

_COLOURS = {AGREES: "green", DIFFERS: "red", COULD_NOT_RUN: "yellow", PROVIDED_CHANGED: "magenta"}
_STYLES = {words.OUTCOMES[outcome]: colour for outcome, colour in _COLOURS.items()}
_MOST = 3
_FRAMES = 4


def show_verdict(console: Console, verdict: Verdict) -> None:
    """Everything that is known, gold's values included: whoever runs this has the gold."""
    colour = _COLOURS[verdict.outcome]
    _line(console, Text(words.ended(f"{verdict.name}: {words.headline(verdict)}"), f"bold {colour}"))
    _line(console)
    _lines(console, _cases(verdict))
    if verdict.parts and verdict.outcome != AGREES:
        _line(console)
        _lines(console, _parts(verdict))
    for case in [case for case in verdict.cases if case.outcome != AGREES][:_MOST]:
        _explain(console, case)
    _notes(console, verdict)
    step = words.next_step(verdict)
    if step:
        _line(console)
        _line(console, Text(f"Next: {step}", "bold"))


def _cases(verdict: Verdict) -> list[Text]:
    rows = [
        (case.name, words.OUTCOMES[case.outcome], case.judged_in, words.case_sentence(case)) for case in verdict.cases
    ]
    return _table(("case", "outcome", "judged in", ""), rows)


def _parts(verdict: Verdict) -> list[Text]:
    rows = [(part.name, words.OUTCOMES[part.outcome], words.part_sentence(part)) for part in verdict.parts]
    return _table(("part", "outcome", ""), rows)


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[Text]:
    """Aligned columns; the last may be as long as it needs to be, so that nothing is cut in a log."""
    widths = [max(cell_len(row[column]) for row in (headings, *rows)) for column in range(len(headings))]
    lines = []
    for row in (headings, *rows):
        line = Text()
        for column, cell in enumerate(row):
            style = "dim" if row is headings else _STYLES.get(cell, "") if column == 1 else ""
            line.append(cell, style)
            line.append(" " * (widths[column] - cell_len(cell) + 3))
        line.rstrip()
        lines.append(line)
    return lines


def _explain(console: Console, case: CaseVerdict) -> None:
    _line(console)
    title = f": {case.title}" if case.title else ""
    _line(console, Text.assemble((case.name, "bold"), title))
    for line in words.module_lines(case):
        _line(console, Text(f"  {line}"))
    if case.failure is not None:
        _line(console, Text(f"  {words.one_line(case.failure.message)}"))
        for frame in case.failure.frames[-_FRAMES:]:
            _line(console, Text(f"    {frame.file}:{frame.line} in {frame.function}: {frame.text}", "dim"))
    worst = case.worst
    if worst is not None:
        _line(console, Text(f"  {words.leaf_name(worst)} {words.how_far(worst)}"))
        for line in words.leaf_lines(worst, reveal=True):
            _line(console, Text(f"    {line}"))


def _notes(console: Console, verdict: Verdict) -> None:
    notes = words.notes_of(verdict)
    if notes:
        _line(console)
    _lines(console, [Text(f"Note: {note}.", "dim") for note in notes])


def _lines(console: Console, lines: Sequence[Text]) -> None:
    for line in lines:
        _line(console, line)


def _line(console: Console, text: Text | None = None) -> None:
    console.print(text if text is not None else "", soft_wrap=True, highlight=False)
