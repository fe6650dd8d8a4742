"""Freshness of gold: whether it exists, and was made from the sources as they are now."""

from __future__ import annotations

import os
import platform
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from goldsmith._version import __version__
from goldsmith.courses.injection.journal import journals, read_journal
from goldsmith.courses.layout.layout import Assignment, Course
from goldsmith.courses.layout.solutions import has_solutions, placements
from goldsmith.errors.base import GoldsmithError
from goldsmith.errors.check import NoGold, StaleGold
from goldsmith.errors.course import NoSolution
from goldsmith.errors.gold import GoldUnreadable
from goldsmith.generate.imported_sources import changed_imports, implementation_is_here, portable_replacements
from goldsmith.generate.sources import changes_between, hash_sources
from goldsmith.gold.facts import installed_version, public_version
from goldsmith.gold.manifest import MANIFEST, FileEntry, Manifest, Provenance, read_manifest
from goldsmith.targets.target import Subject
from goldsmith.workspace.snapshot import file_hash

FRESH, STALE, MISSING, INJECTED = "fresh", "stale", "missing", "injected"
NO_RECIPE, NO_SOLUTION = "no recipe yet", "no solution yet"


@dataclass(frozen=True)
class Freshness:
    """The state of gold, and why. `notes` are facts that do not make gold stale, such as another version of torch."""

    outcome: str
    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def survey(course: Course) -> dict[str, Freshness]:
    """Return the state of every assignment by name, and of solutions injected for assignments that are gone."""
    found = {assignment.name: freshness(assignment) for assignment in course.assignments()}
    for journal in journals(course):
        why = f"no such assignment any more, but its solution is in place since {journal.since}"
        found.setdefault(journal.assignment, Freshness(INJECTED, (why,)))
    return found


def freshness(assignment: Subject, *, thorough: bool = False) -> Freshness:
    """Return whether gold is fresh, stale and why, missing or injected; from hashes alone, without loading any array.

    The gold's own files are compared by size, or with `thorough` by their bytes.
    """
    journal = read_journal(assignment.course, assignment.name) if isinstance(assignment, Assignment) else None
    if journal is not None:
        return Freshness(INJECTED, (f"the solution is in the starter's place since {journal.since}",))
    gold = assignment.gold
    if not (gold / MANIFEST).is_file():
        return Freshness(MISSING, (_missing(assignment),))
    try:
        manifest = read_manifest(gold)
        reasons = changed_sources(assignment, manifest.provenance)
    except GoldUnreadable as error:
        return Freshness(STALE, (error.problem,))
    except GoldsmithError as error:
        return Freshness(STALE, (str(error),))
    reasons += [
        f"{item.name} is not what was published" for item in manifest.files if not _is_published(gold, item, thorough)
    ]
    notes = tuple(_version_notes(manifest.provenance))
    return Freshness(STALE, tuple(reasons), notes) if reasons else Freshness(FRESH, (), notes)


def _missing(assignment: Subject) -> str:
    """Return what is needed first, if there is no gold."""
    if not isinstance(assignment, Assignment):
        return "no gold yet"
    try:
        has_solution = bool(placements(assignment))
    except NoSolution:
        has_solution = False
    except GoldsmithError:  # there is one, but it does not fit
        has_solution = True
    if not has_solution:
        return NO_SOLUTION
    return "no gold yet" if assignment.recipe.is_file() else NO_RECIPE


def require_fresh(assignment: Subject) -> None:
    """Raise unless there is gold, nothing that it was made from has changed, and its files are what was published, byte
    for byte."""
    found = freshness(assignment, thorough=True)
    if found.outcome == MISSING:
        raise NoGold(assignment.name)
    if found.outcome != FRESH:
        raise StaleGold(assignment.name, list(found.reasons))


def stale_reasons(assignment: Subject, manifest: Manifest, *, starter: bool) -> list[str]:
    """Return what changed since the gold was made, except the machine; without `starter`, the starter is not compared.

    Without solutions, as in the students' copy, they are not compared either. The implementation of a recipe by itself
    is what is checked, unless another takes its place; then it counts as long as it is there.
    """
    made = manifest.provenance
    if not isinstance(assignment, Assignment):
        made = msgspec.structs.replace(made, replaced=portable_replacements(assignment))
        if not assignment.replacements or not implementation_is_here(assignment, made):
            made = msgspec.structs.replace(made, solution={}, packages={})
        return changed_sources(assignment, made)
    if not starter:
        made = msgspec.structs.replace(made, starter={})
    if not has_solutions(assignment):
        made = msgspec.structs.replace(made, solution={})
    return changed_sources(assignment, made)


def changed_sources(assignment: Subject, made: Provenance) -> list[str]:
    """Return what has changed in the sources that `made` lists; kinds of which it has none are not compared."""
    if not isinstance(assignment, Assignment):
        recipe = hash_sources(assignment, ()).recipe
        return [*changes_between(made.recipe, recipe), *changed_imports(assignment, made)]
    placed = placements(assignment) if made.solution else []
    now = hash_sources(assignment, placed)
    starter = now.starter
    if assignment.is_whole:  # a new file in the repository does not make gold stale
        starter = {name: digest for name, digest in starter.items() if name in made.starter}
    return [
        *(changes_between(made.solution, now.solution) if made.solution else ()),
        *changes_between(made.recipe, now.recipe),
        *(changes_between(made.starter, starter) if made.starter else ()),
        *changes_between(made.reads, file_hashes(assignment, made.reads)),
    ]


def file_hashes(assignment: Subject, paths: Iterable[str]) -> dict[str, str]:
    """Return the hashes of those of the course's files that exist."""
    found = {name: assignment.project.root / name for name in paths}
    return {name: file_hash(path) for name, path in found.items() if path.is_file()}


def _version_notes(made: Provenance) -> Iterator[str]:
    """Yield versions that differ from those the gold was recorded with; found without importing any of them."""
    machine = made.environment
    yield from _version("Python", _minor(machine.python), _minor(platform.python_version()))
    yield from _version("NumPy", machine.numpy, installed_version("numpy"))
    if machine.torch:
        yield from _version("torch", machine.torch, installed_version("torch"))
    yield from _version("goldsmith", _minor(made.goldsmith), _minor(__version__))


def _version(name: str, made: str, now: str | None) -> Iterator[str]:
    """Compare public versions only: a build's local part, as in `+cpu`, is not known everywhere."""
    if now is None:
        yield f"recorded with {name} {made}, which is not installed here"
    elif public_version(made) != public_version(now):
        yield f"recorded with {name} {made}, here {now}"


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def _is_published(gold: Path, entry: FileEntry, thorough: bool) -> bool:
    path = os.path.join(gold, entry.name)  # there may be thousands, and joining paths takes longer than looking
    try:
        status = os.stat(path)
    except OSError:
        return False
    same = stat.S_ISREG(status.st_mode) and status.st_size == entry.size
    return same and (not thorough or file_hash(Path(path)) == entry.sha256)
