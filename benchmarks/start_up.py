"""How long light commands take to start, over a bare Python and against what is promised; and that they import nothing
heavy.

The promises are for the median wall time on an idle machine. Processor time is shown, too, since it says more on a busy
one.
"""

from __future__ import annotations

import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from goldsmith.courses.layout.example import copy_example

ROUNDS = 11
GOLDSMITH = [sys.executable, "-c", "from goldsmith.cli import run; run()"]
PROMISED_MS = {"--help": 120, "status of fifty assignments": 250}
"""At most this much over `python -c pass`."""


class Cost(NamedTuple):
    """Medians of one command, in milliseconds."""

    wall: float
    processor: float


def measure(command: list[str], folder: Path) -> Cost:
    rounds = []
    for _ in range(ROUNDS):
        before, started = _processor_s(), time.perf_counter()
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        rounds.append((time.perf_counter() - started, _processor_s() - before))
    return Cost(*(statistics.median(column) * 1e3 for column in zip(*rounds, strict=True)))


def _processor_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def show(name: str, cost: Cost, bare: Cost, imports: str = "") -> None:
    over, processor = cost.wall - bare.wall, cost.processor - bare.processor
    most = PROMISED_MS.get(name)
    promised = f"at most {most} ms: {'kept' if over <= most else 'NOT KEPT'}" if most else ""
    print(f"{name:28} {cost.wall:6.0f} ms {over:+9.0f} ms {processor:+9.0f} ms  {promised:24}  {imports}".rstrip())


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
    print(f"start-up of goldsmith, median of {ROUNDS}; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    print(f"{'':28} {'wall':>9} {'over bare':>12} {'processor':>12}  {'promised over bare':24}  imports torch or numpy")
    with tempfile.TemporaryDirectory() as temporary:
        course = copy_example(Path(temporary, "course")).root
        bare = measure([sys.executable, "-c", "pass"], course)
        show("python -c pass", bare, bare)
        for arguments in (["--help"], ["generate", "--help"], ["status"], ["status", "--json"]):
            cost = measure([*GOLDSMITH, *arguments], course)
            show(" ".join(arguments), cost, bare, heavy_imports(arguments, course))
        fifty = fifty_assignments(Path(temporary, "fifty"))
        show("status of fifty assignments", measure([*GOLDSMITH, "status"], fifty), bare)


if __name__ == "__main__":
    main()
