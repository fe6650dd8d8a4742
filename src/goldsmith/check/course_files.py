"""The files of a course in which one assignment can be checked: what submissions are given, its gold, its solution."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from goldsmith.check.provided_code import changed_record, left_record
from goldsmith.errors.course import OutsideCourse
from goldsmith.gold.manifest import MANIFEST, Manifest
from goldsmith.targets.target import CONFIG_FILE, PROJECT_FILE, Target
from goldsmith.workspace.selection import needed_files

README = "README.md"
"""The page that stands in a folder of gold."""


def public_files(target: Target, manifest: Manifest, hidden_files: Sequence[Path] = ()) -> Iterator[tuple[Path, Path]]:
    """Yield what submissions get next to their own files, and the course's settings, by their paths in it."""
    yield from needed_files(target, manifest.provenance.reads, hidden_files).items()
    yield from _in_course(target, (target.project.root / name for name in (CONFIG_FILE, PROJECT_FILE)))


def private_files(target: Target, manifest: Manifest) -> Iterator[tuple[Path, Path]]:
    """Yield the gold, and a recipe and adapter that are kept next to the solution."""
    gold = (target.gold / name for name in (MANIFEST, README, *(entry.name for entry in manifest.files)))
    yield from _in_course(target, [*gold, target.recipe, target.adapter])


def solution_files(target: Target) -> Iterator[tuple[Path, Path]]:
    """Yield the solution and its variants; where there is none, what is on record of it."""
    if target.solution is None or not target.solution.is_here:
        yield from _in_course(target, (left_record(target), changed_record(target)))
        return
    variants = (item for files in target.variants.values() for item in files)
    yield from _in_course(target, dict.fromkeys(item.source for item in (*target.placed, *variants)))


def files_to_check_with(target: Target, manifest: Manifest, hidden_files: Sequence[Path] = ()) -> dict[str, Path]:
    """Return all that it takes to check submissions to an assignment on another machine, by its path in the course."""
    found = (
        *public_files(target, manifest, hidden_files),
        *private_files(target, manifest),
        *solution_files(target),
    )
    return {inside.as_posix(): path for inside, path in found}


def _in_course(target: Target, paths: Iterable[Path]) -> Iterator[tuple[Path, Path]]:
    root = target.project.root
    for path in paths:
        if not path.is_relative_to(root):
            raise OutsideCourse(target.name, path)
        if path.is_file():
            yield path.relative_to(root), path
