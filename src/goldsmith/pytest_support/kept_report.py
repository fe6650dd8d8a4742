"""What became of each check in all processes of a run, and what is kept that no test checks any more."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from goldsmith.errors.base import GoldsmithError
from goldsmith.foundation.atomic_files import write_durably
from goldsmith.gold.manifest import MANIFEST, read_manifest
from goldsmith.pytest_support.kept_entry import CHECK, TEST
from goldsmith.pytest_support.kept_place import KeptPlace, kept_folder, name_in_file
from goldsmith.pytest_support.one_file import SUFFIX, open_one_file
from goldsmith.pytest_support.run_once import once
from goldsmith.targets.target import GOLD_SUFFIX

if TYPE_CHECKING:
    import pytest

Outcome = Literal["recorded", "updated", "unchanged", "checked"]
RECORDED: Outcome = "recorded"
UPDATED: Outcome = "updated"
UNCHANGED: Outcome = "unchanged"
CHECKED: Outcome = "checked"
"""Compared, in a run that updates nothing."""
_SUFFIX, _COLLECTED = ".kept", "collected"


class Note(msgspec.Struct, frozen=True):
    """What became of one check, or what will at the end of the run: `staged` is then where its new value is. `details`
    say in words how it changes, `lost` what is not compared any more."""

    file: str
    test: str
    check: str
    shown: str
    outcome: Outcome
    details: tuple[str, ...] = ()
    staged: str = ""
    lost: tuple[str, ...] = ()

    def place(self, shown_from: Path) -> KeptPlace:
        return KeptPlace(Path(self.file), self.test, self.check, shown_from)


class Unused(msgspec.Struct, frozen=True):
    """Gold of a test, in a file or folder, that nothing checks any more."""

    path: Path
    place: KeptPlace
    why: str


def note(
    shared: Path,
    place: KeptPlace,
    outcome: Outcome,
    details: Sequence[str] = (),
    staged: Path | None = None,
    lost: Sequence[str] = (),
) -> None:
    """Take down what became of a check, for the end of all processes."""
    shared.mkdir(parents=True, exist_ok=True)
    shown = place.shown if staged is None else place.shown_as(staged.name)
    found = Note(
        str(place.file),
        place.test,
        place.check,
        shown,
        outcome,
        tuple(details),
        str(staged or ""),
        tuple(lost),
    )
    write_durably(shared / f"{key_of(place)}{_SUFFIX}", msgspec.msgpack.encode(found))


def key_of(place: KeptPlace) -> str:
    """Return a name for files about a check."""
    return hashlib.sha256(str(place.folder).encode()).hexdigest()


def notes_in(shared: Path) -> list[Note]:
    found = [msgspec.msgpack.decode(path.read_bytes(), type=Note) for path in shared.glob(f"*{_SUFFIX}")]
    return sorted(found, key=lambda item: item.shown)


def note_collected(shared: Path, items: Sequence[pytest.Item]) -> None:
    """Take down every test that there is, before any is deselected; each process collects the same ones."""
    found: dict[str, list[str]] = {}
    for item in items:
        found.setdefault(str(item.path), []).append(item.nodeid)
    once(shared, _COLLECTED, lambda: msgspec.msgpack.encode(found), f".{_COLLECTED}")


def collected_tests(shared: Path) -> dict[Path, dict[str, str]]:
    """Return the node id of every test by its file and its name there."""
    found: dict[str, list[str]] = {}
    for path in shared.glob(f"*.{_COLLECTED}"):
        found |= msgspec.msgpack.decode(path.read_bytes(), type=dict[str, list[str]])
    return {Path(file): {name_in_file(node): node for node in nodes} for file, nodes in found.items()}


def unused_gold(
    files: Mapping[Path, Collection[str]],
    visited: Collection[Path],
    passed: Collection[tuple[Path, str]],
    *,
    partly: bool,
    shown_from: Path,
) -> Iterator[Unused]:
    """Find what is kept for nothing. `files` are the tests of each that was collected, `visited` folders of checks
    that were made, `passed` tests by file and name; with `partly`, not all tests of a file were collected."""
    places = {kept_folder(file): file for file in files}
    for parent in {file.parent for file in files}:
        for folder in parent.glob(f"*{GOLD_SUFFIX}"):
            if not folder.with_suffix(".py").exists():
                places.setdefault(folder, folder.with_suffix(".py"))
    for around, file in sorted(places.items()):
        if around.is_symlink() or not around.is_dir():
            continue
        for path in sorted(around.iterdir()):
            named = _check_of(path)
            if named is None:
                continue
            place = KeptPlace(file, *named, shown_from)
            if place.folder in visited:
                continue
            if file not in files:
                yield Unused(path, place, f"{file.name} does not exist")
            elif place.test not in files[file] and not partly:
                yield Unused(path, place, f"{file.name} has no {place.test}")
            elif (file, place.test) in passed:
                yield Unused(path, place, f"{place.test} did not check it")


def _check_of(path: Path) -> tuple[str, str] | None:
    """Return the test and the name of the check that a file or folder says it was kept for; None if that is not
    certain."""
    if path.is_symlink():
        return None
    with contextlib.suppress(GoldsmithError):
        if path.name.endswith(SUFFIX) and path.is_file():
            about = open_one_file(path).about
            return about[TEST], about[CHECK]
        if (path / MANIFEST).is_file():
            cases = read_manifest(path).cases
            if len(cases) == 1 and TEST in cases[0].config:
                return str(cases[0].config[TEST]), str(cases[0].config[CHECK])
    return None
