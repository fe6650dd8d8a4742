"""The long tests: `make soak`. Prints the tables of measurements/soak.md and, with --write, puts them there.

Everything is real: processes, SIGKILL, files. After each kill the course is recovered and compared with what it was.
What hostile children leave behind is generated, and judged as it is when a class is graded. `--only children` or
`--only kills` runs one of the two. Exit code 1 if any child did what it must not.
"""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path

from promises import test_interruption as interruption
from support import injection_course as injection
from support.course import COMMAND, RECIPE_FILE, CourseOnDisk, numpy_course
from support.kill import killed_after, killed_at_step, random_moments, whole_tree
from support.return_path import Found, ReturnPath

PAGE = Path(__file__).resolve().parents[2] / "docs/contributing/measurements/soak.md"
KILLS, CHILDREN, END = "<!-- begin: kills -->", "<!-- begin: children -->", "<!-- end -->"
RANDOM, BY_COMMAND, GENERATE = 250, 60, 120
IN_ONE_PROCESS, AS_PROCESSES, AT_ONCE, SIDE_BY_SIDE = 10_000, 500, 250, 4
"""How many submissions leave generated things behind; the first of the second kind has the number 10^6. Of a batch's
time, most is spent waiting for what never comes, so that several batches run side by side."""


def main() -> int:
    only = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else ""
    problems: list[str] = []
    if only != "children":
        heading = ("killed", "where", "times", "before it was done", "work lost", "solution left")
        _put(KILLS, heading, list(rows()), first_numbers=2)
    if only != "kills":
        heading = ("left behind by", "submissions", "children", "slowest", "parent grew by", "problems")
        _put(CHILDREN, heading, list(children(problems)), first_numbers=1)
    print("\n".join(problems), file=sys.stderr)
    return int(bool(problems))


def _put(begin: str, heading: Sequence[str], rows: list[tuple[object, ...]], *, first_numbers: int) -> None:
    """Print a table, and put it into the page if that is wanted."""
    marks = ["---" if number < first_numbers else "---:" for number in range(len(heading))]
    lines = [f"| {' | '.join(map(str, row))} |" for row in (heading, *rows)]
    text = "\n".join([lines[0], f"|{'|'.join(marks)}|", *lines[1:]])
    print(text)
    if "--write" in sys.argv:
        before, _, after = PAGE.read_text().partition(begin)
        PAGE.write_text(f"{before}{begin}\n{text}\n{END}{after.partition(END)[2]}")


def children(problems: list[str]) -> Iterator[tuple[object, ...]]:
    """What the parent makes of what hostile children leave behind."""
    for name, processes, first, count in (
        ("generated results", False, 0, IN_ONE_PROCESS),
        ("processes that generate them", True, 10**6, AS_PROCESSES),
    ):
        total, end = Found(), first + count
        batches = [range(start, min(start + AT_ONCE, end)) for start in range(first, end, AT_ONCE)]
        # spawned, not forked: each batch is to find the memory of a process that has graded nothing yet
        with ProcessPoolExecutor(SIDE_BY_SIDE, get_context("spawn"), max_tasks_per_child=1) as pool:
            for found in pool.map(tried, batches, repeat(processes)):
                total.add(found)
                print(f"{total.tried} of {count}, {len(total.problems)} problems", file=sys.stderr, flush=True)
        problems += total.problems
        size = f"{total.grown // 2**20} MiB"
        yield name, total.tried, total.children, f"{total.slowest:.0f} s", size, len(total.problems)


def tried(numbers: range, processes: bool) -> Found:
    with tempfile.TemporaryDirectory() as folder:
        return ReturnPath(Path(folder)).try_all(numbers, processes=processes)


def rows() -> Iterator[tuple[object, ...]]:
    with tempfile.TemporaryDirectory() as folder:
        course = injection.make_rich(numpy_course(Path(folder, "course")))
        yield from in_place(course)
    with tempfile.TemporaryDirectory() as folder:
        yield ("`generate`", "random moments", GENERATE, *generate(numpy_course(Path(folder, "course")), Path(folder)))


