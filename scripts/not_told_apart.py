"""Print which mutants no run tells from the solution, in the bundled course and in two of the courses of
the course shapes, as an earlier commit judged them and as the working tree does: the numbers of measurements/rigor.md.

PYTHONPATH=tests python scripts/not_told_apart.py [--before COMMIT]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from corpora.course_shapes import Shape, needle, practicals
from support.course import CourseOnDisk

HERE = Path(__file__).resolve().parents[1]
BEFORE = "2a10d9b"  # called every mutant equivalent that no run told apart
SHAPES = {"practicals": practicals.SHAPE, "needle": needle.SHAPE}
BUNDLED = ("scratch-1", "scratch-2", "scratch-3")

Mutant = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--before", default=BEFORE)
    before = parser.parse_args().before
    with tempfile.TemporaryDirectory() as folder:
        old = Path(folder, "old")
        old.mkdir()
        archive = subprocess.run(["git", "archive", before], cwd=HERE, capture_output=True, check=True).stdout
        subprocess.run(["tar", "-x"], cwd=old, input=archive, check=True)
        then = list(measured(old, Path(folder, "then"), arranged=True))
        now = list(measured(HERE, Path(folder, "now"), arranged=False))
    print("\n".join(table(then, now)))


def measured(source: Path, folder: Path, arranged: bool) -> Iterator[tuple[str, list[Mutant]]]:
    """What becomes of the mutants of every assignment, as the program in `source` judges them."""
    for name, shape in SHAPES.items():
        root = folder / name / shape.assignment
        in_default_folders(shape, root) if arranged else as_it_is(source, shape, root)
        goldsmith(source, root, "generate", shape.assignment, "--yes")
        yield name, json.loads(goldsmith(source, root, "rigor", shape.assignment, "--json"))["mutants"]
    course = folder / "bundled"
    goldsmith(source, folder, "init", "--example", str(course))
    for name in BUNDLED:
        yield name, json.loads(goldsmith(source, course, "rigor", name, "--json"))["mutants"]


def as_it_is(source: Path, shape: Shape, root: Path) -> None:
    """The course with nothing moved."""
    course = shape.write(root)
    goldsmith(source, root, "init", "--yes")
    course.write(dict(shape.recipe))


def in_default_folders(shape: Shape, root: Path) -> None:
    """The assignment moved to where an earlier program looks, which knew none at the root of a course."""
    own = f"{shape.assignment}/" if shape.names else ""
    course = CourseOnDisk(root)
    for folder, files in (("src/assignments", {**shape.public, **shape.recipe}), ("private/solutions", shape.staff)):
        inside = own if folder.startswith("src") else f"{folder}/{own}"
        home = f"{folder}/{shape.assignment}/"
        kept = {name: text for name, text in files.items() if name.startswith(inside)}
        course.write({home + name.removeprefix(inside): text for name, text in kept.items()})
    course.git("init", "--quiet")
    course.git("add", "--all")
    course.git("commit", "--quiet", "-m", "The course")


def goldsmith(source: Path, cwd: Path, *arguments: str) -> str:
    cwd.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-c", "from goldsmith.cli import run; run()", *arguments],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(source / "src")},
        stdout=subprocess.PIPE,
        text=True,
    )
    if done.returncode not in (0, 1):
        raise SystemExit(f"goldsmith {' '.join(arguments)} exits with {done.returncode}")
    return done.stdout


def table(then: list[tuple[str, list[Mutant]]], now: list[tuple[str, list[Mutant]]]) -> Iterator[str]:
    heads = ("mutants before", "survived", "equivalent", "mutants now", "survived", "not told apart", "equivalent")
    yield f"| assignment | {' | '.join(heads)} |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    for (name, old), (_, new) in zip(then, now, strict=True):
        before = [count(old, outcome) for outcome in ("survived", "equivalent")]
        after = [count(new, outcome) for outcome in ("survived", "not-told-apart", "equivalent")]
        yield f"| {name} | {' | '.join(map(str, (len(old), *before, len(new), *after)))} |"
    yield ""
    for when, found in (("before", then), ("now", now)):
        for name, mutants in found:
            for item in mutants:
                if item["outcome"] in ("survived", "not-told-apart", "equivalent"):
                    why = item["explained"] or item["reason"]
                    yield f"- {when}, {name}, {item['outcome']}: `{item['name']}`, `{item['after']}`: {why}"


def count(mutants: list[Mutant], outcome: str) -> int:
    return sum(item["outcome"] == outcome for item in mutants)


if __name__ == "__main__":
    main()
