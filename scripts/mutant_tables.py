"""Prints the tables of `docs/rigor.md` and `docs/operators.md`: what becomes of every mutant of the bundled course,
compared with its internal tests and a plain comparison; and every operator.

python scripts/mutant_tables.py [--write] [--operators]
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from goldsmith.courses.layout.example import copy_example
from goldsmith.generate.options import Options
from goldsmith.mutants.load_operators import operators_of
from goldsmith.mutants.measure import RigorOptions, measure
from goldsmith.mutants.results import Rigor

DOCS = Path(__file__).resolve().parents[1] / "docs"
BEGIN, END = "<!-- begin: printed by scripts/mutant_tables.py -->", "<!-- end -->"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        course = copy_example(Path(folder, "course"))
        tables = {"operators.md": "\n".join(operators(operators_of(course)))}
        if "--operators" not in sys.argv:
            wanted = RigorOptions(
                options=Options(seed=42, threads=1, timeout=600),
                case_timeout=60,
                jobs=len(os.sched_getaffinity(0)),
                keep=False,
                baselines=True,
            )
            tables["rigor.md"] = "\n".join(scores([measure(item, wanted) for item in course.assignments()]))
    for name, text in tables.items():
        print(text)
        if "--write" in sys.argv:
            page = (DOCS / name).read_text()
            (DOCS / name).write_text(f"{page.partition(BEGIN)[0]}{BEGIN}\n{text}\n{END}{page.partition(END)[2]}")


def operators(found: object) -> Iterator[str]:
    """Every operator, by family."""
    assert isinstance(found, list)
    family = ""
    for item in found:
        if item.family != family:
            family = item.family
            yield f"\n## {family}\n\n| operator | what is wrong with such a mutant |\n|---|---|"
        yield f"| `{item.name}` | {item.description} |"
    yield ""


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
