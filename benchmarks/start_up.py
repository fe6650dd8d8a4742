"""How long light commands take to start, against `python -c pass`; and that they import nothing heavy."""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from goldsmith.course.example import copy_example

ROUNDS = 11
GOLDSMITH = [sys.executable, "-c", "from goldsmith.cli import run; run()"]


def median_seconds(command: list[str], folder: Path) -> float:
    times = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def heavy_imports(arguments: list[str], folder: Path) -> str:
    """Which of torch and NumPy a command has imported by the time it ends."""
    code = (
        "import atexit, sys\n"
        "atexit.register(lambda: print(' '.join(n for n in ('torch', 'numpy') if n in sys.modules), file=sys.stderr))\n"
        f"sys.argv = ['goldsmith', *{arguments!r}]\n"
        "from goldsmith.cli import run; run()"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    return run.stderr.strip() or "neither"


def fifty_assignments(folder: Path) -> Path:
    """A course of fifty assignments with gold: copies of the bundled Scratch-3."""
    course = copy_example(folder).root
    for number in range(4, 51):
        for part in ("src/assignments", "private/solutions", "tests/internal/fixtures"):
            shutil.copytree(course / part / "scratch-3", course / part / f"scratch-{number}")
    return course


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        course = copy_example(Path(temporary, "course")).root
        floor = median_seconds([sys.executable, "-c", "pass"], course)
        print(f"start-up, median of {ROUNDS}        time  over `python -c pass`  imports torch or numpy")
        print(f"{'python -c pass':28} {floor * 1e3:6.0f} ms {1.0:20.1f} x")
        for arguments in (["--help"], ["generate", "--help"], ["status"]):
            seconds = median_seconds([*GOLDSMITH, *arguments], course)
            name = "goldsmith " + " ".join(arguments)
            print(f"{name:28} {seconds * 1e3:6.0f} ms {seconds / floor:20.1f} x  {heavy_imports(arguments, course)}")
        fifty = fifty_assignments(Path(temporary, "fifty"))
        seconds = median_seconds([*GOLDSMITH, "status"], fifty)
        print(f"{'  of fifty assignments':28} {seconds * 1e3:6.0f} ms {seconds / floor:20.1f} x")


if __name__ == "__main__":
    main()
