"""Open a recipe by itself with the implementation to record from, or to check: `--with` names a folder, a file, a
module or a git revision that takes the place of what the recipe imports."""

from __future__ import annotations

import contextlib
import tarfile
from collections.abc import Iterator

from goldsmith.errors.lone_recipe import NoSuchImplementation, NotARecipe, NothingToReplace, RecordedFromRevision
from goldsmith.foundation.git import git, run_git
from goldsmith.targets.lone_recipe import LoneRecipe, is_recipe_file, open_lone_recipe
from goldsmith.targets.replacements import bases_in, everything_in, find_replacements, imported_modules
from goldsmith.targets.target import AS_IT_STANDS, EVERYTHING, Replacements, Submission
from goldsmith.workspace.temporary import private_folder


def open_to_record(text: str, implementation: str | None) -> LoneRecipe:
    """Open a recipe to record from `implementation`, by default from what it imports."""
    if not is_recipe_file(text):
        raise NotARecipe(text)
    lone = open_lone_recipe(text)
    if implementation is None:
        return lone
    found = find_replacements(implementation, lone)
    if found is None:
        commit = _commit(lone, implementation)
        raise RecordedFromRevision(implementation) if commit else NoSuchImplementation(implementation)
    return lone.running_on(found)


@contextlib.contextmanager
def open_to_check(lone: LoneRecipe, implementation: str | None) -> Iterator[tuple[LoneRecipe, Submission]]:
    """Open what is to be checked against gold: by default what the recipe imports."""
    lone = lone.running_on(())
    if implementation is None:
        yield lone, Submission(AS_IT_STANDS, is_tree=True)
        return
    found = find_replacements(implementation, lone)
    if found is not None:
        yield lone.running_on(found), Submission(implementation, is_tree=True, notes=_notes(found, implementation))
        return
    with _revision(lone, implementation) as found:
        yield lone.running_on(found), Submission(implementation, is_tree=True)


def _notes(found: Replacements, implementation: str) -> tuple[str, ...]:
    """Say which module was replaced, where that was not said."""
    names = [name for name, _ in found if name != EVERYTHING and not implementation.startswith(f"{name}=")]
    return tuple(f"{implementation} took the place of {name}" for name in names)


@contextlib.contextmanager
def _revision(lone: LoneRecipe, revision: str) -> Iterator[Replacements]:
    """Write the project as it is in a git revision; its modules come before all others. The recipe stays as it is."""
    commit = _commit(lone, revision)
    if not commit:
        raise NoSuchImplementation(revision)
    with private_folder() as room:
        root, archive = room / "revision", room / "revision.tar"
        if run_git(lone.project.root, "archive", f"--output={archive}", commit).returncode:
            raise NoSuchImplementation(revision)
        with tarfile.open(archive) as file:
            file.extractall(root, filter="data")
        bases = bases_in(lone, root)
        if not bases:
            raise NothingToReplace(revision, lone.recipe.name, imported_modules(lone.recipe))
        yield everything_in(bases)


def _commit(lone: LoneRecipe, revision: str) -> str:
    if revision.startswith("-"):
        return ""
    return (git(lone.project.root, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}") or "").strip()
