"""The sources of a recipe by itself: the files that it was seen to import and to read, and installed packages by their
versions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from goldsmith.errors.gold import GoldUnreadable, TreeChanged
from goldsmith.generate.sources import Sources, changes_between, look_at
from goldsmith.gold.facts import installed_version
from goldsmith.gold.manifest import Manifest, Provenance, read_manifest
from goldsmith.targets.target import Replacements, Target
from goldsmith.workspace.snapshot import file_hash

if TYPE_CHECKING:
    from goldsmith.process.messages import ImportedCode


def add_imported(
    target: Target, sources: Sources, runs: Sequence[ImportedCode], reads: Sequence[str]
) -> tuple[Sources, dict[str, str]]:
    """Return the sources with what the runs imported, and the hashes of what else they read.

    Raises `TreeChanged` for a file that is not what it was when a run opened it.
    """
    project, first = target.project, runs[0]
    _refuse_changed(target, runs)
    files = {Path(path) for path in first.files}
    others = {project.root / name for name in reads} - files - {target.recipe}
    others = {path for path in others if not path.is_relative_to(target.gold)}
    return (
        replace(
            sources,
            solution=_hashes(target, files),
            written=first.parts,
            packages=dict(first.packages),
            replaced=portable_replacements(target),
        ),
        _hashes(target, others),
    )


def _refuse_changed(target: Target, runs: Sequence[ImportedCode]) -> None:
    seen = {(Path(path), look) for run in runs for path, look in run.looks.items()}
    seen = {(path, look) for path, look in seen if not path.is_relative_to(target.gold)}
    changed = {path for path, look in seen if not path.is_file() or look_at(path) != look}
    if changed:
        raise TreeChanged([target.project.relative(path) for path in sorted(changed)])


def _hashes(target: Target, files: set[Path]) -> dict[str, str]:
    named = {target.project.portable(path): path for path in files}
    return {name: file_hash(path) for name, path in sorted(named.items())}


def changed_imports(target: Target, made: Provenance) -> list[str]:
    """Return what has changed in what the gold was made from."""
    files = [*made.solution, *made.reads]
    now = {name: target.project.root / name for name in files}
    hashes = {name: file_hash(path) for name, path in now.items() if path.is_file()}
    here = {name: installed_version(name) or "not installed" for name in made.packages}
    versions = [
        f"{name} was {version} and is {here[name]} now"
        for name, version in made.packages.items()
        if here[name] != version
    ]
    other = made.replaced != portable_replacements(target)
    return [
        *(["it was recorded from another implementation"] if other else []),
        *changes_between(made.solution, {name: hashes[name] for name in made.solution if name in hashes}),
        *changes_between(made.reads, {name: hashes[name] for name in made.reads if name in hashes}),
        *versions,
    ]


def implementation_is_here(target: Target, made: Provenance) -> bool:
    """Return whether any file that the gold was recorded from exists."""
    return any((target.project.root / name).is_file() for name in made.solution)


def portable_replacements(target: Target) -> Replacements:
    """Return what took the place of which module, with paths that travel."""
    return tuple((name, _portable(target, where)) for name, where in target.replacements)


def _portable(target: Target, where: str) -> str:
    return f"./{target.project.portable(Path(where))}" if Path(where).is_absolute() else where


def as_recorded_on(target: Target) -> Target:
    """Return the recipe running on the implementation that its gold was recorded from."""
    try:
        manifest: Manifest = read_manifest(target.gold)
    except GoldUnreadable:
        return target
    root = target.project.root
    found = (
        (name, str((root / where).resolve()) if where.startswith("./") else where)
        for name, where in manifest.provenance.replaced
    )
    return target.running_on(tuple(found))
