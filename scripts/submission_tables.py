"""Every submission under tests/corpora/submissions, checked and graded, and compared with what it is known to be.

`make submissions` prints one line for each that is not judged right, and a table of how they were: was it caught, is
the part named that is to blame, was an innocent part called wrong, did a guilty part earn its points, which right parts
of wrong work earned nothing, did right work get all of its points. Names of submissions, or `scratch-2`, choose some;
`--course=FOLDER` takes other gold; `--write` puts the table into measurements/submissions.md, `--json` prints
the verdicts.
"""

from __future__ import annotations

import json
import queue
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from corpora.known_submissions import CORPUS, Known, known
from corpora.networks import ASSIGNMENTS as NETWORKS
from corpora.networks import networks_course
from goldsmith.check.check import check
from goldsmith.check.request import Request
from goldsmith.courses.grade.rubric import Rubric, make_rubric, parts_shown
from goldsmith.courses.grade.scoring import ItemResult, score
from goldsmith.courses.layout.config import RubricConfig
from goldsmith.courses.layout.example import copy_example
from goldsmith.courses.layout.layout import Course, find_course
from goldsmith.courses.layout.resolve import resolve
from goldsmith.courses.submissions.open_submission import open_submission
from goldsmith.gold.load import load_gold
from goldsmith.judge.verdicts import Verdict
from goldsmith.process.fork_client import ForkClient, fork_server

__all__ = ["CORPUS", "Judged", "Known", "judged", "known"]

PAGE = Path(__file__).parents[1] / "docs/contributing/measurements/submissions.md"
ASSIGNMENTS = ("scratch-1", "scratch-2", "scratch-3")
"""Those of the bundled course."""
_EACH = 20.0
_WRONG = ("differs", "could-not-run")


@dataclass(frozen=True)
class Judged:
    """A submission with its verdict, and what every case and every part, each worth a point, came to; `shown` are the
    parts that each case runs, by gold's record."""

    known: Known
    verdict: Verdict
    items: tuple[ItemResult, ...]
    shown: dict[str, tuple[str, ...]]

    @property
    def earned(self) -> dict[tuple[str, str], float]:
        return {(item.kind, item.name): item.earned for item in self.items}

    @property
    def is_right(self) -> bool:
        return self.known.outcome == "agrees"

    @property
    def is_caught(self) -> bool:
        return self.verdict.outcome != "agrees"

    @property
    def named(self) -> str:
        return self.verdict.first_part

    @property
    def innocent(self) -> list[str]:
        """Parts that are called wrong and are not."""
        guilty = self.known.guilty
        return [part.name for part in self.verdict.parts if part.outcome == "differs" and part.name not in guilty]

    @property
    def paid(self) -> list[str]:
        """Guilty parts that earned their points."""
        guilty = self.known.guilty
        return [name for (kind, name), points in self.earned.items() if kind == "part" and points and name in guilty]

    @property
    def right_parts(self) -> list[ItemResult]:
        """The parts of wrong work that are right."""
        if self.known.outcome not in _WRONG or not self.known.guilty:
            return []
        not_right = {*self.known.guilty, *self.known.untold}
        return [item for item in self.items if item.kind == "part" and item.name not in not_right]

    @property
    def innocent_unpaid(self) -> list[ItemResult]:
        """Those of them that earned nothing."""
        return [item for item in self.right_parts if not item.earned]

    @property
    def unpaid(self) -> list[str]:
        """What of right work earned nothing."""
        return [name for (_, name), points in self.earned.items() if not points] if self.is_right else []

    def problems(self) -> Iterator[str]:
        """What the verdict gets wrong."""
        if self.verdict.outcome not in (self.known.outcome, self.known.also):
            yield f"{self.verdict.outcome}, not {self.known.outcome}"
        if self.known.parts and self.known.outcome in _WRONG and self.is_caught:
            if self.named not in self.known.guilty:
                yield f"names {self.named or 'nothing'}, not {', '.join(self.known.parts)}"
            if self.known.first not in ("", self.verdict.first_divergence) and self.named not in self.known.parts:
                yield f"first {self.verdict.first_divergence or 'nothing'}, not {self.known.first}"
        if self.known.outcome == "provided-changed":
            return
        if self.innocent:
            yield f"blames {', '.join(self.innocent)}"
        if self.paid:
            yield f"pays {', '.join(self.paid)}"
        if self.unpaid:
            yield f"does not pay {', '.join(self.unpaid)}"

    def points_lost(self) -> Iterator[str]:
        """Which right parts of wrong work earned nothing, and the reason that is given."""
        whys: dict[str, list[str]] = {}
        for item in self.innocent_unpaid:
            whys.setdefault(item.why, []).append(item.name)
        for why, names in whys.items():
            yield f"does not pay the innocent {', '.join(names)} ({why})"


