"""Is the gold of an assignment there, and was it made from the sources as they stand now?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from goldsmith.course import Assignment, placements
from goldsmith.errors import GoldsmithError, GoldUnreadable
from goldsmith.generation.sources import hash_sources
from goldsmith.gold import MANIFEST, read_manifest

FRESH, STALE, MISSING = "fresh", "stale", "missing"


@dataclass(frozen=True)
class Freshness:
    outcome: str
    reasons: tuple[str, ...] = ()


def freshness(assignment: Assignment) -> Freshness:
    """Fresh, stale and why, or missing; from hashes alone, without loading any array."""
    if not (assignment.gold / MANIFEST).is_file():
        return Freshness(MISSING, ("no gold yet" if assignment.recipe.is_file() else "no recipe yet",))
    try:
        manifest = read_manifest(assignment.gold)
        sources = hash_sources(assignment, placements(assignment))
    except GoldUnreadable as error:
        return Freshness(STALE, (error.problem,))
    except GoldsmithError as error:
        return Freshness(STALE, (str(error),))
    made = manifest.provenance
    reasons = [
        *_changes(made.solution, sources.solution),
        *_changes(made.recipe, sources.recipe),
        *_changes(made.starter, sources.starter),
    ]
    reasons += [
        f"{item.name} is missing or not the size it was published with"
        for item in manifest.files
        if not _has_size(assignment, item.name, item.size)
    ]
    return Freshness(STALE, tuple(reasons)) if reasons else Freshness(FRESH)


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


def _has_size(assignment: Assignment, name: str, size: int) -> bool:
    path = assignment.gold / name
    return path.is_file() and path.stat().st_size == size
