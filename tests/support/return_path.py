"""From what a child leaves behind to a score: grading's own way, with generated children in place of real ones.

Whatever they leave, the parent must not follow a link, hang, grow beyond a bound, fail, or give points. As a program,
`python tests/support/return_path.py 123 400-499`, it tries these numbers alone and says what came of
them; with `processes`, as children of their own.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import secrets
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from goldsmith.check import replay_workspace
from goldsmith.courses.grade import judging_context, open_contexts
from goldsmith.courses.grade.grade_class import GradingOptions, grade_all
from goldsmith.courses.grade.grader import Grader, Judged, RoundName, rubric_for
from goldsmith.courses.grade.grades import Grade
from goldsmith.courses.grade.submissions import SubmissionRef
from goldsmith.courses.layout.layout import find_course
from goldsmith.engines.engine import Local
from goldsmith.generate.options import Options
from goldsmith.process.messages import JOB
from goldsmith.workspace import temporary
from support import check_course as checking
from support.generated_results import parts_in
from support.generated_worker import PLAIN, Baits, StandIn, Talk

SECRET = secrets.token_hex(16)
MOST_BYTES = 256 * 2**20
"""How much the parent may grow over one submission, which leaves a few MiB behind."""
MOST_WRITTEN = 300_000
"""Bytes that may be written about one submission, in all files together."""
_HUNG_S = 60.0
_RUBRIC = """
    [assignment.hw1.rubric]
    cases = {centred = 1, scaled = 1, counted = 1}
    parts = {centre = 1, scale = 1, Counter = 1}
"""
_WRONG = {
    "centre": ("return x - mean_of(x)", "return x + mean_of(x)"),
    "scale": ("return x * factor", "return x / factor"),
    "total": ("return self.start + x.sum(axis=0)", "return self.start - x.sum(axis=0)"),
}
KINDS = {"wrong": tuple(_WRONG), "mostly": ("centre", "total")}
"""What honest children have left is damaged: of work that is wrong everywhere, and of work that does `scale` right."""


@dataclass
class Found:
    """What came of many generated children."""

    tried: int = 0
    children: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0
    grown: int = 0
    problems: list[str] = field(default_factory=list)

    def add(self, other: Found) -> None:
        self.tried, self.children = self.tried + other.tried, self.children + other.children
        self.slowest, self.grown = max(self.slowest, other.slowest), max(self.grown, other.grown)
        self.outcomes += other.outcomes
        self.problems += other.problems


class ReturnPath:
    """A NumPy course with gold, results of honest children to start from, and things that nobody may reach."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.course = checking.checked_course(folder / "course")
        self.course.write({"goldsmith.toml": _RUBRIC})
        self.assignment = find_course(self.course.root).assignment("hw1")
        self.rubric = rubric_for(self.assignment, allow_stale=False)
        wrong = {
            kind: checking.hand_in(self.course, *map(_WRONG.get, names), name=kind) for kind, names in KINDS.items()
        }
        right = checking.hand_in(self.course, name=PLAIN)
        honest = {kind: self._as_it_is(kind, what) for kind, what in [*wrong.items(), (PLAIN, right)]}
        self._written = {kind: Path(what, "ops.py").read_text() for kind, what in wrong.items()}
        self.earned = {kind: grade.score for kind, (grade, _) in honest.items()}
        self.known = {kind: left for kind, (_, left) in honest.items()}
        self.baits = self._lay_baits()

    def _as_it_is(self, kind: str, what: str) -> tuple[Grade, list[Any]]:
        """What an honest child leaves behind, and what it is worth."""
        left: dict[tuple[str, str], Any] = {}
        with _seen_before_removal(lambda scratch: left.update(_parts(scratch))):
            (grade,) = self._graded([SubmissionRef(kind, what)], lambda made: None)
        return grade, list(left.values())

    def _lay_baits(self) -> Baits:
        folder = self.folder / "outside"
        neighbour, secret, pipe = folder / "neighbour", folder / "secret", folder / "pipe"
        neighbour.mkdir(parents=True)
        answers = b"".join(part.as_bytes() for part in self.known[PLAIN])
        for number in range(1, 10):
            (neighbour / str(number)).write_bytes(answers)
        secret.write_text(f'{{"case": "{SECRET}", "number": 1, "of": 1}}\n')
        os.mkfifo(pipe)
        return Baits(neighbour, secret, folder, pipe)

    def _graded(self, items: Sequence[SubmissionRef], on_grade: Any) -> tuple[Grade, ...]:
        options = Options(seed=42, threads=1, timeout=4)
        grader = Grader(self.assignment, self.rubric, options, case_timeout=0.3, memory=1.0, keep=False)
        wanted = GradingOptions(grader, items, self.results, Local(1), lambda made, kept: on_grade(made))
        return grade_all(wanted).grades

    @property
    def results(self) -> Path:
        return self.folder / "results"

    def try_all(self, numbers: Sequence[int], *, processes: bool) -> Found:
        """Each of these, as children that are real `processes` or not, and what is wrong with what came of it."""
        found = Found()
        warm = StandIn(self.known, self.baits)
        items = {f"{number}": self._handed_in(number) for number in numbers}
        self._outside()  # from here on nothing there has been read
        before = self._outside()
        meter = _Meter()

        def look(made: Grade) -> None:
            number, (seconds, grown) = int(made.name), meter.worst[made.name]
            found.tried += 1
            found.outcomes[made.outcome] += 1
            found.slowest, found.grown = max(found.slowest, seconds), max(found.grown, grown)
            found.problems += [f"{number}: {text}" for text in self._problems(made, grown)]
            if self._outside() != before:
                found.problems.append(f"{number}: something outside was read or changed")

        with self._in_place_of_children(warm, processes), meter.around_each():
            self._graded(list(items.values()), look)
        found.children = sum(warm.started.values())
        errors = self.baits.folder.with_name("errors of ours")
        found.problems += [errors.read_text()] if errors.exists() else []
        return found

    def honest_again(self, *, processes: bool) -> Grade:
        """What right answers earn if the same stand-in leaves them behind as they are."""
        item = self._hand_in(PLAIN, f"# number 0, {PLAIN}\n")
        with self._in_place_of_children(StandIn(self.known, self.baits), processes):
            (grade,) = self._graded([item], lambda made: None)
        return grade

    @contextlib.contextmanager
    def _in_place_of_children(self, warm: StandIn, processes: bool) -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(judging_context, "ForkClient", warm)
            patch.setattr(open_contexts, "_run_solution", lambda grader: {})  # it would be a stand-in, too
            if not processes:
                patch.setattr(replay_workspace, "WorkerChannel", Talk)
            yield

    def _handed_in(self, number: int) -> SubmissionRef:
        kind = list(KINDS)[number % len(KINDS)]
        return self._hand_in(f"{number}", f"{self._written[kind]}\n# number {number}, {kind}\n")

    def _hand_in(self, name: str, source: str) -> SubmissionRef:
        folder = self.folder / "handed in" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "ops.py").write_text(source)
        return SubmissionRef(name, str(folder))

    def _problems(self, made: Grade, grown: int) -> Iterator[str]:
        allowed = self.earned[list(KINDS)[int(made.name) % len(KINDS)]]
        if made.score > allowed:
            yield f"earned {made.score:g} of {made.points:g}, and is worth {allowed:g}"
        if made.outcome in ("agrees", "error"):
            yield f"{made.outcome}: {made.reason[:300]} {[case.why[:200] for case in made.cases]}"
        if grown > MOST_BYTES:
            yield f"the parent grew by {grown // 2**20} MiB"
        files = [path for path in self.results.rglob(f"*{made.name}*") for path in _files(path)]
        texts = [json.dumps(made.plain()), *(path.read_text(errors="replace") for path in files)]
        if SECRET in "".join(texts):
            yield "what is written about it holds what lay behind a link"
        if sum(map(len, texts)) > MOST_WRITTEN:
            yield f"{sum(map(len, texts))} bytes are written about it"

    def _outside(self) -> list[tuple[Any, ...]]:
        """What lies there, and when it was last read: every look is given a time long gone, which a read changes."""
        found = []
        for path in sorted([self.baits.folder, *self.baits.folder.rglob("*")]):
            state = path.lstat()
            content = path.read_bytes() if path.is_file() else b""
            os.utime(path, (0, state.st_mtime))
            found.append((str(path), state.st_mode, state.st_mtime_ns, hash(content), state.st_atime > 1))
        return found


