"""Write down what the program says and makes, and compare later runs with it: for changes that should change nothing.

python scripts/behaviour.py [SECTION …] [--every N] [--accept]

`make behaviour` compares with two things. `tests/corpora/behaviour/` is in the repository: a line for each subject,
with what people read first and a hash of the rest, without what depends on the machine (numbers with a point, paths,
times). `build/behaviour/` is this machine's: every document whole, as it was at the first run or the last `--accept`;
there every digit counts, and the bytes of gold. So run it once before a change, and again after each step. `--accept`
(`make behaviour ACCEPT=1`) takes what is there now for both, and `git diff tests/corpora/behaviour` shows what that
means. `--every 20` looks at every twentieth submission only, which takes minutes. Exits with 1 if anything differs.
"""

from __future__ import annotations

import csv
import dataclasses
import difflib
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kit_table import all_checked
from submission_tables import all_judged, chosen_by

from corpora.known_submissions import known
from goldsmith.cli.app import commands
from goldsmith.courses.handout.make_kit import HandedOut
from goldsmith.courses.layout.example import copy_example
from support.ports.pairs import PAIRS

ROOT = Path(__file__).parents[1]
KEPT, HERE = ROOT / "tests" / "corpora" / "behaviour", ROOT / "build" / "behaviour"
GOLDSMITH = (sys.executable, "-m", "goldsmith")
KIT_SHARE, EVERY = 8, int(sys.argv[sys.argv.index("--every") + 1]) if "--every" in sys.argv else 1
"""Of so many submissions, one is judged by a kit, and one is looked at at all."""
_TIMES = ("seconds", "took", "elapsed", "cpu", "memory")
_LINES = 12


@dataclass(frozen=True)
class Subject:
    """One thing that is looked at: what people read first, and everything."""

    name: str
    summary: str
    document: Any

    def exact(self) -> str:
        document = self.document
        text = document if isinstance(document, str) else json.dumps(_without_times(document), indent=1, default=str)
        return _lasting(text)

    def line(self) -> str:
        digest = hashlib.sha256(_portable(self.exact()).encode()).hexdigest()[:12]
        return f"{self.name}\t{_portable(_lasting(self.summary))}\t{digest}"


def _lasting(text: str) -> str:
    """Return `text` without the day, temporary folders, and how many runs there was time for."""
    text = re.sub(r"\b20\d\d-\d\d-\d\d\b", "<day>", text)
    text = re.sub(r"\b\d+ runs, \d+ of them\b", "<runs>", text)
    return re.sub(rf"({re.escape(tempfile.gettempdir())}/|(\.\./)+tmp)[\w./-]*", "<folder>", text)


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_times(item) for key, item in value.items() if key not in _TIMES}
    return [_without_times(item) for item in value] if isinstance(value, list | tuple) else value


def _portable(text: str) -> str:
    """Return `text` without hashes, and without the numbers that another processor may round differently."""
    text = re.sub(r"\b[0-9a-f]{16,}\b|-?\d+(\.\d+)?e[+-]?\d+|-?\d+\.\d+|\d+(?= ?%)", "~", text)
    return re.sub(r"\d+ of \d+ elements", "~ of ~ elements", text)


def _run(*arguments: str, folder: Path) -> str:
    environment = os.environ | {"COLUMNS": "120", "NO_COLOR": "1"}
    done = subprocess.run([*GOLDSMITH, *arguments], cwd=folder, env=environment, capture_output=True, text=True)
    return done.stdout


def helps() -> Iterator[Subject]:
    """What each command says of itself."""
    for name, _ in commands():
        text = _run(*name.split(), "--help", folder=ROOT)
        yield Subject(name, next((line.strip() for line in text.splitlines()[1:] if line.strip()), ""), text)


def check() -> Iterator[Subject]:
    """The verdict on every submission of the corpus, and its points."""
    for course, chosen in chosen_by([], ""):
        for item in all_judged(course, chosen[::EVERY]):
            found = item.verdict
            earned = sum(each.earned for each in item.items)
            summary = f"{found.outcome} {earned:g}/{len(item.items)} {found.first_part}".strip()
            document = {"verdict": found.plain(), "points": {each.name: each.earned for each in item.items}}
            yield Subject(f"{item.known.assignment}/{item.known.name}", summary, document)


def grade() -> Iterator[Subject]:
    """A class of every tenth submission to one assignment: what is printed and each file that is written."""
    with tempfile.TemporaryDirectory() as room:
        course, folder = copy_example(Path(room, "course")), Path(room, "class")
        for item in known("scratch-1")[::10]:
            item.written(folder, course.root / course.config.solutions)
        said = _run("grade", "scratch-1", str(folder), "--output", str(Path(room, "grades")), folder=course.root)
        yield Subject("screen", said.strip().splitlines()[-1] if said.strip() else "", re.sub(r"[\d.]+ s\b", "", said))
        for path in sorted(Path(room, "grades").rglob("*")):
            if path.is_file() and path.suffix in (".csv", ".md", ".json"):
                text = path.read_text(encoding="utf-8")
                rows = list(csv.DictReader(text.splitlines())) if path.suffix == ".csv" else None
                document = rows or (json.loads(text) if path.suffix == ".json" else text)
                yield Subject(path.relative_to(room).as_posix(), f"{len(text.splitlines())} lines", document)


