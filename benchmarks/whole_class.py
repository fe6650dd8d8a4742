"""A whole class in one run: is every outcome right, does memory stay flat, and does a run that is killed half-way and
started again give the same files?

python benchmarks/whole_class.py [COUNT]      500 unless told; `make class`

Each submission is one of the corpus with a remark of its own. Exit code 1 if anything is not as it should be.
"""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from grading import ASSIGNMENT, JOBS, submit

from goldsmith.courses.layout.example import copy_example
from goldsmith.foundation.ignored_names import GRADES_MARK

_LOOK = 0.5
_NEVER_THE_SAME = ("rope-uninitialised",)
"""Reads memory that nothing was written to: what is said of it differs from run to run, killed or not."""
_FLAT = 1.25
"""So many times what was the most in the first half may be the most in the second."""


@dataclass
class Run:
    """One `goldsmith grade`, watched from outside. For each tenth of the class, in MiB: what the command itself `held`
    while it was at that, time and again; and the `most` it had ever held by then."""

    seconds: float = 0.0
    held: dict[int, list[int]] = field(default_factory=dict)
    most: dict[int, int] = field(default_factory=dict)
    outcomes: dict[str, str] = field(default_factory=dict)


def grade(course: Path, submissions: Path, output: Path, count: int, kill_at: int | None = None) -> Run:
    command = [sys.executable, "-m", "goldsmith", "grade", ASSIGNMENT, str(submissions), "--json"]
    started, run = time.monotonic(), Run()
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(
            [*command, "--course", str(course), "--output", str(output), "--jobs", str(JOBS)],
            stdout=said,
            stderr=subprocess.DEVNULL,
        )
        while process.poll() is None:
            time.sleep(_LOOK)
            done = len(list((output / "feedback").glob("*.md")))
            tenth, memory = min(10 * done // count, 9), memory_of(process.pid)
            if done and memory:
                run.held.setdefault(tenth, []).append(memory["VmRSS"])
                run.most[tenth] = memory["VmHWM"]
            if kill_at is not None and done >= kill_at:
                process.send_signal(signal.SIGKILL)
        run.seconds = time.monotonic() - started
        said.seek(0)
        text = said.read()
    if text:
        run.outcomes = {item["name"]: item["outcome"] for item in json.loads(text)["submissions"]}
    return run


def memory_of(process: int) -> dict[str, int]:
    """What it holds and the most that it ever did, in MiB, as the kernel calls them; nothing once it has ended."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return {}
    return {line.split(":")[0]: int(line.split()[1]) // 1024 for line in lines if line.startswith(("VmRSS", "VmHWM"))}


def files_in(folder: Path) -> dict[str, Path]:
    return {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}


def differing(one: Path, two: Path) -> list[str]:
    """Files of two folders that are not the same but for how long everything took, or only in one."""
    ours, theirs = files_in(one), files_in(two)
    both = ours.keys() & theirs.keys()
    apart = [name for name in both if timeless(ours[name]) != timeless(theirs[name])]
    return sorted([*apart, *(ours.keys() ^ theirs.keys())])


def timeless(file: Path) -> object:
    """What a file says, without the seconds."""
    text = file.read_text(encoding="utf-8")
    if file.name == GRADES_MARK:  # digests of the others, by name
        return {line.partition("  ")[2] for line in text.splitlines()}
    if file.suffix == ".csv":
        return [
            {key: value for key, value in row.items() if key != "seconds"} for row in csv.DictReader(text.splitlines())
        ]
    if file.suffix == ".xml":
        return re.sub(r' time="[0-9.]+"', "", text)
    if file.name == "results.json":
        return {key: value for key, value in json.loads(text).items() if key != "execution_time"}
    return text


def main(count: int) -> int:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        _, truth = submit(folder / "submitted", count, _NEVER_THE_SAME)
        kinds = {outcome: list(truth.values()).count(outcome) for outcome in sorted(set(truth.values()))}
        print(f"{count} submissions to {ASSIGNMENT}, {JOBS} at once: {kinds}", flush=True)
        for name in ("whole", "killed"):
            copy_example(folder / name)
        whole = grade(folder / "whole", folder / "submitted", folder / "grades", count)
        wrong = [name for name, outcome in truth.items() if whole.outcomes.get(name) != outcome]
        print(
            f"  in one run          {whole.seconds:7.0f} s   {count - len(wrong)} of {count} judged right", flush=True
        )
        for name in wrong[:5]:
            print(f"    {name}: {whole.outcomes.get(name, 'nothing')}, and it is {truth[name]}")
        usual = {tenth: round(statistics.median(held)) for tenth, held in whole.held.items()}
        for title, found in (("MiB, usually", usual), ("MiB, most so far", whole.most)):
            print(f"  {title:20}{' '.join(f'{found[tenth]:5}' for tenth in sorted(found))}   by tenths", flush=True)
        early, late = (max(whole.most.get(tenth, 0) for tenth in half) for half in (range(5), range(5, 10)))
        first = grade(folder / "killed", folder / "submitted", folder / "again", count, kill_at=count // 2)
        second = grade(folder / "killed", folder / "submitted", folder / "again", count)
        apart = differing(folder / "grades", folder / "again")
        print(f"  killed half-way     {first.seconds:7.0f} s, then {second.seconds:.0f} s to the end")
        print(f"  files that differ   {len(apart)} of {len(files_in(folder / 'grades'))} {apart[:5] or ''}")
    return 1 if wrong or apart or late > _FLAT * early or first.outcomes else 0


if __name__ == "__main__":
    os.environ |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    raise SystemExit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 500))
