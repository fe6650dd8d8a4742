"""Show a verdict on a terminal: the answer first, then what is wrong in a line each, last what to look at and the next
step last."""

from __future__ import annotations

import io
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from goldsmith.judge import leaf_words, words
from goldsmith.judge.causes import Cause, by_cause
from goldsmith.judge.verdicts import (
    AGREES,
    COULD_NOT_RUN,
    DIFFERS,
    ERROR,
    INCONCLUSIVE,
    PROVIDED_CHANGED,
    CaseVerdict,
    Outcome,
    PartVerdict,
    Verdict,
)
from goldsmith.render.console import print_line, print_table, text_console

COLOURS: dict[str, str] = {
    AGREES: "green",
    DIFFERS: "red",
    COULD_NOT_RUN: "yellow",
    INCONCLUSIVE: "cyan",
    PROVIDED_CHANGED: "magenta",
    ERROR: "bold red",
}
_ALSO = {
    DIFFERS: "Also wrong",
    COULD_NOT_RUN: "Also could not run",
    INCONCLUSIVE: "Also inconclusive",
    PROVIDED_CHANGED: "Also different because of changed provided code",
    ERROR: "Also not judged",
}
_MAX_EXPLAINED = 3
_MAX_FRAMES = 4


def verdict_text(verdict: Verdict, *, with_next: bool = True) -> str:
    """Return everything that is known as plain text."""
    text = io.StringIO()
    show_verdict(text_console(text), verdict, everything=True, with_next=with_next)
    return text.getvalue().rstrip()


def show_verdict(
    console: Console, verdict: Verdict, *, everything: bool = False, with_next: bool = True, options: str = ""
) -> None:
    """Show the answer, what is wrong in a line each, and last what to look at, by a command with the `options` of this
    one; with `everything`, a line for each case and part, and more of what is wrong. Gold's values are not hidden: the
    user has the gold anyway."""
    colour = COLOURS[verdict.outcome]
    print_line(console, Text(words.ended(f"{verdict.name}: {words.headline(verdict)}"), f"bold {colour}"))
    causes = by_cause(verdict)
    (_all_cases if everything else _wrong_cases)(console, verdict, causes)
    if not everything:
        _notes(console, verdict)
    groups = [cause.cases for cause in causes]
    groups += [[case] for cause in causes for case in cause.others if case.outcome == DIFFERS]
    explained = groups[: _MAX_EXPLAINED if everything else 1]
    for number, same in enumerate(explained):
        _explain(console, same, "" if number else verdict.first_place)
    if everything:
        _other_cases(console, verdict, {case.name for same in explained for case in same})
        _notes(console, verdict)
    step = words.next_step(verdict, options) if with_next else ""
    if step:
        print_line(console)
        print_line(console, Text(f"Next: {step}", "bold"))


def _wrong_cases(console: Console, verdict: Verdict, causes: Sequence[Cause]) -> None:
    """Show what is wrong, a row each, and count what is right."""
    if not causes:
        return
    rows = []
    for cause in causes:
        first, *others = (*cause.cases, *cause.others)
        name = f"{first.name}, {len(others)} more" if others else first.name
        rows.append((name, outcome_cell(first.outcome), first.judged_in, words.cause_sentence(cause)))
    print_line(console)
    print_table(console, ("case", "outcome", "judged in", ""), rows)
    right = sum(case.outcome == AGREES for case in verdict.cases)
    if right:
        print_line(console, Text(f"{right} {'others agree' if right > 1 else 'other agrees'}", "dim"))
    wrong = [part for part in verdict.parts if part.outcome != AGREES]
    if wrong:
        print_line(console)
        _parts(console, verdict, wrong)
        named = [part.name for part in verdict.parts if part.outcome == AGREES]
        if named:
            print_line(console, Text("right: ", "dim"), ", ".join(named))
        _unjudged(console, verdict)


def _all_cases(console: Console, verdict: Verdict, causes: Sequence[Cause]) -> None:
    rows = [(case.name, outcome_cell(case.outcome), case.judged_in, why) for case, why in words.rows(verdict.cases)]
    print_line(console)
    print_table(console, ("case", "outcome", "judged in", ""), rows)
    if verdict.parts and verdict.outcome != AGREES:
        print_line(console)
        _parts(console, verdict, verdict.parts)
        _unjudged(console, verdict)


def _other_cases(console: Console, verdict: Verdict, told: set[str]) -> None:
    left = [case for case in verdict.cases if case.outcome != AGREES and case.name not in told]
    if left:
        print_line(console)
    for outcome, also in _ALSO.items():
        names = [case.name for case in left if case.outcome == outcome]
        if names:
            print_line(console, Text(f"{also}: "), ", ".join(names))


def _parts(console: Console, verdict: Verdict, parts: Sequence[PartVerdict]) -> None:
    rows = [(part.name, outcome_cell(part.outcome), words.part_sentence(part, verdict)) for part in parts]
    print_table(console, ("part", "outcome", ""), rows)


def _unjudged(console: Console, verdict: Verdict) -> None:
    if verdict.unjudged:
        print_line(console, Text("not judged: ", "dim"), ", ".join(verdict.unjudged))


def outcome_cell(outcome: Outcome) -> Text:
    return Text(words.OUTCOMES[outcome], COLOURS[outcome])


def _explain(console: Console, same: Sequence[CaseVerdict], place: str) -> None:
    """Explain cases that failed for the same reason; `place` is where what goes wrong first is defined."""
    case = same[0]
    print_line(console)
    title = f": {case.title}" if case.title and len(same) == 1 else ""
    print_line(console, Text.assemble((", ".join(item.name for item in same), "bold"), title))
    sources = words.module_lines(case, place)
    for line in sources:
        print_line(console, Text("  "), line)
    if case.failure is not None:
        if not words.is_said(case):
            print_line(console, Text("  "), words.one_line(case.failure.message))
        for frame in case.failure.frames[-_MAX_FRAMES:]:
            print_line(console, Text(f"    {frame.place} in {frame.function}: {frame.text}", "dim"))
    first = case.first_wrong
    if first is not None:
        said = any(line.endswith(leaf_words.how_far(first).removeprefix("is off ")) for line in sources)
        leaf, far = leaf_words.leaf_name(case, first), leaf_words.how_far(first)
        print_line(console, Text(f"  {leaf}:" if said else f"  {leaf} {far}"))
        for line in (*leaf_words.leaf_lines(first, reveal=True), *leaf_words.choice_lines(case, first, reveal=True)):
            print_line(console, Text("    "), line)


def _notes(console: Console, verdict: Verdict) -> None:
    notes = words.notes_of(verdict)
    if notes:
        print_line(console)
    for note in notes:
        print_line(console, Text("Note: ", "dim"), f"{note}.")
    if verdict.forbidden:
        print_line(console)
        print_line(console, Text("Forbidden: ", "yellow"), ", ".join(use.words for use in verdict.forbidden))
    for sentence in verdict.not_given:
        print_line(console)
        print_line(console, Text("Not given: ", "yellow"), f"{sentence}.")
