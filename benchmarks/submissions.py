"""Every submission under tests/submissions, checked, beside what it is known to be: `make submissions` prints it.

Each folder is one submission as somebody might hand it in; its `expected.toml` says what it is.
"""

from __future__ import annotations

import queue
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from goldsmith.checking import Request, Verdict, check, open_submission
from goldsmith.course import Course, copy_example
from goldsmith.generation import Options
from goldsmith.recording import Warm, warm_process

CORPUS = Path(__file__).parent.parent / "tests" / "submissions"
_EACH = 20.0


@dataclass(frozen=True)
class Known:
    """One submission and the truth about it: outcome, first wrong module, and the parts that are wrong."""

    assignment: str
    name: str
    about: str
    outcome: str
    first: str
    parts: tuple[str, ...]

    @property
    def folder(self) -> Path:
        return CORPUS / self.assignment / self.name

    def problems(self, verdict: Verdict) -> Iterator[str]:
        """What the verdict gets wrong."""
        if verdict.outcome != self.outcome:
            yield f"{verdict.outcome}, not {self.outcome}"
        if self.outcome != "differs" or verdict.outcome != "differs":
            return
        kinds = {module.name: module.kind for case in verdict.cases for module in case.modules}
        named = kinds.get(verdict.first_divergence, verdict.first_divergence)
        if self.first not in ("", verdict.first_divergence) and named not in self.parts:
            yield f"first {verdict.first_divergence or 'nothing'}, not {self.first}"
        wrong = {part.name for part in verdict.parts if part.outcome == "differs"}
        if self.parts and not wrong & set(self.parts):
            yield f"blames {', '.join(sorted(wrong)) or 'nothing'}, not {', '.join(self.parts)}"


def known(assignment: str) -> list[Known]:
    found = []
    for file in sorted((CORPUS / assignment).glob("*/expected.toml")):
        facts = tomllib.loads(file.read_text(encoding="utf-8"))
        parts = tuple(facts.get("parts", ()))
        found.append(
            Known(assignment, file.parent.name, facts["about"], facts["outcome"], facts.get("first", ""), parts)
        )
    return found


def judged(course: Course, item: Known, warm: Warm) -> Verdict:
    assignment = course.assignment(item.assignment)
    with open_submission(assignment, str(item.folder)) as submission:
        request = Request(options=Options(seed=42, threads=1, timeout=300), each=_EACH, warm=warm)
        return check(assignment, submission, request)


def all_judged(course: Course, items: Sequence[Known]) -> Iterator[Verdict]:
    """Two at a time, in order, each of the two with a warm process of its own."""
    with ThreadPoolExecutor(2) as pool, warm_process(torch=True) as one, warm_process(torch=True) as other:
        free: queue.SimpleQueue[Warm] = queue.SimpleQueue()
        free.put(one)
        free.put(other)

        def work(item: Known) -> Verdict:
            warm = free.get()
            try:
                return judged(course, item, warm)
            finally:
                free.put(warm)

        yield from pool.map(work, items)


def main(names: Sequence[str]) -> int:
    chosen = [item for item in known("scratch-1") if not names or item.name in names]
    wrong = 0
    width = max(len(item.name) for item in chosen)
    print(f"{'submission':{width}}  {'outcome':16}  {'first wrong':28}  judged")
    with tempfile.TemporaryDirectory() as folder:
        course = copy_example(Path(folder, "course"))
        for item, verdict in zip(chosen, all_judged(course, chosen), strict=True):
            problems = list(item.problems(verdict))
            wrong += bool(problems)
            line = f"{item.name:{width}}  {verdict.outcome:16}  {verdict.first_divergence:28}"
            print(f"{line}  {'right' if not problems else 'WRONG: ' + '; '.join(problems)}", flush=True)
    print(f"\n{len(chosen) - wrong} of {len(chosen)} judged right.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