def rubric_for(course: Course, assignment: str) -> Rubric:
    """A point for every case and for every part."""
    gold = load_gold(course.assignment(assignment).gold)
    shown = parts_shown(gold)
    parts = list(dict.fromkeys(part for case in gold for part in shown[case]))
    config = RubricConfig(cases=dict.fromkeys(gold, 1.0), parts=dict.fromkeys(parts, 1.0))
    return make_rubric(config, list(gold), parts, shown)


def judged(course: Course, item: Known, warm: ForkClient, rubric: Rubric | None = None) -> Judged:
    assignment = course.assignment(item.assignment)
    with tempfile.TemporaryDirectory() as folder:
        written = item.written(Path(folder), course.root / course.config.solutions)
        with open_submission(assignment, str(written), item.name) as submission:
            target = replace(resolve(assignment), timeout=300.0, case_timeout=item.seconds or _EACH)
            verdict = check(target, submission, Request(fork_server=warm))
    rubric = rubric or rubric_for(course, item.assignment)
    return Judged(item, verdict, score(verdict, rubric), rubric.shown)


def all_judged(course: Course, items: Sequence[Known]) -> Iterator[Judged]:
    """Two at a time, in order, each of the two with a warm process of its own."""
    rubrics = {name: rubric_for(course, name) for name in {item.assignment for item in items}}
    with ThreadPoolExecutor(2) as pool, fork_server(preload=["torch"]) as one, fork_server(preload=["torch"]) as other:
        free: queue.SimpleQueue[ForkClient] = queue.SimpleQueue()
        free.put(one)
        free.put(other)

        def work(item: Known) -> Judged:
            warm = free.get()
            try:
                return judged(course, item, warm, rubrics[item.assignment])
            finally:
                free.put(warm)

        yield from pool.map(work, items)


def table(found: Sequence[Judged]) -> Iterator[str]:
    """How often each thing happened, by assignment."""
    columns = "right | all points | wrong | caught | part named right | innocent blamed | guilty paid | innocent unpaid"
    yield f"| assignment | {columns} |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for name in (*dict.fromkeys(item.known.assignment for item in found), ""):
        some = [item for item in found if name in ("", item.known.assignment)]
        right = [item for item in some if item.is_right]
        wrong = [item for item in some if item.known.outcome in _WRONG and item.known.parts]
        caught = [item for item in wrong if item.is_caught]
        named = [item for item in caught if item.named in item.known.guilty]
        unpaid = sum(len(item.innocent_unpaid) for item in some)
        parts = sum(len(item.right_parts) for item in some)
        cells = [
            name or "all",
            len(right),
            sum(not item.is_caught and not item.unpaid for item in right),
            len(wrong),
            len(caught),
            f"{len(named)} ({len(named) / len(caught):.0%})" if caught else "",
            sum(bool(item.innocent) for item in caught),
            sum(bool(item.paid) for item in caught),
            f"{unpaid} of {parts} ({unpaid / parts:.1%})" if parts else "",
        ]
        yield f"| {' | '.join(map(str, cells))} |"


def chosen_by(names: Sequence[str], course_at: str) -> Iterator[tuple[Course, list[Known]]]:
    """Each course that is needed, and what is chosen of the submissions to it."""

    def some(assignments: Sequence[str]) -> list[Known]:
        items = (item for assignment in assignments for item in known(assignment))
        return [item for item in items if not names or item.assignment in names or item.name in names]

    with tempfile.TemporaryDirectory() as folder:
        if course_at:
            course = find_course(Path(course_at))
            yield course, some([item.name for item in course.assignments()])
            return
        if some(ASSIGNMENTS):
            yield copy_example(Path(folder, "course")), some(ASSIGNMENTS)
        needed = list(dict.fromkeys(item.assignment for item in some(NETWORKS)))
        if needed:
            yield networks_course(Path(folder, "networks"), needed), some(NETWORKS)


def main(arguments: Sequence[str]) -> int:
    course_at = next((item.partition("=")[2] for item in arguments if item.startswith("--course=")), "")
    names = [item for item in arguments if not item.startswith("--")]
    found: list[Judged] = []
    for course, chosen in chosen_by(names, course_at):
        for item in all_judged(course, chosen):
            found.append(item)
            problems = [*item.problems(), *item.points_lost()]
            if problems:
                print(f"{item.known.assignment}/{item.known.name}: {'; '.join(problems)}", flush=True)
            if "--json" in arguments:
                print(json.dumps(item.verdict.plain(), indent=1, default=str))
    if not found:
        print(f"no submission is called {' or '.join(names)}", file=sys.stderr)
        return 2
    if "--write" in arguments:
        before, mark, after = PAGE.read_text(encoding="utf-8").partition("<!-- make submissions -->\n\n")
        rest = after.partition("\n\n")[2]
        PAGE.write_text(f"{before}{mark}{chr(10).join(table(found))}\n\n{rest}", encoding="utf-8")
    bad = sum(any((*item.problems(), *item.points_lost())) for item in found)
    print("", *table(found), f"\n{len(found) - bad} of {len(found)} judged right.", sep="\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
