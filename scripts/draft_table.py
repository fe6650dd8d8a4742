"""Draft a recipe for each bundled assignment and each shape of a course, and print what became of it: the numbers of
measurements/drafts.md.

PYTHONPATH=tests python scripts/draft_table.py [NAME …] [--mutants N]
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path

from support.draft_measure import BUNDLED, SHAPES, Row, measure


def table(rows: list[Row]) -> Iterator[str]:
    yield "| | parts with cases | TODOs | cases | right ones accepted | wrong ones told | mutants caught | seconds |"
    yield "|---|---|---|---|---|---|---|---|"
    for row in rows:
        right, wrong = f"{row.right - len(row.refused)} of {row.right}", f"{row.wrong - len(row.missed)} of {row.wrong}"
        yield (
            f"| {row.name} | {row.parts} | {row.left} | {row.cases} | {right} | {wrong if row.wrong else '–'} "
            f"| {row.mutants or '–'} | {row.seconds:.0f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", default=[*BUNDLED, *SHAPES])
    parser.add_argument("--mutants", type=int, default=0)
    options = parser.parse_args()
    rows = []
    for name in options.names:
        with tempfile.TemporaryDirectory() as folder:
            rows.append(measure(name, Path(folder), mutants=options.mutants))
        print(list(table(rows[-1:]))[-1], flush=True)
        for word, names in (("refused", rows[-1].refused), ("missed", rows[-1].missed)):
            if names:
                print(f"{name}: {word}: {'; '.join(names)}", flush=True)
    print("\n".join(table(rows)))


if __name__ == "__main__":
    main()