def parity() -> Iterator[Subject]:
    """Right and wrong ports, with their adapters and without."""
    for pair in PAIRS:
        for mistake in ("", *pair.mistakes):
            for how, tried in (("adapter", pair), ("guess", dataclasses.replace(pair, adapter=None))):
                found = tried.compare(mistake)
                name = f"{pair.name}/{mistake or 'right'}/{how}"
                yield Subject(name, f"{found.outcome} {found.first_divergence}".strip(), found.to_dict())


def rigor() -> Iterator[Subject]:
    """Every finding about the smallest assignment of the bundled course."""
    with tempfile.TemporaryDirectory() as room:
        course = copy_example(Path(room, "course"))
        found = json.loads(_run("rigor", "scratch-3", "--json", folder=course.root))
        for item in found.pop("mutants"):
            yield Subject(item["name"], item["outcome"], item)
        yield Subject("all", "", found)


def kits() -> Iterator[Subject]:
    """What the kits hold, and what they say of some submissions."""
    chosen = [item for name in ("scratch-1", "scratch-2", "scratch-3") for item in known(name)[::KIT_SHARE]]
    for item in all_checked(chosen):
        if isinstance(item, HandedOut):
            yield Subject(item.name, f"{len(item.cases)} cases", {"cases": item.cases, "left out": item.left_out})
        else:
            verdict = item.verdict
            summary = f"{verdict.outcome} {verdict.first_part}".strip()
            yield Subject(f"{item.known.assignment}/{item.known.name}", summary, verdict.plain())


def generate() -> Iterator[Subject]:
    """The bundled course's gold, file by file; the bytes of what is no text are this machine's."""
    with tempfile.TemporaryDirectory() as room:
        os.environ |= dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), "2000-01-01T00:00:00Z")  # for its commit
        course = copy_example(Path(room, "course"))
        said = _run("generate", "all", "--exact", "--force", "--yes", "--json", folder=course.root)
        for item in json.loads(said)["assignments"]:
            yield Subject(item["name"], item["outcome"], item)
        gold = course.root / course.config.fixtures
        for path in sorted(gold.rglob("*")):
            if path.suffix in (".pt", ".safetensors"):
                yield Subject(path.relative_to(gold).as_posix(), "", hashlib.sha256(path.read_bytes()).hexdigest())
            elif path.is_file():
                yield Subject(path.relative_to(gold).as_posix(), "", path.read_text("utf-8"))


SECTIONS: dict[str, Callable[[], Iterator[Subject]]] = {
    "help": helps,
    "parity": parity,
    "generate": generate,
    "rigor": rigor,
    "grade": grade,
    "kits": kits,
    "check": check,
}


def compared(section: str, accept: bool) -> Iterator[str]:
    """Yield what differs in a section; write it down where nothing was, or if it is accepted."""
    found = {subject.name: subject for subject in SECTIONS[section]()}
    kept, documents = KEPT / f"{section}.tsv", HERE / f"{section}.json"
    lines = [subject.line() for subject in found.values()]
    before = kept.read_text(encoding="utf-8").splitlines() if kept.exists() else []
    if EVERY > 1:
        before = [line for line in before if line.partition("\t")[0] in found]
    if not accept:
        changed = difflib.unified_diff(before, lines, f"{kept.relative_to(ROOT)} before", "now", lineterm="", n=0)
        yield from (line for line in changed if not line.startswith("@@"))
    exact = {name: subject.exact() for name, subject in found.items()}
    old = json.loads(documents.read_text(encoding="utf-8")) if documents.exists() else exact
    if EVERY > 1:
        old = {name: text for name, text in old.items() if name in exact}
    for name in old.keys() | exact.keys() if not accept else ():
        mine, theirs = (text.get(name, "").splitlines() for text in (old, exact))
        yield from list(difflib.unified_diff(mine, theirs, f"{section}/{name} before", "now", lineterm="", n=1))[
            :_LINES
        ]
    if accept:
        KEPT.mkdir(parents=True, exist_ok=True)
        kept.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    if accept or (not documents.exists() and EVERY == 1):
        HERE.mkdir(parents=True, exist_ok=True)
        documents.write_text(json.dumps(exact), encoding="utf-8")


def main(arguments: Sequence[str]) -> int:
    chosen = [item for item in arguments if not item.startswith("--") and not item.isdecimal()] or list(SECTIONS)
    if EVERY > 1 and "--accept" in arguments:
        print("--accept takes all submissions: leave --every out", file=sys.stderr)
        return 2
    unknown = [item for item in chosen if item not in SECTIONS]
    if unknown:
        print(f"no section is called {', '.join(unknown)}; there are {', '.join(SECTIONS)}", file=sys.stderr)
        return 2
    different = 0
    for section in chosen:
        lines = list(compared(section, "--accept" in arguments))
        different += bool(lines)
        print(*lines, f"{section}: {'differs' if lines else 'as it was'}", sep="\n", flush=True)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
