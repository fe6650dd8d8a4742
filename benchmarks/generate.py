"""`goldsmith generate` with its proving run, and with tolerances measured anew, beside the bare recipe script."""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from goldsmith.course import Course, copy_example, placements

ROUNDS = 5
CALIBRATIONS = 2
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


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        course = copy_example(Path(temporary, "course"))
        print(f"median of {ROUNDS}, alternating   bare script   goldsmith generate   ratio   tolerances too   ratio")
        for assignment in course.assignments():
            solved = with_solution(course, assignment.name, Path(temporary, f"solved-{assignment.name}"))
            bare: list[float] = []
            ours: list[float] = []
            measured: list[float] = []
            for number in range(ROUNDS):
                out = str(Path(temporary, f"out-{assignment.name}-{number}"))
                bare.append(seconds([sys.executable, "generate_fixtures.py", "--output", out], solved))
                again = [*GOLDSMITH, "generate", assignment.name, "--yes", "--force"]
                ours.append(seconds(again, course.root))
                if number < CALIBRATIONS:
                    measured.append(seconds([*again, "--calibrate"], course.root))
            one, two, three = (statistics.median(item) for item in (bare, ours, measured))
            ratios = f"{two:18.2f} s   {two / one:5.2f} {three:14.2f} s   {three / one:5.2f}"
            print(f"{assignment.name:27} {one:9.2f} s {ratios}")


if __name__ == "__main__":
    main()
