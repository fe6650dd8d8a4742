"""`goldsmith generate`, the second proving run included, beside the bare recipe script on the same code."""

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
        print(f"generate, median of {ROUNDS}, alternating   bare script   goldsmith generate   ratio")
        for assignment in course.assignments():
            solved = with_solution(course, assignment.name, Path(temporary, f"solved-{assignment.name}"))
            bare, ours = [], []
            for number in range(ROUNDS):
                out = str(Path(temporary, f"out-{assignment.name}-{number}"))
                bare.append(seconds([sys.executable, "generate_fixtures.py", "--output", out], solved))
                command = "from goldsmith.cli import run; run()"
                ours.append(
                    seconds(
                        [sys.executable, "-c", command, "generate", assignment.name, "--yes", "--force"], course.root
                    )
                )
            one, two = statistics.median(bare), statistics.median(ours)
            print(f"{assignment.name:36} {one:11.2f} s {two:18.2f} s   {two / one:5.2f}")


if __name__ == "__main__":
    main()