@contextlib.contextmanager
def _seen_before_removal(look: Any) -> Iterator[None]:
    remove = temporary.remove_made

    def seen(base: Path) -> None:
        for scratch in sorted(base.glob("run-*/scratch/[0-9]*-????????/out")):
            # where parts of the solution stand in the place of the submission's, right answers come from there
            if not json.loads((scratch.parent / JOB).read_bytes()).get("corrections"):
                look(scratch)
        remove(base)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(temporary, "remove_made", seen)
        yield


def _parts(out: Path) -> Iterator[tuple[tuple[str, str], Any]]:
    for file in sorted(out.iterdir()):
        for part in parts_in(file.read_bytes()):
            yield (part.case, part.run), part


def _files(path: Path) -> list[Path]:
    return [path] if path.is_file() else [item for item in path.rglob("*") if item.is_file()]


class _Meter:
    """How long one submission takes, and how much larger this process is at its largest meanwhile: the worse of the two
    rounds in which a class is graded."""

    def __init__(self) -> None:
        self.worst: dict[str, tuple[float, int]] = {}

    @contextlib.contextmanager
    def around_each(self) -> Iterator[None]:
        grade = Grader._grade

        def measured(grader: Grader, item: SubmissionRef, name: RoundName) -> Judged:
            began, size = self._begin()
            try:
                return grade(grader, item, name)
            finally:
                faulthandler.cancel_dump_traceback_later()
                seconds, grown = self.worst.get(item.name, (0.0, 0))
                now = (time.monotonic() - began, max(0, _memory("VmHWM") - size))
                self.worst[item.name] = max(seconds, now[0]), max(grown, now[1])

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Grader, "_grade", measured)
            yield

    def _begin(self) -> tuple[float, int]:
        faulthandler.dump_traceback_later(_HUNG_S, exit=True, file=sys.__stderr__)
        with contextlib.suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")  # from here on the peak is counted anew
        return time.monotonic(), _memory("VmRSS")


def _memory(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))


def main(numbers: Sequence[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = ReturnPath(Path(folder))
        print(path.earned, {kind: [(part.case, part.run) for part in parts] for kind, parts in path.known.items()})
        began = time.monotonic()
        found = path.try_all(numbers, processes="processes" in sys.argv)
    print(
        dict(found.outcomes),
        f"{time.monotonic() - began:.0f} s,",
        f"{found.children} children, slowest {found.slowest:.1f} s, {found.grown // 2**20} MiB",
    )
    print("\n".join(found.problems))


if __name__ == "__main__":
    asked_for = [item.partition("-") for item in sys.argv[1:] if item[0].isdigit()]
    main([number for first, _, last in asked_for for number in range(int(first), int(last or first) + 1)])
