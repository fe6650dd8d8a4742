"""What gold is made from, hashed before the run: solution, starter, recipe, and the commit they lie on."""

from __future__ import annotations

import datetime
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from goldsmith.course import Assignment, Course, Placement
from goldsmith.gold import Stamp
from goldsmith.workspace import Snapshot, changed_paths, file_hash, take_snapshot


@dataclass(frozen=True)
class Sources:
    """Hashes by path in the course. A starter's prose is no source: rewording it makes no gold stale."""

    solution: dict[str, str]
    starter: dict[str, str]
    recipe: dict[str, str]


def hash_sources(assignment: Assignment, placed: Sequence[Placement]) -> Sources:
    course, recipe = assignment.course, assignment.recipe
    starter = take_snapshot(assignment.starter)
    return Sources(
        solution={_name(course, item.source): file_hash(item.source) for item in placed if item.source != recipe},
        starter={
            _name(course, assignment.starter / path): entry.digest
            for path, entry in starter.items()
            if entry.kind in ("file", "link") and not path.endswith(".md") and path != course.config.recipe
        },
        recipe={_name(course, recipe): file_hash(recipe)} if recipe.is_file() else {},
    )


@dataclass(frozen=True)
class Untouched:
    """The proof that starter and solution are byte for byte what they were when it was begun."""

    assignment: Assignment
    before: dict[Path, Snapshot]

    @classmethod
    def begin(cls, assignment: Assignment) -> Untouched:
        return cls(assignment, {folder: _snapshot(folder) for folder in (assignment.starter, assignment.solution)})

    def changes(self) -> list[Path]:
        course = self.assignment.course
        return [
            course.relative(folder / path)
            for folder, snapshot in self.before.items()
            for path in changed_paths(snapshot, _snapshot(folder))
        ]


def stamp_now(course: Course) -> Stamp:
    """Today, and the commit with whether anything but gold is uncommitted; no git, no commit."""
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    commit = _git(course, "rev-parse", "HEAD")
    if commit is None:
        return Stamp(today)
    changes = _git(course, "status", "--porcelain", "--", ".", f":(exclude){course.config.fixtures}")
    return Stamp(today, commit.strip(), bool(changes and changes.strip()))


def _git(course: Course, *arguments: str) -> str | None:
    try:
        run = subprocess.run(
            ["git", "-C", str(course.root), *arguments],
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return run.stdout


def _snapshot(folder: Path) -> Snapshot:
    return take_snapshot(folder) if folder.is_dir() else {}


def _name(course: Course, path: Path) -> str:
    return course.relative(path).as_posix()
