"""Print what `goldsmith parity` says of the kernels in tests/corpora/kernels, as a table; 1 if any is judged wrong.

PYTHONPATH=tests python scripts/kernel_table.py [--write] [--device cuda] [--jobs 2] [--dtype DTYPE] [PROBLEM[/NAME] …]

Kernels of Triton run on a GPU, where Triton is installed; those that torch compiles where there is a compiler.
"""

from __future__ import annotations

import argparse
import collections
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from corpora.kernels import DTYPES, Kernel, kernels

PAGE = Path(__file__).parent.parent / "docs/contributing/measurements/kernels.md"
BEGIN, END = "<!-- begin: printed by scripts/kernel_table.py -->", "<!-- end -->"
_MEANT = {"agrees": "are right", "differs": "are wrong"}


@dataclass(frozen=True)
class Row:
    """What was said of a kernel in a dtype. `by` are the comparisons that differ."""

    kernel: Kernel
    dtype: str
    said: str
    by: tuple[str, ...]
    reason: str
    seconds: float

    @property
    def is_right(self) -> bool:
        wanted = self.kernel.outcome(self.dtype)
        return self.said == wanted and (wanted == "agrees" or not self.kernel.by or self.kernel.by in self.by)


def is_runnable(kernel: Kernel, device: str) -> bool:
    """Say whether this machine has what a kernel needs."""
    if kernel.needs == "triton":
        return device.startswith("cuda") and importlib.util.find_spec("triton") is not None
    return kernel.needs != "compiler" or has_compiler()


def has_compiler() -> bool:
    return shutil.which(os.environ.get("CXX", "g++")) is not None


def row(kernel: Kernel, dtype: str, device: str) -> Row:
    """Judge a kernel, by the command that users run."""
    options = ("--device", device, *(("--dtype", dtype) if dtype != "float32" else ()), "--json")
    started = time.monotonic()
    command = [sys.executable, "-m", "goldsmith", "parity", *map(str, kernel.files), *options]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    seconds = time.monotonic() - started
    try:
        (found,) = json.loads(done.stdout)["candidates"]
    except (ValueError, KeyError):
        return Row(kernel, dtype, f"exit {done.returncode}", (), (done.stderr or done.stdout)[-400:], seconds)
    by = tuple(case["name"] for case in found["cases"] if case["outcome"] != "agrees")
    return Row(kernel, dtype, found["outcome"], by, found["reason"], seconds)


def rows(chosen: Sequence[str], dtypes: Sequence[str], device: str, jobs: int) -> Iterator[Row]:
    """Judge what was chosen, all if nothing is, several at a time."""
    wanted = [
        (kernel, dtype)
        for kernel in kernels()
        if not chosen or kernel.problem in chosen or f"{kernel.problem}/{kernel.name}" in chosen
        if is_runnable(kernel, device)
        for dtype in dtypes
    ]
    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(lambda item: row(item[0], item[1], device), wanted)


def table(found: Sequence[Row]) -> str:
    """Return a line for each kernel, with what was said in each dtype."""
    dtypes = list(dict.fromkeys(item.dtype for item in found))
    lines = [f"| kernel | {' | '.join(dtypes)} |", "|---" * (len(dtypes) + 1) + "|"]
    by_kernel: dict[Kernel, dict[str, Row]] = {}
    for item in found:
        by_kernel.setdefault(item.kernel, {})[item.dtype] = item
    for kernel, each in by_kernel.items():
        cells = (_cell(each[dtype]) if dtype in each else "" for dtype in dtypes)
        lines.append(f"| {kernel.problem}/{kernel.name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(item: Row) -> str:
    words = f"{item.said} ({', '.join(item.by)})" if item.by else item.said
    return words if item.is_right else f"**{words}**"


def summary(found: Sequence[Row]) -> str:
    """Count right and wrong kernels, and what was said of them."""
    counted = collections.Counter((item.dtype, _MEANT[item.kernel.outcome(item.dtype)], item.said) for item in found)
    lines = [f"{dtype}: of those that {meant}, {count}: {said}" for (dtype, meant, said), count in counted.items()]
    wrong = sum(not item.is_right for item in found)
    seconds = sorted(item.seconds for item in found)
    return "\n".join([*lines, f"wrong verdicts: {wrong}; each took {seconds[len(seconds) // 2]:.1f} s in the middle"])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("chosen", nargs="*")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--dtype", action="append")
    parser.add_argument("--write", action="store_true", help="write the page, too")
    given = parser.parse_args(arguments)
    found = list(rows(given.chosen, given.dtype or DTYPES, given.device, given.jobs))
    print(table(found), summary(found), sep="\n\n")
    if given.write:
        before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
        text = f"{table(found)}\n\n{summary(found).replace(chr(10), '; ')}"
        PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{rest.split(END)[1]}", encoding="utf-8")
    for item in found:
        if not item.is_right:
            print(
                f"{item.kernel.problem}/{item.kernel.name} {item.dtype}: {item.said} {item.by}: {item.reason}",
                file=sys.stderr,
            )
    return int(not all(item.is_right for item in found))


if __name__ == "__main__":
    raise SystemExit(main())
