"""Mutants a minute: `goldsmith rigor` against one fresh pytest process for each mutant, on the same machine in one run.

`make bench` prints it. Both sides run as many at once as there are processors, and both stop at the first failure.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from goldsmith.courses.layout.example import copy_example
from goldsmith.courses.layout.resolve import resolve
from goldsmith.mutants.measure import RigorOptions, measure, mutants_for
from goldsmith.mutants.mutants import Mutant
from goldsmith.targets.target import Placement, Target
from goldsmith.workspace.copies import make_workspaces

ASSIGNMENT = "scratch-1"
SAMPLE = 24
JOBS = len(os.sched_getaffinity(0))


def fresh_pytest(target: Target, mutant: Mutant, folder: Path) -> bool:
    """Whether the internal tests catch it, the usual way: pytest started again with the mutant in place."""
    file = folder / f"{mutant.digest}.py"
    file.write_bytes(mutant.content)
    placed = [item for item in target.placed if item.target != mutant.file]
    with make_workspaces(target, [*placed, Placement(file, mutant.file)], 1, whole=True) as (workspace,):
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-m", "rigor", "-p", "no:cacheprovider"]
        tests = f"tests/internal/test_{ASSIGNMENT.replace('-', '_')}.py"
        done = subprocess.run(
            [*command, tests],
            cwd=workspace.root,
            capture_output=True,
            env=os.environ | {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"},
            check=False,
        )
    return done.returncode == 1


def pytest_a_minute(target: Target, mutants: Sequence[Mutant]) -> tuple[float, int]:
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(JOBS) as pool:
        started = time.monotonic()
        caught = sum(pool.map(lambda mutant: fresh_pytest(target, mutant, Path(folder)), mutants))
        return len(mutants) / (time.monotonic() - started) * 60, caught


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        target = resolve(copy_example(Path(folder, "course")).assignment(ASSIGNMENT))
        mutants = mutants_for(target)
        sample = mutants[:: max(1, len(mutants) // SAMPLE)]
        rigor = measure(target, RigorOptions(jobs=JOBS, keep=False))
        ours = len(rigor.findings) / rigor.seconds * 60
        theirs, caught = pytest_a_minute(target, sample)
    counts = ", ".join(f"{count} {outcome}" for outcome, count in rigor.counts.items() if count)
    print(f"mutants of {ASSIGNMENT}, {JOBS} at once")
    print(f"  goldsmith rigor                {ours:7.0f} a minute   all {len(mutants)}: {counts}")
    print(f"  a fresh pytest for each        {theirs:7.0f} a minute   {len(sample)} of them: {caught} caught")
    print(f"  ratio                          {ours / theirs:7.1f}")


if __name__ == "__main__":
    main()
