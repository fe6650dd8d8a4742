"""Is the gold of an assignment there, and was it made from the sources as they stand now?"""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from goldsmith._version import __version__
from goldsmith.course import Assignment, Course, placements
from goldsmith.errors import GoldsmithError, GoldUnreadable
from goldsmith.generation.sources import hash_sources
from goldsmith.gold import MANIFEST, Environment, FileEntry, Manifest, Provenance, read_manifest
from goldsmith.workspace import file_hash, journals, read_journal

FRESH, STALE, MISSING, INJECTED = "fresh", "stale", "missing", "injected"


@dataclass(frozen=True)
class Freshness:
    outcome: str
    reasons: tuple[str, ...] = ()


def survey(course: Course) -> dict[str, Freshness]:
    """Every assignment by name, and what is injected for one that is no more."""
    found = {assignment.name: freshness(assignment) for assignment in course.assignments()}
    for journal in journals(course):
        why = f"no such assignment any more, but its solution is in place since {journal.since}"
        found.setdefault(journal.assignment, Freshness(INJECTED, (why,)))
    return found


def freshness(assignment: Assignment, *, thorough: bool = False) -> Freshness:
    """Fresh, stale and why, or missing; from hashes alone, without loading any array.

    The gold's own files are looked at by size, or `thorough`ly by their bytes.
    """
    journal = read_journal(assignment.course, assignment.name)
    if journal is not None:
        return Freshness(INJECTED, (f"the solution stands in the starter's place since {journal.since}",))
    if not (assignment.gold / MANIFEST).is_file():
        return Freshness(MISSING, ("no gold yet" if assignment.recipe.is_file() else "no recipe yet",))
    try:
        manifest = read_manifest(assignment.gold)
        changed = _changed_sources(assignment, manifest.provenance)
    except GoldUnreadable as error:
        return Freshness(STALE, (error.problem,))
    except GoldsmithError as error:
        return Freshness(STALE, (str(error),))
    made = manifest.provenance
    reasons = [*changed, *_environment(made.goldsmith, made.environment)]
    reasons += [
        f"{item.name} is not what was published"
        for item in manifest.files
        if not _is_published(assignment.gold / item.name, item, thorough)
    ]
    return Freshness(STALE, tuple(reasons)) if reasons else Freshness(FRESH)


def stale_reasons(assignment: Assignment, manifest: Manifest, *, starter: bool) -> list[str]:
    """What changed since the gold was made, apart from the machine: without `starter`, what stands there is not asked.

    Where there is no solution, as in what students get, gold cannot be stale on its account.
    """
    made = manifest.provenance
    if not starter:
        made = msgspec.structs.replace(made, starter={})
    if not assignment.course.solutions_folder.is_dir():
        made = msgspec.structs.replace(made, solution={})
    return _changed_sources(assignment, made)


def _changed_sources(assignment: Assignment, made: Provenance) -> list[str]:
    """In the sources that `made` knows of; those it has none of are not looked at."""
    placed = placements(assignment) if made.solution else []
    now = hash_sources(assignment, placed)
    return [
        *(_changes(made.solution, now.solution) if made.solution else ()),
        *_changes(made.recipe, now.recipe),
        *(_changes(made.starter, now.starter) if made.starter else ()),
        *_changes(made.reads, file_hashes(assignment, made.reads)),
    ]


def _changes(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    found = []
    for path in sorted(before.keys() | now.keys()):
        if path not in now:
            found.append(f"{path} is gone")
        elif path not in before:
            found.append(f"{path} is new")
        elif before[path] != now[path]:
            found.append(f"{path} changed since the gold was made")
    return found


def file_hashes(assignment: Assignment, paths: Iterable[str]) -> dict[str, str]:
    """Of those of the course's files that are there."""
    found = {name: assignment.course.root / name for name in paths}
    return {name: file_hash(path) for name, path in found.items() if path.is_file()}


def _environment(goldsmith: str, made: Environment) -> Iterator[str]:
    """Versions that differ from those the gold was recorded with; found without importing any of them."""
    yield from _version("Python", _minor(made.python), _minor(platform.python_version()))
    yield from _version("NumPy", made.numpy, installed_version("numpy"))
    if made.torch:
        yield from _version("torch", made.torch, installed_version("torch"))
    yield from _version("goldsmith", _minor(goldsmith), _minor(__version__))


def environment_differences(before: Path, after: Path) -> list[str]:
    """Facts of the recording machine that differ between two gold folders, in words."""
    one = msgspec.to_builtins(read_manifest(before).provenance.environment)
    two = msgspec.to_builtins(read_manifest(after).provenance.environment)
    return [f"{name} was {one[name]}, now {two[name]}" for name in one if one[name] != two[name]]


def _version(name: str, made: str, now: str | None) -> Iterator[str]:
    if now is None:
        yield f"recorded with {name} {made}, which is not installed here"
    elif made != now:
        yield f"recorded with {name} {made}, this is {now}"


def installed_version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def _is_published(path: Path, entry: FileEntry, thorough: bool) -> bool:
    if not path.is_file() or path.stat().st_size != entry.size:
        return False
    return not thorough or file_hash(path) == entry.sha256
