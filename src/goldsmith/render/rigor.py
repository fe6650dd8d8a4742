"""Show rigor on a terminal: parts in a table, survivors with their reasons and what to add, the score last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from goldsmith.foundation.wording import count_of, line_place
from goldsmith.mutants.mutants import Mutant
from goldsmith.mutants.results import (
    COULD_NOT_RUN,
    CRASHED,
    EQUIVALENT,
    KILLED,
    NOT_TOLD_APART,
    OUTCOMES,
    SURVIVED,
    UNREACHED,
    Finding,
    Rigor,
)
from goldsmith.render.console import print_line, print_table

_COLOURS = {
    KILLED: "green",
    CRASHED: "green",
    SURVIVED: "red",
    NOT_TOLD_APART: "yellow",
    EQUIVALENT: "dim",
    COULD_NOT_RUN: "yellow",
}


def show_rigor(console: Console, rigor: Rigor, *, everything: bool = False) -> None:
    """Show what became of the mutants. Killed ones are counted, or listed with `everything`."""
    print_line(console)
    _parts(console, rigor)
    if everything:
        print_line(console)
        print_table(
            console,
            ("killed", "seen first by", ""),
            [(item.name, _seen_by(item), item.reason if item.outcome == CRASHED else "") for item in _caught(rigor)],
        )
    for outcome, title in (
        (SURVIVED, "Survived: a mistake that this gold would pass"),
        (COULD_NOT_RUN, "Could not be tried, and are not counted"),
        (NOT_TOLD_APART, "Not told apart from the solution: mistakes, or other ways to write it"),
        (EQUIVALENT, "Equivalent, and not counted: shown to be right"),
    ):
        found = rigor.of(outcome)
        if found:
            print_line(console)
            print_line(console, Text(title, f"bold {_COLOURS[outcome]}"), keep=True)
        for item in found:
            if everything or item.reason != UNREACHED:
                _explain(console, item)
        if not everything:
            _by_function(console, found)
    if rigor.explained:
        print_line(console)
        print_line(console, Text("Explained by the course, and not counted", "bold dim"), keep=True)
        for item in rigor.explained:
            _explain(console, item)
    if rigor.refused:
        print_line(console)
        print_line(console, Text("Right variants of the solution that this gold fails", "bold red"))
    for item in rigor.refused:
        print_line(console, Text(f"  {item.name}", "bold"), f"  {item.description}")
        print_line(console, Text("    by:  ", "dim"), f"{_seen_by(item)}: {item.reason}")
    _beside(console, rigor)
    for note in rigor.notes:
        print_line(console)
        print_line(console, Text(f"Note: {note}.", "yellow"), keep=True)
    print_line(console)
    print_line(console, Text(score_line(rigor), f"bold {'green' if rigor.score == 1 else 'red'}"), keep=True)


def score_line(rigor: Rigor) -> str:
    """Summarise the score in one line."""
    counts = rigor.counts
    caught = counts[KILLED] + counts[CRASHED]
    right = f" {_right(rigor)}" if rigor.judged_variants else ""
    if rigor.score is None:
        return f"{rigor.assignment}: no mutant could be judged.{right}"
    said = [f"{caught} of {_mutants(sum(item.counts for item in rigor.findings))} killed"]
    said += [f"{counts[CRASHED]} of them crashed"] if counts[CRASHED] else []
    said += [f"{counts[NOT_TOLD_APART]} not told apart"] if counts[NOT_TOLD_APART] else []
    said += [f"{counts[EQUIVALENT]} equivalent"] if counts[EQUIVALENT] else []
    said += [f"{len(rigor.explained)} explained"] if rigor.explained else []
    said += [f"{counts[COULD_NOT_RUN]} could not be tried"] if counts[COULD_NOT_RUN] else []
    chosen = f"; {len(rigor.findings)} of {rigor.made} mutants" if len(rigor.findings) < rigor.made else ""
    return f"{rigor.assignment}: rigor {shown_score(rigor.score)} ({', '.join(said)}{chosen}).{right}"


def _right(rigor: Rigor) -> str:
    tried = len(rigor.judged_variants)
    return f"Right variants accepted: {tried - len(rigor.refused)} of {tried}."


def _mutants(count: int) -> str:
    return count_of(count, "mutant")


def shown_score(score: float) -> str:
    """Format a score, never rounded up: 1.00 means all."""
    return f"{int(score * 1000) / 1000:.3f}".removesuffix("0") if score < 1 else "1.00"


def show_mutants(console: Console, mutants: Sequence[Mutant]) -> None:
    for item in mutants:
        print_line(console, Text(item.name, "bold"), f"  {line_place(*item.place)}  {item.description}")
        _difference(console, item.before, item.after)


def _parts(console: Console, rigor: Rigor) -> None:
    columns = [outcome for outcome in OUTCOMES if rigor.of(outcome)]
    parts = dict.fromkeys(item.part for item in rigor.findings)
    rows = []
    for part in [*parts, ""]:
        own = [item for item in rigor.findings if part in ("", item.part)]
        found = Counter(item.outcome for item in own)
        cases = Counter(item.case for item in own if item.case)
        seen = ", ".join(f"{case} {count}" for case, count in cases.most_common(3)) if part else ""
        rows.append((part or "all", *(str(found[item] or "·") for item in columns), seen))
    heads = [outcome.replace("-", " ") for outcome in columns]
    print_table(console, ("part", *heads, "seen first by"), rows, numbers=range(1, len(columns) + 1))


def _beside(console: Console, rigor: Rigor) -> None:
    """Show what the internal tests and the usual comparison catch of the mutants that count."""
    counted = [item for item in rigor.findings if item.counts]
    if not counted:
        return
    rows = [("this gold", *_share(sum(item.caught for item in counted), len(counted)))]
    for title, name in (("the internal tests", "tests"), (f"{rigor.customary} alone, rtol 1e-4, atol 1e-5", "plain")):
        known = [getattr(item.beside, name) for item in counted if getattr(item.beside, name) is not None]
        if len(known) == len(counted):
            rows.append((title, *_share(sum(known), len(known))))
    if len(rows) > 1:
        print_line(console)
        print_table(console, ("in comparison", "killed", "of", ""), rows, numbers=(1, 2))


def _share(caught: int, known: int) -> tuple[str, str, str]:
    return str(caught), str(known), shown_score(caught / known)


def _explain(console: Console, item: Finding) -> None:
    print_line(console)
    print_line(console, Text(f"  {item.name}", "bold"), f"  {line_place(item.file, item.line)}  {item.description}")
    _difference(console, item.before, item.after)
    counts = "; it counts as a survivor until you explain it" if item.outcome == NOT_TOLD_APART and item.counts else ""
    print_line(console, Text("    why: ", "dim"), item.reason + counts)
    if item.explained:
        print_line(console, Text("    but: ", "dim"), item.explained)
    elif item.advice:
        print_line(console, Text("    add: ", "dim"), item.advice)


def unreached_parts(findings: Sequence[Finding]) -> list[tuple[str, int, str]]:
    """List functions with mutants that no case runs, how many there are, and where: what is missing is a case for each
    function, not for each mutant."""
    parts: dict[str, list[Finding]] = {}
    for item in findings:
        if item.reason == UNREACHED and not item.explained:
            parts.setdefault(item.part, []).append(item)
    rows = []
    for part, own in parts.items():
        first, last = min(item.line for item in own), max(item.line for item in own)
        rows.append((part, len(own), line_place(own[0].file, first) + (f" to {last}" if last > first else "")))
    return rows


def _by_function(console: Console, findings: Sequence[Finding]) -> None:
    rows = unreached_parts(findings)
    if not rows:
        return
    count = _mutants(sum(number for _, number, _ in rows))
    print_line(console)
    print_line(console, f"  No case runs {count}: add one for each of these (--all lists every mutant)")
    cells = [(f"  {part}", str(number), place) for part, number, place in rows]
    print_table(console, ("  part", "mutants", "lines"), cells, numbers=(1,))


def _difference(console: Console, before: str, after: str) -> None:
    print_line(console, Text(f"    - {before}", "red"), keep=True)
    print_line(console, Text(f"    + {after}", "green"), keep=True)


def _caught(rigor: Rigor) -> list[Finding]:
    return [item for item in rigor.findings if item.caught]


def _seen_by(item: Finding) -> str:
    return f"{item.case}, {item.tensor}" if item.tensor else item.case
