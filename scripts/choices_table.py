"""Prints `measurements/choices.md`'s tables: what `goldsmith check` says of right and wrong ways to choose; 1 if any is
judged wrong.

PYTHONPATH=tests python scripts/choices_table.py [--write] [--seeds N]
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpora.choices import STARTER_PATH, Variant, course_of_choices, variants
from goldsmith.gold.load import load_gold
from support.course import CourseOnDisk

PAGE = Path(__file__).resolve().parents[1] / "docs/contributing/measurements/choices.md"
BEGIN, END = "<!-- begin: printed by scripts/choices_table.py -->", "<!-- end -->"
FIRST_SEED = 42


@dataclass(frozen=True)
class Row:
    """What was said of a variant. `said` is what is wrong in its first wrong case, in words."""

    variant: Variant
    seed: int
    outcome: str
    cases: dict[str, str]
    ties: int
    said: str

    @property
    def is_right(self) -> bool:
        """Say whether a right variant never fails, and a wrong one is found where it is wrong and by what is wrong."""
        if not self.variant.case:
            return self.outcome in ("agrees", "inconclusive")
        return self.cases.get(self.variant.case) == "differs"


def gold_of(folder: Path, seed: int) -> tuple[CourseOnDisk, list[tuple[str, int, int, int]]]:
    """Make gold from a seed; return, by case, how many choices there are, how many are close, and what was kept after
    ties."""
    course = course_of_choices(folder)
    run = course.run("generate", "hw1", "--seed", str(seed), calibrate=True)
    assert run.code == 0, run.out + run.err
    gold = load_gold(course.gold())
    entries = ((name, choice) for name in gold for choice in gold[name].entry.choices or ())
    return course, [(name, item.positions, item.close, len(item.branches)) for name, item in entries]


def judged(course: CourseOnDisk, variant: Variant, seed: int) -> Row:
    path = course.root.parent / f"{variant.name}-{seed}" / Path(STARTER_PATH).name
    path.parent.mkdir(exist_ok=True)
    path.write_text(variant.code, encoding="utf-8")
    run = course.run("check", "hw1", str(path), "--json")
    verdict = json.loads(run.out)["submissions"][0]
    cases = {case["name"]: case["outcome"] for case in verdict["cases"]}
    ties = sum(item["ties"] for case in verdict["cases"] for item in case["chosen"])
    return Row(variant, seed, verdict["outcome"], cases, ties, _said(verdict, variant))


def _said(verdict: dict[str, Any], variant: Variant) -> str:
    case = next((case for case in verdict["cases"] if case["name"] == variant.case), None)
    if case is None:
        return "; ".join(f"{case['name']}: {case['reason']}" for case in verdict["cases"] if case["reason"])
    wrong = next((item for item in case["chosen"] if item["wrong"]), None)
    if wrong is not None:
        return f"at {wrong['index']} {wrong['why']}"
    shapes = [f"shape {leaf['actual_shape']}, not {leaf['gold_shape']}" for leaf in case["leaves"] if leaf["problem"]]
    return next(iter(shapes), case["reason"])


def tables(rows: Sequence[Row], golds: Sequence[tuple[str, int, int, int]]) -> Iterator[str]:
    yield from ("| case | choices | decided by rounding | kept after ties |", "|---|---:|---:|---:|")
    for name in dict.fromkeys(item[0] for item in golds):
        sums = [sum(column) for column in zip(*(item[1:] for item in golds if item[0] == name), strict=True)]
        yield f"| {name} | {' | '.join(map(str, sums))} |"
    right = [row for row in rows if not row.variant.case]
    yield from ("", "| right, but for rounding | verdict | other choices, all of them ties |", "|---|---|---:|")
    for variant in dict.fromkeys(row.variant for row in right):
        own = [row for row in right if row.variant == variant]
        outcomes = ", ".join(sorted({row.outcome for row in own}))
        yield f"| {variant.about} | {outcomes} | {sum(row.ties for row in own)} |"
    yield from ("", "| wrong | found in | by |", "|---|---|---|")
    for row in (row for row in rows if row.variant.case and row.seed == FIRST_SEED):
        yield f"| {row.variant.about} | {row.variant.case} | {row.said} |"
    seeds = len({row.seed for row in rows})
    missed = sum(not row.is_right for row in rows)
    yield from (
        "",
        f"From {seeds} seeds, {len(rows)} verdicts on {len({row.variant for row in rows})} variants: {missed} wrong.",
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the page, too")
    parser.add_argument("--seeds", type=int, default=1)
    given = parser.parse_args(arguments)
    rows: list[Row] = []
    golds: list[tuple[str, int, int, int]] = []
    with tempfile.TemporaryDirectory() as temporary:
        for seed in range(FIRST_SEED, FIRST_SEED + given.seeds):
            course, made = gold_of(Path(temporary, f"course-{seed}"), seed)
            golds += made
            for variant in (*variants("right"), *variants("wrong")):
                rows.append(judged(course, variant, seed))
                if not rows[-1].is_right:
                    print(f"{variant.name}, seed {seed}: {rows[-1].outcome}, {rows[-1].said}", file=sys.stderr)
    text = "\n".join(tables(rows, golds))
    print(text)
    if given.write:
        page = PAGE.read_text(encoding="utf-8")
        before, after = page.partition(BEGIN)[0], page.partition(END)[2]
        PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")
    return int(not all(row.is_right for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())
