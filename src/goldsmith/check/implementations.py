"""Open a recipe by itself with the implementation to record from, or to check: `--with` names a folder, a file, a
module or a git revision that takes the place of what the recipe imports."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from goldsmith.errors.lone_recipe import NoSuchImplementation, NothingToReplace, RecordedFromRevision
from goldsmith.targets.replacements import bases_in, everything_in, find_replacements, imported_modules
from goldsmith.targets.target import AS_IT_STANDS, EVERYTHING, Replacements, Submission, Target
from goldsmith.workspace.revisions import commit_of, export_revision
from goldsmith.workspace.temporary import private_folder


def recorded_from(target: Target, implementation: str) -> Target:
    """Return a recipe that runs on `implementation` in the place of what it imports."""
    found = find_replacements(implementation, target)
    if found is None:
        commit = commit_of(target.project.root, implementation)
        raise RecordedFromRevision(implementation) if commit else NoSuchImplementation(implementation)
    return target.running_on(found)


@contextlib.contextmanager
def open_to_check(target: Target, implementation: str | None) -> Iterator[tuple[Target, Submission]]:
    """Open what is to be checked against gold: by default what the recipe imports."""
    target = target.running_on(())
    if implementation is None:
        yield target, Submission(AS_IT_STANDS, is_tree=True)
        return
    found = find_replacements(implementation, target)
    if found is not None:
        yield target.running_on(found), Submission(implementation, is_tree=True, notes=_notes(found, implementation))
        return
    with _revision(target, implementation) as found:
        yield target.running_on(found), Submission(implementation, is_tree=True)


def _notes(found: Replacements, implementation: str) -> tuple[str, ...]:
    """Say which module was replaced, where that was not said."""
    names = [name for name, _ in found if name != EVERYTHING and not implementation.startswith(f"{name}=")]
    return tuple(f"{implementation} took the place of {name}" for name in names)


@contextlib.contextmanager
def _revision(target: Target, revision: str) -> Iterator[Replacements]:
    """Write the project as it is in a git revision; its modules come before all others. The recipe stays as it is."""
    with private_folder() as room:
        root = export_revision(target.project.root, revision, room)
        if root is None:
            raise NoSuchImplementation(revision)
        bases = bases_in(target, root)
        if not bases:
            raise NothingToReplace(revision, target.recipe.name, imported_modules(target.recipe))
        yield everything_in(bases)
