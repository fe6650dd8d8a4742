"""Show how good the internal tests are, on a terminal and as the report that is kept: numbers by category first, then
tests that need attention, what to do, and the verdict last."""

from __future__ import annotations

import io
from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from goldsmith.courses.internal_tests.suite_result import Counts, category_order
from goldsmith.courses.internal_tests.verdict import FAILED, NOT_RUN, PASSED, InternalVerdict, Noticed, Tried
from goldsmith.render.console import print_line, print_table, text_console

_COLOURS = {PASSED: "green", FAILED: "red", NOT_RUN: "yellow"}
_OUTCOMES = {PASSED: "passed", FAILED: "failed", NOT_RUN: "could not run"}
_MAX_TESTS = 12
_LOG_CELLS = 200


def show_internal(console: Console, verdict: InternalVerdict, *, most: int | None = _MAX_TESTS) -> None:
    """Show everything that is known, in one line for each test; at most `most` tests of a kind."""
    if verdict.error is None:
        print_line(console, Text(f"{verdict.name}: {_what(verdict)}", "bold"), keep=True)
        if verdict.gold:
            print_line(console, Text(verdict.gold, "yellow"), keep=True)
        if verdict.solution.total or verdict.starter.total:
            print_line(console)
            _table(console, verdict)
        _tests(console, verdict, most)
        for number, note in enumerate(verdict.notes):
            if not number:
                print_line(console)
            print_line(console, Text("Note: ", "dim"), f"{note}.")
        _advice(console, verdict)
        print_line(console)
    ended = "" if verdict.headline.endswith(".") else "."
    took = f" ({verdict.seconds:.1f} s)" if verdict.error is None and verdict.seconds else ""
    word = _OUTCOMES[verdict.outcome]
    said = verdict.headline if verdict.headline.startswith((f"{word} ", f"{word}, ", f"{word}: ")) else ""
    said = f"{said or f'{word}: {verdict.headline}'}{took}{ended}"
    colour = "yellow" if _is_stale(verdict) else _COLOURS[verdict.outcome]
    print_line(console, Text(f"{verdict.name}: {said}", f"bold {colour}"), keep=True)


def _is_stale(verdict: InternalVerdict) -> bool:
    """Return whether the tests passed, but against stale gold."""
    return verdict.outcome == PASSED and verdict.headline.startswith("passed, but ")


def show_internals(console: Console, verdicts: Sequence[InternalVerdict]) -> None:
    """Show several assignments in a table, after the details of each."""
    rows = [
        (
            item.name,
            Text(_OUTCOMES[item.outcome], _COLOURS[item.outcome]),
            f"{item.solution.passed} of {item.solution.total}" if item.solution.total else "-",
            f"{item.starter.failed} of {item.starter.total}" if item.starter.total else "-",
            str(item.solution.skipped) if item.solution.total else "-",
        )
        for item in verdicts
    ]
    headings = ("assignment", "outcome", "pass on the solution", "fail on the starter", "skipped")
    print_table(console, headings, rows, numbers=(2, 3, 4), texts=0)
    good = sum(item.outcome == PASSED for item in verdicts)
    bad = [item.name for item in verdicts if item.outcome != PASSED]
    but = f"; not {', '.join(bad)}" if bad else ""
    stale = [item.name for item in verdicts if _is_stale(item)]
    if stale:
        but += f"; but the gold is stale: {', '.join(stale)}"
    which = f"{good} of {len(verdicts)} assignments"
    text = f"The internal tests of {which} pass on the solution and fail on the starter{but}."
    print_line(console)
    colour = "red" if bad else "yellow" if stale else "green"
    print_line(console, Text(text, f"bold {colour}"), keep=True)


def internal_text(tried: Tried) -> str:
    """Return the report that is kept: everything in full, then what pytest printed on either side."""
    text = io.StringIO()
    console = text_console(text, _LOG_CELLS)
    show_internal(console, tried.verdict, most=None)
    for name, side in (("solution", tried.solution), ("starter", tried.starter)):
        if side is not None:
            text.write(f"\n{f' pytest on the {name} ':=^100}\n\n{side.log.strip()}\n")
    return text.getvalue()