def in_place(course: CourseOnDisk) -> Iterator[tuple[object, ...]]:
    for name, action in (("inject", injection.do_inject), ("reset", injection.do_reset)):
        yield (f"`{name}`", "every step on the disk", *every_step(course, action))
        moments = random_moments(RANDOM, lambda: cycle(course), seed=7)
        yield (f"`{name}`", "random moments", RANDOM, *count(course, action, moments, killed_after))
        chance = random.Random(11)
        starts = [chance.uniform(0.1, 0.6) for _ in range(BY_COMMAND)]
        kill = command_killer(course, name)
        yield (f"`goldsmith {name} hw1`", "random moments", BY_COMMAND, *count(course, action, starts, kill))


def cycle(course: CourseOnDisk) -> None:
    injection.do_inject(course)
    injection.do_reset(course)


def every_step(course: CourseOnDisk, action: Callable[[CourseOnDisk], None]) -> tuple[int, int, int, int]:
    """Step after step, until one kill comes too late."""
    step, cut, lost, left, finished = 0, 0, 0, 0, False
    while not finished:
        step += 1
        unfinished, one, two = count(course, action, [float(step)], lambda at, act: killed_at_step(int(at), act))
        finished = not unfinished
        cut, lost, left = cut + unfinished, lost + one, left + two
    return step, cut, lost, left


def count(
    course: CourseOnDisk,
    action: Callable[[CourseOnDisk], None],
    moments: list[float],
    kill: Callable[[float, Callable[[], None]], bool],
) -> tuple[int, int, int]:
    before = whole_tree(course.root)
    secrets = [path.read_bytes() for path in (course.root / "private").rglob("*.py") if path.stat().st_size]
    cut, lost, left = 0, 0, 0
    for moment in moments:
        if action is injection.do_reset:
            injection.do_inject(course)
        cut += not kill(moment, lambda: action(course))
        assert course.run("status").code == 0
        if injection.state(course):
            injection.do_reset(course)
        after = whole_tree(course.root)
        lost += any(after.get(path) != entry for path, entry in before.items())
        public = [entry[3] for path, entry in after.items() if not path.startswith("private")]
        left += any(secret in content for secret in secrets for content in public) or after.keys() != before.keys()
    return cut, lost, left


def command_killer(course: CourseOnDisk, name: str) -> Callable[[float, Callable[[], None]], bool]:
    def kill(moment: float, _: Callable[[], None]) -> bool:
        process = subprocess.Popen([*COMMAND, name, "hw1"], cwd=course.root, stdout=subprocess.DEVNULL)
        time.sleep(moment)
        process.send_signal(signal.SIGKILL)
        return process.wait() == 0

    return kill


def generate(course: CourseOnDisk, folder: Path) -> tuple[int, int, int]:
    """The starter never changes by a byte; the gold is the whole old or the whole new one."""
    golds = interruption.whole_golds(course)
    course.write({RECIPE_FILE: interruption.slow_recipe(2)})
    before = whole_tree(course.root / "src"), whole_tree(course.root / "private")
    chance = random.Random(3)
    cut, lost, left = 0, 0, 0
    temporary = folder / "tmp"
    for _ in range(GENERATE):
        temporary.mkdir(exist_ok=True)
        process = course.start("generate", "hw1", "--force", TMPDIR=str(temporary))
        time.sleep(chance.uniform(0.05, 1.6))
        process.send_signal(signal.SIGKILL)
        cut += process.wait() != 0
        time.sleep(0.1)
        lost += course.gold_bytes() not in golds
        left += (whole_tree(course.root / "src"), whole_tree(course.root / "private")) != before
        shutil.rmtree(temporary, ignore_errors=True)
    return cut, lost, left


if __name__ == "__main__":
    sys.exit(main())
