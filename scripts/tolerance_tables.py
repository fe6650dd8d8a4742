"""Prints `measurements/tolerances.md`'s tables: noise and tolerance of every tensor, and what they do to correct work.

python scripts/tolerance_tables.py [--write]
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from corpora.correct_variants import COMPILED, CORRECT, replayed
from goldsmith.courses.layout.example import copy_example
from goldsmith.courses.layout.layout import Course
from goldsmith.gold.arrays import judged_leaves, numbers_of
from goldsmith.gold.load import GoldCase, load_gold
from support.gold_judgement import judge

PAGE = Path(__file__).resolve().parents[1] / "docs/contributing/measurements/tolerances.md"
BEGIN, END = "<!-- begin: printed by scripts/tolerance_tables.py -->", "<!-- end -->"


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        course = copy_example(Path(temporary, "course"))
        folder = Path(temporary)
        text = "\n".join([*(line for name in CORRECT for line in _judged(course, name, folder)), *_noise(course)])
    print(text)
    if "--write" in sys.argv:
        page = PAGE.read_text()
        before, after = page.partition(BEGIN)[0], page.partition(END)[2]
        PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")


def _judged(course: Course, name: str, folder: Path) -> Iterator[str]:
    """Every correct implementation under measured and under default tolerances."""
    assignment = course.assignment(name)
    gold = load_gold(assignment.gold)
    corpus = dict(CORRECT[name])
    if name == "scratch-1" and shutil.which("g++"):
        corpus["compiled"] = COMPILED
    yield f"| {assignment.label}, correct but different | worst | measured | beyond 1e-4 / 1e-5 | default |"
    yield "|---|---:|---|---:|---|"
    rejected = [0, 0]
    for title, implementation in corpus.items():
        with tempfile.TemporaryDirectory(dir=folder) as place:
            found = replayed(course, name, implementation, Path(place))
        worst = max(judge(payload, gold[case]).worst for case, payload in found.items())
        beyond = sum(_beyond_customary(payload, gold[case]) for case, payload in found.items())
        rejected[0] += worst > 1
        rejected[1] += beyond > 0
        yield f"| {title} | {worst:.2f} | {_word(worst <= 1)} | {beyond} tensors | {_word(not beyond)} |"
    yield f"| **rejected, of {len(corpus)}** | | **{rejected[0]}** | | **{rejected[1]}** |"
    yield ""


def _beyond_customary(payload: dict[str, object], gold: GoldCase) -> int:
    actual = judged_leaves(payload)
    pairs = [(numbers_of(actual[path]), numbers_of(leaf)) for path, leaf in judged_leaves(gold.data).items()]
    return sum(not np.allclose(one, two, rtol=1e-4, atol=1e-5) for one, two in pairs)


def _word(accepted: bool) -> str:
    return "accepts" if accepted else "rejects"


def _noise(course: Course) -> Iterator[str]:
    for assignment in course.assignments():
        gold = load_gold(assignment.gold)
        yield f"### {assignment.label}\n"
        yield "| case | tensor | noise | measured tolerance | rtol 1e-4 / atol 1e-5: used by noise | blind to |"
        yield "|---|---|---:|---:|---:|---:|"
        for name in gold:
            case = gold[name].entry
            for item in case.tensors:
                tolerance = item.tolerance
                if tolerance is None or tolerance.noise is None or tolerance.max is None:
                    continue
                noise = tolerance.noise
                yield (
                    f"| {name} | `{item.path}` | {noise.max:.1e} | {tolerance.max:.1e} | {noise.customary:.2g} x | "
                    f"{noise.unseen:.1%} |"
                )
        yield ""


if __name__ == "__main__":
    main()
