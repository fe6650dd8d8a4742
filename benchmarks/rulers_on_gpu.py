"""One gold from the CPU, judged in many settings: do right submissions of the corpus agree, do wrong ones differ?

python benchmarks/rulers_on_gpu.py --device cuda [--count 12] [--case NAME …] [--setting "cuda bfloat16" …]

For each setting a copy of the bundled course gets that setting's ruler, and the solution and a sample of submissions
are checked there. Wrong ones count that differ on the CPU in the cases that are run. Exit code 1 if a wrong one agrees,
or a right one differs. With $OUT, the table and all verdicts are written there, too. Tests must be on the path.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from corpora.known_submissions import Known, known
from goldsmith.check.check import check
from goldsmith.check.request import Request
from goldsmith.courses.layout.example import copy_example
from goldsmith.courses.layout.layout import Course, find_course
from goldsmith.courses.layout.resolve import resolve
from goldsmith.courses.submissions.open_submission import open_submission
from goldsmith.generate.calibrate import RulerReport, calibrate_in
from goldsmith.generate.options import options_of
from goldsmith.process.progress import Progress
from goldsmith.runs.setting import PLAIN_SETTING, Setting, setting_named

SETTINGS = {
    "cpu": ("cpu", "cpu bfloat16"),
    "cuda": ("cpu", "cuda", "cuda tf32", "cuda bfloat16", "cuda compiled"),
}
CASES = ("rmsnorm", "attention", "feed_forward", "gold_output", "gradients")
SOLUTION = "the solution"
AGREES, DIFFERS, INCONCLUSIVE = "agrees", "differs", "inconclusive"


@dataclass
class Found:
    """What came of one setting."""

    name: str
    ruler: RulerReport | None = None
    verdicts: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    problem: str = ""


def sample(assignment: str, count: int, names: Sequence[str]) -> list[Known]:
    """Choose as many right as wrong submissions, evenly spread over the corpus."""
    found = known(assignment)
    if names:
        return [item for item in found if item.name in names]
    chosen: list[Known] = []
    for outcome in (AGREES, DIFFERS):
        some = [item for item in found if item.outcome == outcome and not item.also and not item.seconds]
        step = max(1, 2 * len(some) // count)
        chosen += some[::step][: (count + 1) // 2]
    return chosen


def run(name: str, assignment: str, chosen: Sequence[Known], cases: Sequence[str], jobs: int) -> Found:
    """Measure the ruler of a setting, and check the solution and all chosen submissions there."""
    found, started = Found(name), time.monotonic()
    setting = PLAIN_SETTING if name == "cpu" else setting_named(name)
    assert setting is not None, name
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "course"
        copy_example(root)
        course = find_course(root)
        try:
            if not setting.is_plain:
                target = resolve(course.assignment(assignment))
                options = options_of(target, device=setting.device)
                found.ruler = calibrate_in(target, setting, options, Progress())
                sys.stderr.write(f"{name}: its ruler took {time.monotonic() - started:.0f} s\n")
            with ThreadPoolExecutor(jobs) as pool:
                tasks = {item.name: pool.submit(verdict, course, assignment, item, setting, cases) for item in chosen}
                tasks[SOLUTION] = pool.submit(verdict, course, assignment, None, setting, cases)
                for key, task in tasks.items():
                    found.verdicts[key], found.reasons[key] = task.result()
                    sys.stderr.write(f"{name}: {key} {found.verdicts[key]} {found.reasons[key]}\n")
        except Exception as error:
            found.problem = f"{type(error).__name__}: {error}"
    found.seconds = time.monotonic() - started
    return found


def verdict(
    course: Course, assignment: str, item: Known | None, setting: Setting, cases: Sequence[str]
) -> tuple[str, str]:
    """Check one submission, or the solution, and return its outcome and the first reason."""
    with tempfile.TemporaryDirectory() as folder:
        own = course.root / course.config.solutions
        written = own / assignment if item is None else item.written(Path(folder), own)
        with open_submission(course.assignment(assignment), str(written), "it") as submission:
            target = replace(resolve(course.assignment(assignment)), device=setting.device, case_timeout=240.0)
            eager = msgspec.structs.replace(setting, compiled=False)
            found = check(target, submission, Request(cases=cases, setting=eager, compiled=setting.compiled))
    first = next((case for case in found.cases if case.outcome == found.outcome), None)
    return found.outcome, f"{first.name}: {first.reason}" if first and found.outcome != AGREES else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", choices=SETTINGS)
    parser.add_argument("--setting", action="append", default=[])
    parser.add_argument("--assignment", default="scratch-1")
    parser.add_argument("--count", type=int, default=12)
    parser.add_argument("--submission", action="append", default=[])
    parser.add_argument("--case", action="append", default=[])
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) // 5))
    asked = parser.parse_args()
    settings = asked.setting or SETTINGS[asked.device]
    chosen, cases = sample(asked.assignment, asked.count, asked.submission), tuple(asked.case or CASES)
    with ThreadPoolExecutor(len(settings) if asked.device == "cuda" else 1) as pool:
        found = list(pool.map(lambda name: run(name, asked.assignment, chosen, cases, asked.jobs), settings))
    right = {SOLUTION, *(item.name for item in chosen if item.outcome == AGREES)}
    shown = {item.name for item in chosen if item.name not in right and found[0].verdicts.get(item.name) == DIFFERS}
    lines = [
        f"{len(right)} right ones (the solution among them), {len(shown)} wrong ones of {asked.assignment}, in "
        f"{', '.join(cases)}",
        "",
        "| setting | right: agree | wrong: differ | false alarms | false passes | inconclusive | other | limits | s |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    halves = {name for name in shown if "computed in" in found[0].reasons[name]}
    bad = 0
    for item in found:
        if item.problem:
            lines.append(f"| {item.name} | {item.problem} | | | | | | | {item.seconds:.0f} |")
            bad += 1
            continue
        in_half = "16" in item.name  # where half precision inside is right
        wrong = shown - halves if in_half else shown
        ours, theirs = Counter(item.verdicts[name] for name in right), Counter(item.verdicts[name] for name in wrong)
        unclear = ours[INCONCLUSIVE] + theirs[INCONCLUSIVE]
        clear = sum(both[key] for both in (ours, theirs) for key in (AGREES, DIFFERS))
        other = len(right) + len(wrong) - unclear - clear
        limits = f"{item.ruler.smallest:.0e} to {item.ruler.largest:.0e}" if item.ruler else "gold's own"
        bad += ours[DIFFERS] + theirs[AGREES]
        lines.append(
            f"| {item.name} | {ours[AGREES]} | {theirs[DIFFERS]} | {ours[DIFFERS]} | {theirs[AGREES]} | {unclear} | "
            f"{other} | {limits} | {item.seconds:.0f} |"
        )
    if halves:
        lines += ["", f"Half precision inside, which is right in half precision: {', '.join(sorted(halves))}.", ""]
    for item in found:
        for name, outcome in item.verdicts.items():
            if (name in right) != (outcome == AGREES) and (name in right or (name in shown and outcome != DIFFERS)):
                lines.append(f"- {item.name}: {name} {outcome}: {item.reasons[name]}")
    text = "\n".join(lines)
    sys.stdout.write(f"{text}\n")
    if os.environ.get("OUT"):
        folder = Path(os.environ["OUT"])
        (folder / "rulers.md").write_text(f"{text}\n")
        details = {item.name: {"verdicts": item.verdicts, "reasons": item.reasons} for item in found}
        (folder / "rulers.json").write_text(json.dumps(details, indent=2))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