def _what(verdict: InternalVerdict) -> str:
    chosen = f", only those that fit -k '{verdict.selection}'" if verdict.selection else ""
    return f"internal tests on the solution and on the starter{chosen}"


def _table(console: Console, verdict: InternalVerdict) -> None:
    solution, starter = verdict.solution, verdict.starter
    names = sorted({*solution.categories, *starter.categories}, key=category_order)
    rows = [
        (name, *_cells(solution.categories.get(name, Counts()), starter.categories.get(name, Counts())))
        for name in names
    ]
    one = Counts(solution.total, solution.passed, solution.failed, solution.skipped)
    two = Counts(starter.total, starter.passed, starter.failed, starter.skipped)
    width = max(cell_len(name) for name in ("category", "total", *names))
    over = f"{'':{width}}   {'on the solution':<25}     on the starter"
    print_line(console, Text(over, "dim"), keep=True)
    headings = ("category", "passed", "failed", "skipped", "  failed", "passed", "skipped")
    total = [Text(cell, "bold") for cell in ("total", *_cells(one, two))]
    print_table(console, headings, [*rows, total], numbers=range(1, 7), texts=0)


def _cells(solution: Counts, starter: Counts) -> tuple[str, ...]:
    numbers = (solution.passed, solution.failed, solution.skipped, starter.failed, starter.passed, starter.skipped)
    return tuple(str(number) for number in numbers)


def _tests(console: Console, verdict: InternalVerdict, most: int | None) -> None:
    _noticed(console, "Failed on the solution:", verdict.failures, most)
    for on, means in (("solution", "a pass"), ("starter", "a failure")):
        found = [item for item in verdict.skipped if item.on == on]
        skipped, gone = [item for item in found if not item.deselected], [item for item in found if item.deselected]
        _noticed(console, f"Skipped on the {on}; a skip is not {means}:", skipped, most)
        _noticed(console, f"Deselected on the {on}; what does not run is not {means}:", gone, most)
    if not verdict.blind:
        return
    says = "it says nothing" if len(verdict.blind) == 1 else "they say nothing"
    passes = "Passes" if len(verdict.blind) == 1 else "Pass"
    print_line(console)
    print_line(console, Text(f"{passes} on the starter too; {says} about what students write:", "bold"), keep=True)
    for test in verdict.blind[:most]:
        print_line(console, Text(f"  {test}"), keep=True)
    _more(console, len(verdict.blind), most)


def _noticed(console: Console, title: str, found: Sequence[Noticed], most: int | None) -> None:
    if not found:
        return
    print_line(console)
    print_line(console, Text(title, "bold"), keep=True)
    for item in found[:most]:
        print_line(console, Text(f"  {item.test}"), keep=True)
        category = f"[{item.category}] " if item.category else ""
        where = f"{item.where}: " if item.where not in ("", item.test) else ""
        print_line(console, Text("    "), f"{category}{where}{item.reason}")
    _more(console, len(found), most)


def _more(console: Console, count: int, most: int | None) -> None:
    if most is not None and count > most:
        print_line(console, Text(f"  and {count - most} more", "dim"), keep=True)


def _advice(console: Console, verdict: InternalVerdict) -> None:
    steps = [*verdict.advice]
    if verdict.outcome != PASSED and verdict.report:
        steps.append(f"All that pytest printed is in {verdict.report}.")
    if steps:
        print_line(console)
        print_line(console, Text("What to do:", "bold"), keep=True)
    for step in steps:
        print_line(console, Text("  - "), step)
    if verdict.outcome == PASSED and verdict.report:
        print_line(console)
        print_line(console, Text("Report: ", "dim"), " and ".join(filter(None, (verdict.report, verdict.junit))))
