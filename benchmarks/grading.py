"""Submissions a minute: `goldsmith grade` against one fresh pytest process for each, the same cases, on one
machine in one run; and how it grows.

python benchmarks/grading.py [COUNT…]      how it grows: 10, 100 and 500 unless told

Each submission is one of the corpus with a remark of its own, so that no two are the same. A machine is not
always equally fast: half of the fresh ones are measured before all others, half after them. Left out is the one that
never ends: how long that takes is the limit's to say.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from corpora.known_submissions import SOLUTIONS, known
from goldsmith.courses.grade.class_results import Class
from goldsmith.courses.grade.grade_class import GradingOptions, grade_all
from goldsmith.courses.grade.grader import Grader, rubric_for
from goldsmith.courses.grade.submissions import SubmissionRef
from goldsmith.courses.layout.example import copy_example
from goldsmith.courses.layout.layout import Course
from goldsmith.engines.engine import Local
from goldsmith.generate.options import Options

ASSIGNMENT = "scratch-1"
JOBS = len(os.sched_getaffinity(0))
SAMPLE = 16
ENDLESS = ("generate-never-ends",)
TEST = """
import pytest


@pytest.mark.gold("scratch-1")
def test_case(gold_case):
    gold_case.assert_agrees()
"""


def submit(folder: Path, count: int, without: Collection[str] = ()) -> tuple[list[SubmissionRef], dict[str, str]]:
    """`count` variations of the corpus, the kinds well mixed, and what each is known to be."""
    corpus = [item for item in known(ASSIGNMENT) if item.name not in without]
    mixed = [corpus[(index * 41) % len(corpus)] for index in range(len(corpus))]
    items, truth = [], {}
    for number in range(count):
        source = mixed[number % len(mixed)]
        name = f"{number:03d}-{source.name}"
        source.written(folder, SOLUTIONS).rename(folder / name)
        with (folder / name / "backbone.py").open("a", encoding="utf-8") as file:
            file.write(f"\n# submitted as number {number}\n")
        items.append(SubmissionRef(name, str(folder / name)))
        truth[name] = source.outcome
    return items, truth


def grader_of(course: Course) -> Grader:
    assignment = course.assignment(ASSIGNMENT)
    return Grader(
        assignment=assignment,
        rubric=rubric_for(assignment, allow_stale=False),
        options=Options(seed=42, threads=1, timeout=300),
        case_timeout=20.0,
        memory=6.0,
    )


def graded(course: Course, items: Sequence[SubmissionRef], output: Path) -> tuple[Class, float]:
    grader = grader_of(course)
    started = time.monotonic()
    result = grade_all(GradingOptions(grader, items, output, Local(JOBS)))
    return result, time.monotonic() - started


def fresh_pytest(course: Course, item: SubmissionRef) -> None:
    """The usual way: pytest started again for each submission. The plugin judges the same cases in the same way."""
    tests = course.root / "tests/internal/test_every_case.py"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        str(tests),
        "--gold-submission",
        item.what,
    ]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    subprocess.run(command, cwd=course.root, env=environment, capture_output=True, check=False)


def fresh_ones(course: Course, items: Sequence[SubmissionRef]) -> float:
    """How many seconds they take."""
    started = time.monotonic()
    with ThreadPoolExecutor(JOBS) as pool:
        list(pool.map(lambda item: fresh_pytest(course, item), items))
    return time.monotonic() - started


def main(counts: Sequence[int]) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        course = copy_example(folder / "course")
        (course.root / "tests/internal/test_every_case.py").write_text(TEST)
        print(f"submissions to {ASSIGNMENT}, {JOBS} at once")
        sample, _ = submit(folder / "sample", SAMPLE, ENDLESS)
        seconds_fresh = fresh_ones(course, sample[: SAMPLE // 2])
        for count in counts:
            items, truth = submit(folder / f"submitted-{count}", count, ENDLESS)
            result, seconds = graded(course, items, folder / f"grades-{count}")
            right = sum(item.outcome == truth[item.name] for item in result.grades)
            rate = count / seconds * 60
            print(
                f"  goldsmith grade, {count:4}     {rate:7.1f} a minute   {right} of {count} judged right", flush=True
            )
        seconds_fresh += fresh_ones(course, sample[SAMPLE // 2 :])
        theirs = len(sample) / seconds_fresh * 60
        print(f"  a fresh pytest for each   {theirs:7.1f} a minute   {len(sample)} of them")
        print(f"  ratio                     {rate / theirs:7.1f}")


if __name__ == "__main__":
    main([int(count) for count in sys.argv[1:]] or [10, 100, 500])
