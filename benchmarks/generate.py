"""`goldsmith generate` with its proving run, and a first one with its tolerances measured, against the bare recipe."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from goldsmith.courses.layout.example import copy_example
from goldsmith.courses.layout.layout import Course
from goldsmith.courses.layout.solutions import placements

ROUNDS = 5
FIRST_GENERATIONS = 2
BOUND = 4.0
"""A first generation over the bare script, at most: two recordings at once, then eighteen trials in two processes."""
GOLDSMITH = [sys.executable, "-c", "from goldsmith.cli import run; run()"]


def seconds(command: list[str], folder: Path) -> float:
    started = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - started


def with_solution(course: Course, name: str, folder: Path) -> Path:
    """A copy of the course in which the solution stands in place, and in it the assignment's folder."""
    assignment = course.assignment(name)
    shutil.copytree(course.root, folder)
    target = folder / assignment.starter.relative_to(course.root)
    for item in placements(assignment):
        shutil.copyfile(item.source, target / item.target)
    return target


def main() -> int:
    with tempfile.TemporaryDirectory() as temporary:
        course = copy_example(Path(temporary, "course"))
        print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}; promised for two idle ones")
        print(f"median of {ROUNDS}, alternating   bare script   goldsmith generate   ratio   first generation   ratio")
        broken: list[str] = []
        for assignment in course.assignments():
            solved = with_solution(course, assignment.name, Path(temporary, f"solved-{assignment.name}"))
            bare: list[float] = []
            ours: list[float] = []
            first: list[float] = []
            for number in range(ROUNDS):
                out = str(Path(temporary, f"out-{assignment.name}-{number}"))
                bare.append(seconds([sys.executable, "generate_fixtures.py", "--output", out], solved))
                generate = [*GOLDSMITH, "generate", assignment.name, "--yes", "--force"]
                if number < FIRST_GENERATIONS:
                    shutil.rmtree(assignment.gold)
                    first.append(seconds(generate, course.root))
                ours.append(seconds(generate, course.root))
            one, two, three = (statistics.median(item) for item in (bare, ours, first))
            ratios = f"{two:18.2f} s   {two / one:5.2f} {three:16.2f} s   {three / one:5.2f}"
            print(f"{assignment.name:27} {one:9.2f} s {ratios}", flush=True)
            if three / one > BOUND:
                broken.append(f"first generation of {assignment.name}: {three / one:.2f} x the bare script")
    for promise in broken:
        print(f"broken: {promise}, promised {BOUND:.1f}")
    if not broken:
        print(f"first generation, tolerances measured: at most {BOUND:.1f} x the bare script, as promised")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
