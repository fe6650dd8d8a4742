"""What `--gold-update` did in all processes of a run, and what is kept that no test checks any more."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from goldsmith.course.lone_recipe import GOLD_SUFFIX
from goldsmith.errors.gold import GoldUnreadable
from goldsmith.foundation.atomic_files import write_durably
from goldsmith.foundation.wording import count_of
from goldsmith.gold.manifest import MANIFEST, read_manifest
from goldsmith.pytest_support.kept_gold import kept_test
from goldsmith.pytest_support.kept_place import KeptPlace, kept_folder, name_in_file, shown_path
from goldsmith.pytest_support.run_once import once

if TYPE_CHECKING:
    import pytest

Outcome = Literal["recorded", "updated", "unchanged"]
RECORDED: Outcome = "recorded"
UPDATED: Outcome = "updated"
UNCHANGED: Outcome = "unchanged"
_SUFFIX, _COLLECTED = ".kept", "collected"


class Note(msgspec.Struct, frozen=True):
    """What became of one check; `details` say in words how it differed, and what to look at."""

    folder: str
    shown: str
    outcome: Outcome
    details: tuple[str, ...]


def note(shared: Path, place: KeptPlace, outcome: Outcome, *details: str) -> None:
    """Take down what became of a check, for the summary of all processes."""
    shared.mkdir(parents=True, exist_ok=True)
    name = hashlib.sha256(str(place.folder).encode()).hexdigest() + _SUFFIX
    write_durably(shared / name, msgspec.msgpack.encode(Note(str(place.folder), place.shown, outcome, details)))


def note_collected(shared: Path, items: Sequence[pytest.Item]) -> None:
    """Take down every test that there is, before any is deselected; each process collects the same ones."""
    found: dict[str, list[str]] = {}
    for item in items:
        found.setdefault(str(item.path), []).append(name_in_file(item.nodeid))
    once(shared, _COLLECTED, lambda: msgspec.msgpack.encode(found), f".{_COLLECTED}")


def report_lines(shared: Path, passed: Collection[tuple[Path, str]], *, partly: bool, invoked: Path) -> Iterator[str]:
    """Say what was recorded and updated, and what is kept for nothing. `passed` are tests by file and name; with
    `partly`, not all tests of a file were collected."""
    notes = [msgspec.msgpack.decode(path.read_bytes(), type=Note) for path in shared.glob(f"*{_SUFFIX}")]
    for item in sorted(notes, key=lambda item: item.shown):
        if item.outcome == UNCHANGED:
            continue
        yield f"{item.outcome:9} {item.shown}"
        yield from (f"    {line}" for line in item.details)
    unchanged = sum(item.outcome == UNCHANGED for item in notes)
    if unchanged:
        yield f"{UNCHANGED:9} {count_of(unchanged, 'check')}"
    collected: dict[str, list[str]] = {}
    for path in shared.glob(f"*.{_COLLECTED}"):
        collected |= msgspec.msgpack.decode(path.read_bytes(), type=dict[str, list[str]])
    visited = {Path(item.folder) for item in notes}
    for folder, why in _unused(collected, visited, passed, partly=partly):
        yield f"unused    {shown_path(folder, invoked)}: {why}; remove it if it is not needed"


def _unused(
    collected: Mapping[str, Sequence[str]],
    visited: Collection[Path],
    passed: Collection[tuple[Path, str]],
    *,
    partly: bool,
) -> Iterator[tuple[Path, str]]:
    files = {Path(name): set(tests) for name, tests in collected.items()}
    places = {kept_folder(file): file for file in files}
    for parent in {file.parent for file in files}:
        for folder in parent.glob(f"*{GOLD_SUFFIX}"):
            if not folder.with_suffix(".py").exists():
                places.setdefault(folder, folder.with_suffix(".py"))
    for around, file in sorted(places.items()):
        for folder in sorted(around.iterdir()) if around.is_dir() else ():
            test = _test_of(folder)
            if test is None or folder in visited:
                continue
            if file not in files:
                yield folder, f"{file.name} does not exist"
            elif test not in files[file] and not partly:
                yield folder, f"{file.name} has no {test}"
            elif (file, test) in passed:
                yield folder, f"{test} did not check it"


def _test_of(folder: Path) -> str | None:
    with contextlib.suppress(GoldUnreadable):
        return kept_test(read_manifest(folder)) if (folder / MANIFEST).is_file() else None
    return None
