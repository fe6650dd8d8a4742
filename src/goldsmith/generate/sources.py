"""The sources of gold, hashed before the run: solution, starter, recipe, and their commit."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from goldsmith.errors.gold import TreeChanged
from goldsmith.source_code.parts import is_students_code
from goldsmith.source_code.points import without_points
from goldsmith.targets.target import Placement, Project, Replacements, Starter, Target
from goldsmith.workspace.snapshot import Snapshot, changed_paths, file_hash, take_snapshot

if TYPE_CHECKING:
    from goldsmith.workspace.copies import Workspace


@dataclass(frozen=True)
class Sources:
    """Hashes by path in the course. A starter's prose is not a source: rewording it does not make gold stale."""

    solution: dict[str, str]
    starter: dict[str, str]
    recipe: dict[str, str]
    written: tuple[str, ...] = ()
    """Parts that the starter leaves to students (`written_parts`), or that a recipe by itself was seen to use."""
    packages: dict[str, str] = field(default_factory=dict)
    replaced: Replacements = ()


def hash_sources(target: Target, placed: Sequence[Placement] = ()) -> Sources:
    """Hash what is known before the run. What a recipe by itself runs on is known only once it has run
    (`imported_sources.py`)."""
    project, recipe, starter = target.project, target.recipe, target.starter
    if starter is None or target.files is None:
        return Sources({}, {}, {project.portable(recipe): recipe_hash(recipe)})
    modules = {item.source.relative_to(starter.folder).as_posix(): source_hash(item) for item in starter.notebooks}
    unused = {recipe.name, target.adapter.name, *target.files.removes}
    variants = [item for files in target.variants.values() for item in files]
    return Sources(
        solution={
            _name(project, item.source): source_hash(item)
            for item in sorted({*placed, *variants}, key=lambda item: (item.source, item.target))
            if item.source != recipe
        },
        starter={
            _name(project, starter.folder / path): modules.get(path, entry.digest)
            for path, entry in take_snapshot(starter.folder, starter.holds).items()
            if entry.kind in ("file", "link") and path not in unused and (path in modules or _is_source(starter, path))
        },
        recipe={_name(project, recipe): recipe_hash(recipe)} if recipe.is_file() else {},
    )


def source_hash(item: Placement) -> str:
    """Hash a file: of a notebook that is a module, its definitions, since outputs and prose change no gold."""
    module = item.notebook()
    return file_hash(item.source) if module is None else hashlib.sha256(module.source).hexdigest()


def _is_source(starter: Starter, path: str) -> bool:
    """Return whether a starter's file counts: no prose; in a course that is one assignment, only code that is not a
    test, as data counts if it was read."""
    return is_students_code(path) if starter.is_whole else not path.endswith(".md")


def recipe_hash(recipe: Path) -> str:
    """Hash a recipe without the points that it gives: they change neither gold nor verdicts."""
    return hashlib.sha256(without_points(recipe.read_bytes())).hexdigest()


@dataclass(frozen=True)
class StatSnapshot:
    """Every file's modification time and size before the run: if they are the same afterwards, a hash taken then holds
    for the time before, too."""

    project: Project
    looks: dict[Path, tuple[int, int]]

    @classmethod
    def begin(cls, project: Project, workspace: Workspace) -> StatSnapshot:
        return cls(project, {path: look_at(path) for path in workspace.origins.values()})

    def hash_reads(self, workspace: Workspace, reads: Sequence[str], known: Sources) -> dict[str, str]:
        """Return the hashes of what the recipe read, except what is known already and what it made itself."""
        named = known.solution | known.starter | known.recipe
        origins = {workspace.origin(workspace.root / name) for name in reads}
        paths = {_name(self.project, path): path for path in origins if path is not None}
        changed = [path for path in paths.values() if not path.is_file() or look_at(path) != self.looks[path]]
        if changed:
            raise TreeChanged([self.project.relative(path) for path in changed])
        return {name: file_hash(path) for name, path in sorted(paths.items()) if name not in named}


def look_at(path: Path) -> tuple[int, int]:
    """Return a file's modification time and size."""
    status = path.stat()
    return status.st_mtime_ns, status.st_size


@dataclass(frozen=True)
class UnchangedProof:
    """The proof that starter and solution are byte for byte what they were when it began; of a recipe by itself, that
    the recipe is."""

    target: Target
    before: dict[Path, Snapshot]

    @classmethod
    def begin(cls, target: Target) -> UnchangedProof:
        return cls(target, dict(cls._now(target)))

    @staticmethod
    def _now(target: Target) -> Iterator[tuple[Path, Snapshot]]:
        if target.starter is None or target.solution is None:
            recipe = target.recipe
            yield recipe.parent, take_snapshot(recipe.parent, lambda path: path == recipe)
            return
        starter = _snapshot(target.starter.folder, target.starter.holds)
        if target.starter.is_whole:  # folders for private things may appear next to the starter's
            starter = {name: entry for name, entry in starter.items() if entry.kind != "folder"}
        yield target.starter.folder, starter
        yield target.solution.folder, _snapshot(target.solution.folder)

    def with_written(self, path: Path) -> UnchangedProof:
        """Return the same proof after goldsmith itself has written `path`, which must stay as it is from now on."""
        before = dict(self.before)
        for folder, snapshot in self.before.items():
            if path.is_relative_to(folder):
                inside = path.relative_to(folder)
                names = {item.as_posix() for item in (inside, *inside.parents)}
                now = {name: entry for name, entry in _snapshot(folder).items() if name in names}
                before[folder] = {**snapshot, **now}
        return UnchangedProof(self.target, before)

    def changes(self) -> list[Path]:
        return [
            self.target.project.relative(folder / path)
            for folder, snapshot in self._now(self.target)
            for path in changed_paths(self.before.get(folder, {}), snapshot)
        ]


def _snapshot(folder: Path, holds: Callable[[Path], bool] = lambda path: True) -> Snapshot:
    return take_snapshot(folder, holds) if folder.is_dir() else {}


def changes_between(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Say which files, by their hashes, are gone, new or changed."""
    found = []
    for path in sorted(before.keys() | now.keys()):
        if path not in now:
            found.append(f"{path} is gone")
        elif path not in before:
            found.append(f"{path} is new")
        elif before[path] != now[path]:
            found.append(f"{path} changed since the gold was made")
    return found


def _name(project: Project, path: Path) -> str:
    return project.relative(path).as_posix()
