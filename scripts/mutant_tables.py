"""Prints the table of docs/contributing/measurements/rigor.md: what becomes of every mutant of the bundled course,
compared with its internal tests and a plain comparison.

python scripts/mutant_tables.py [--write]
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from goldsmith.courses.internal_tests.on_mutants import forked_tests
from goldsmith.courses.layout.example import copy_example
from goldsmith.courses.layout.resolve import resolve
from goldsmith.mutants.measure import RigorOptions, measure
from goldsmith.mutants.results import Rigor

PAGE = Path(__file__).resolve().parents[1] / "docs/contributing/measurements/rigor.md"
BEGIN, END = "<!-- begin: printed by scripts/mutant_tables.py -->", "<!-- end -->"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        course = copy_example(Path(folder, "course"))
        wanted = RigorOptions(
            jobs=len(os.sched_getaffinity(0)),
            keep=False,
        )
        text = "\n".join(
            scores(
                [
                    measure(resolve(item), replace(wanted, find_tests=partial(forked_tests, item)))
                    for item in course.assignments()
                ]
            )
        )
    print(text)
    if "--write" in sys.argv:
        page = PAGE.read_text()
        PAGE.write_text(f"{page.partition(BEGIN)[0]}{BEGIN}\n{text}\n{END}{page.partition(END)[2]}")


def scores(measured: list[Rigor]) -> Iterator[str]:
    outcomes = ("killed", "crashed", "survived", "explained", "not told apart", "equivalent", "rigor")
    yield f"\n| assignment | mutants | {' | '.join(outcomes)} | right variants accepted |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    for item in measured:
        counts = item.counts
        caught, missed = (counts["killed"], counts["crashed"]), (counts["not-told-apart"], counts["equivalent"])
        numbers = (*caught, counts["survived"], len(item.explained), *missed)
        score = f"{item.score:.3f}" if item.score is not None else "-"
        right = f"{len(item.judged_variants) - len(item.refused)} of {len(item.judged_variants)}"
        yield f"| {item.assignment} | {len(item.findings)} | {' | '.join(map(str, numbers))} | {score} | {right} |"
    yield "\n| killed, of those that count | this gold | internal tests | `gold_output` alone, rtol 1e-4, atol 1e-5 |"
    yield "|---|---:|---:|---:|"
    for item in measured:
        counted = [found for found in item.findings if found.counts]
        shares: list[list[bool | None]] = [
            [found.caught for found in counted],
            [found.beside.tests for found in counted],
            [found.beside.plain for found in counted],
        ]
        cells = ["not known" if None in share else f"{sum(map(bool, share))} of {len(share)}" for share in shares]
        yield f"| {item.assignment} | {' | '.join(cells)} |"
    yield ""
    for item in measured:
        yield from _missed(item)


def _missed(rigor: Rigor) -> Iterator[str]:
    """What this gold sees and others do not, and what does not count."""
    caught = [found for found in rigor.findings if found.caught]
    for who, missed in (
        ("the internal tests", [found for found in caught if found.beside.tests is False]),
        ("`gold_output` alone", [found for found in caught if found.beside.plain is False]),
    ):
        if missed:
            names = ", ".join(f"`{found.name}`" for found in missed)
            yield f"- {rigor.assignment}, missed by {who} ({len(missed)}): {names}."
    for found in [*rigor.of("survived"), *rigor.explained, *rigor.of("not-told-apart"), *rigor.of("equivalent")]:
        word = "explained" if found.explained else found.outcome.replace("-", " ")
        yield f"- {rigor.assignment}, {word}: `{found.name}`, `{found.after}`: {found.explained or found.reason}."


if __name__ == "__main__":
    main()
