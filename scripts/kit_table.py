"""Check every submission under tests/corpora/submissions with a kit instead of gold.

`make kits` prints one line for each that the kit judges differently, with the reason, and a table: did right work pass,
was wrong work caught, is the part named that is to blame. Names of submissions, or `scratch-2`, choose some; `--write`
puts the table and the exceptions into measurements/kits.md.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from submission_tables import ASSIGNMENTS, judged

from corpora.known_submissions import Known, known
from goldsmith.courses.handout.judge_kit import judge_by_kit
from goldsmith.courses.handout.make_kit import HandedOut, hand_out
from goldsmith.courses.layout.example import copy_example
from goldsmith.courses.layout.layout import Course
from goldsmith.gold.kit_files import LIST
from goldsmith.judge.verdicts import Verdict
from goldsmith.process.fork_client import ForkClient, fork_server

PAGE = Path(__file__).parents[1] / "docs/contributing/measurements/kits.md"
MARK = "<!-- make kits -->\n\n"
_WRONG = ("differs", "could-not-run")


@dataclass(frozen=True)
class Checked:
    """A submission with what the kit says of it; `why` is the reason where that is not what gold says."""

    known: Known
    verdict: Verdict
    seconds: float
    why: str = ""

    @property
    def is_right(self) -> bool:
        return self.known.outcome == "agrees"

    @property
    def is_caught(self) -> bool:
        return self.verdict.outcome != "agrees"

    @property
    def is_named(self) -> bool:
        return self.verdict.first_part in {*self.known.parts, *self.known.unwritten}


def checked(course: Course, kit: Path, item: Known, warm: ForkClient, made: HandedOut) -> Checked:
    with tempfile.TemporaryDirectory() as folder:
        written = item.written(Path(folder), course.root / course.config.solutions)
        for given in course.assignment(item.assignment).files(".py"):  # what students have besides what they write
            place = written / given.relative_to(course.assignment(item.assignment).starter)
            if not place.exists():
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(given.read_bytes())
        started = time.process_time()
        verdict = judge_by_kit(kit, written, fork_server=warm)
    found = Checked(item, verdict, time.process_time() - started)
    wrong = item.outcome in _WRONG and item.parts
    if (found.is_right and found.is_caught) or (wrong and not (found.is_caught and found.is_named)):
        return Checked(item, verdict, found.seconds, _reason(course, item, warm, made, found))
    return found


def _reason(course: Course, item: Known, warm: ForkClient, made: HandedOut, found: Checked) -> str:
    """Say what gold sees that the kit does not."""
    if found.is_right:
        return f"right work that the kit calls {found.verdict.outcome}"
    gold = judged(course, item, warm).verdict
    if gold.outcome == "agrees":
        return "gold does not see it, either"
    seen = [case for case in gold.cases if case.outcome not in ("agrees",)]
    if found.is_caught:
        return f"caught, but {found.verdict.first_part or 'no part'} is named, not {item.parts[0]}"
    there = [case for case in seen if case.name in made.cases]
    if not there:
        return f"shows only in {' and '.join(case.name for case in seen[:2])}, of which the kit has none"
    if all(case.kind == "values" for case in there):
        wrong = [leaf.path for case in there for leaf in case.leaves if not leaf.agrees]
        return f"shows only in {', '.join(dict.fromkeys(wrong))} of {there[0].name}, which has no sketch"
    return f"{there[0].name}: {there[0].reason}"


def all_checked(items: Sequence[Known]) -> Iterator[Checked | HandedOut]:
    with tempfile.TemporaryDirectory() as room, fork_server(preload=["torch"]) as one:
        course = copy_example(Path(room, "course"))
        for assignment in dict.fromkeys(item.assignment for item in items):
            kit = Path(room, "kits", assignment)
            made = hand_out(course.assignment(assignment), kit)
            assert (kit / LIST).is_file()
            yield made
            for item in (item for item in items if item.assignment == assignment):
                yield checked(course, kit, item, one, made)


def table(found: Sequence[Checked], kits: Sequence[HandedOut]) -> Iterator[str]:
    yield "| assignment | kit | cases | right | passed | wrong | caught | part named right |"
    yield "|---|---|---|---|---|---|---|---|"
    for kit in kits:
        some = [item for item in found if item.known.assignment == kit.name]
        right = [item for item in some if item.is_right]
        wrong = [item for item in some if item.known.outcome in _WRONG and item.known.parts]
        caught = [item for item in wrong if item.is_caught]
        cells = [
            kit.name,
            f"{kit.size / 1000:.0f} kB",
            f"{len(kit.cases)} of {len(kit.cases) + len(kit.left_out)}",
            len(right),
            sum(not item.is_caught for item in right),
            len(wrong),
            len(caught),
            sum(item.is_named for item in caught),
        ]
        yield f"| {' | '.join(map(str, cells))} |"


def exceptions(found: Sequence[Checked]) -> Iterator[str]:
    """What the kit judges differently from gold, by the reason."""
    by_reason: dict[tuple[str, str], list[str]] = {}
    for item in found:
        if item.why:
            by_reason.setdefault((item.known.assignment, item.why), []).append(f"`{item.known.name}`")
    for (assignment, why), names in by_reason.items():
        yield f"- {assignment}, {why}: {', '.join(names)}"


def main(arguments: Sequence[str]) -> int:
    names = [item for item in arguments if not item.startswith("--")]
    chosen = [
        item
        for assignment in ASSIGNMENTS
        for item in known(assignment)
        if not names or assignment in names or item.name in names
    ]
    found: list[Checked] = []
    kits: list[HandedOut] = []
    for item in all_checked(chosen):
        if isinstance(item, HandedOut):
            kits.append(item)
            continue
        found.append(item)
        if item.why:
            print(f"{item.known.assignment}/{item.known.name}: {item.why}", flush=True)
    text = "\n".join([*table(found, kits), "", *exceptions(found)])
    if "--write" in arguments:
        before, mark, _ = PAGE.read_text(encoding="utf-8").partition(MARK)
        PAGE.write_text(f"{before}{mark}{text}\n", encoding="utf-8")
    print("", text, sep="\n")
    return 1 if any(item.is_right and item.is_caught for item in found) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
