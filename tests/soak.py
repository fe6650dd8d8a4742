"""The long kill test: `make soak`. Prints the table of docs/soak.md and, with --write, puts it there.

Everything is real: processes, SIGKILL, files. After each kill the course is recovered and compared with what it was.
"""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import injecting as injection
import test_interruption as interruption
from courses import COMMAND, RECIPE_FILE, CourseOnDisk, numpy_course
from killing import killed_after, killed_at_step, random_moments, whole_tree

PAGE = Path(__file__).resolve().parents[1] / "docs" / "soak.md"
BEGIN, END = "<!-- begin: printed by tests/soak.py -->", "<!-- end -->"
RANDOM, BY_COMMAND, GENERATE = 250, 60, 120


def main() -> None:
    lines = [
        "| killed | where | times | before it was done | work lost | solution left |",
        "|---|---|---:|---:|---:|---:|",
        *(f"| {' | '.join(map(str, row))} |" for row in rows()),
    ]
    text = "\n".join(lines)
    print(text)
    if "--write" in sys.argv:
        page = PAGE.read_text()
        PAGE.write_text(f"{page.partition(BEGIN)[0]}{BEGIN}\n{text}\n{END}{page.partition(END)[2]}")


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
    main()
