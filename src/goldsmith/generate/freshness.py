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
from goldsmith.errors.base import GoldsmithError
from goldsmith.errors.check import NoGold, StaleGold
from goldsmith.errors.course import NoSolution
from goldsmith.errors.gold import GoldUnreadable
from goldsmith.generate.imported_sources import changed_imports, implementation_is_here, portable_replacements
from goldsmith.generate.sources import changes_between, hash_sources
from goldsmith.gold.facts import installed_version, public_version
from goldsmith.gold.manifest import MANIFEST, FileEntry, Manifest, Provenance, read_manifest
from goldsmith.targets.target import Target
from goldsmith.workspace.snapshot import file_hash

FRESH, STALE, MISSING, INJECTED = "fresh", "stale", "missing", "injected"
NO_RECIPE, NO_SOLUTION = "no recipe yet", "no solution yet"


@dataclass(frozen=True)
class Freshness:
    """The state of gold, and why. `notes` are facts that do not make gold stale, such as another version of torch."""

    outcome: str
    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def freshness(target: Target, *, thorough: bool = False) -> Freshness:
    """Return whether gold is fresh, stale and why, missing or injected; from hashes alone, without loading any array.

    The gold's own files are compared by size, or with `thorough` by their bytes.
    """
    if target.injected_since:
        return Freshness(INJECTED, (f"the solution is in the starter's place since {target.injected_since}",))
    gold = target.gold
    if not (gold / MANIFEST).is_file():
        return Freshness(MISSING, (_missing(target),))
    try:
        manifest = read_manifest(gold)
        reasons = changed_sources(target, manifest.provenance)
    except GoldUnreadable as error:
        return Freshness(STALE, (error.problem,))
    except GoldsmithError as error:
        return Freshness(STALE, (str(error),))
    reasons += [
        f"{item.name} is not what was published" for item in manifest.files if not _is_published(gold, item, thorough)
    ]
    notes = tuple(_version_notes(manifest.provenance))
    return Freshness(STALE, tuple(reasons), notes) if reasons else Freshness(FRESH, (), notes)


def _missing(target: Target) -> str:
    """Return what is needed first, if there is no gold."""
    if target.solution is None:
        return "no gold yet"
    try:
        has_solution = bool(target.placed)
    except NoSolution:
        has_solution = False
    except GoldsmithError:  # there is one, but it does not fit
        has_solution = True
    if not has_solution:
        return NO_SOLUTION
    return "no gold yet" if target.recipe.is_file() else NO_RECIPE


def require_fresh(target: Target) -> None:
    """Raise unless there is gold, nothing that it was made from has changed, and its files are what was published, byte
    for byte."""
    found = freshness(target, thorough=True)
    if found.outcome == MISSING:
        raise NoGold(target.name)
    if found.outcome != FRESH:
        raise StaleGold(target.name, list(found.reasons))


def stale_reasons(target: Target, manifest: Manifest, *, starter: bool) -> list[str]:
    """Return what changed since the gold was made, except the machine; without `starter`, the starter is not compared.

    Without solutions, as in the students' copy, they are not compared either. The implementation of a recipe by itself
    is what is checked, unless another takes its place; then it counts as long as it is there.
    """
    made = manifest.provenance
    if target.solution is None:
        made = msgspec.structs.replace(made, replaced=portable_replacements(target))
        if not target.replacements or not implementation_is_here(target, made):
            made = msgspec.structs.replace(made, solution={}, packages={})
        return changed_sources(target, made)
    if not starter:
        made = msgspec.structs.replace(made, starter={})
    if not target.solution.is_here:
        made = msgspec.structs.replace(made, solution={})
    return changed_sources(target, made)


def changed_sources(target: Target, made: Provenance) -> list[str]:
    """Return what has changed in the sources that `made` lists; kinds of which it has none are not compared."""
    if target.solution is None:
        recipe = hash_sources(target).recipe
        return [*changes_between(made.recipe, recipe), *changed_imports(target, made)]
    now = hash_sources(target, target.placed if made.solution else ())
    starter = now.starter
    if target.starter is not None and target.starter.is_whole:  # a new file in the repository does not make gold stale
        starter = {name: digest for name, digest in starter.items() if name in made.starter}
    return [
        *(changes_between(made.solution, now.solution) if made.solution else ()),
        *changes_between(made.recipe, now.recipe),
        *(changes_between(made.starter, starter) if made.starter else ()),
        *changes_between(made.reads, file_hashes(target, made.reads)),
    ]


def file_hashes(target: Target, paths: Iterable[str]) -> dict[str, str]:
    """Return the hashes of those of the course's files that exist."""
    found = {name: target.project.root / name for name in paths}
    return {name: file_hash(path) for name, path in found.items() if path.is_file()}


def _version_notes(made: Provenance) -> Iterator[str]:
    """Yield versions that differ from those the gold was recorded with; found without importing any of them."""
    machine = made.environment
    yield from _version("Python", _minor(machine.python), _minor(platform.python_version()))
    yield from _version("NumPy", machine.numpy, installed_version("numpy"))
    for library, version in machine.libraries.items():
        yield from _version(library, version, installed_version(library))
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
