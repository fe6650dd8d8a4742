"""A recipe by itself: a file anywhere, with its gold in a folder beside it and no course around it.

Its implementation is what it imports, as the environment stands. It runs where it is, not in a copy: what is installed
there, how its packages are found and where they lie is part of what it runs on.
"""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from goldsmith.courses.layout.config import PROJECT_FILE, AssignmentConfig, Config, read_config
from goldsmith.courses.layout.layout import find_course
from goldsmith.errors.course import BadConfig, NotACourse
from goldsmith.errors.lone_recipe import NoSuchRecipe, RecipeOfACourse
from goldsmith.targets.target import EVERYTHING, Kind, Project, Replacements

GOLD_SUFFIX = ".gold"
_ROOTS = (".git", PROJECT_FILE, "setup.py", "setup.cfg")
"""Any of these makes a folder the root of a project."""


@dataclass(frozen=True)
class LoneRecipe:
    """A recipe file, and the project around it. `name` is its path as it was given."""

    name: str
    recipe: Path
    project: Project
    replacements: Replacements = ()

    @property
    def kind(self) -> Kind:
        return "recipe"

    @property
    def recorded_name(self) -> str:
        return self.recipe.name

    @property
    def label(self) -> str:
        return self.recipe.name

    @property
    def gold(self) -> Path:
        return self.recipe.with_suffix(GOLD_SUFFIX)

    @property
    def adapter(self) -> Path:
        return self.recipe.with_name(self.project.config.adapter)

    @property
    def config(self) -> AssignmentConfig:
        return AssignmentConfig()

    @property
    def forbidden(self) -> tuple[str, ...]:
        return ()

    @property
    def make_command(self) -> str:
        return " ".join([f"goldsmith record {shlex.quote(self.recipe.name)}", *map(self._option, self.replacements)])

    def _option(self, replacement: tuple[str, str]) -> str:
        name, where = replacement
        place = os.path.relpath(where, self.recipe.parent) if os.path.isabs(where) else where
        return f"--with {shlex.quote(place if name == EVERYTHING else f'{name}={place}')}"

    @property
    def gold_place(self) -> str:
        return Path(self.name).with_suffix(GOLD_SUFFIX).as_posix()

    @property
    def search_path(self) -> tuple[Path, ...]:
        """Return the folders that modules are found in besides those of the environment: the recipe's own before them,
        as for a script, the project's after them."""
        root = self.project.root
        around = [folder for folder in (root / "src", root) if folder.is_dir()]
        return tuple(dict.fromkeys((self.recipe.parent, *around)))

    def running_on(self, replacements: Replacements) -> LoneRecipe:
        """Return the same recipe with another implementation in the place of what it imports."""
        return replace(self, replacements=replacements)


def is_recipe_file(text: str) -> bool:
    """Say whether a command's argument names a recipe file, not an assignment."""
    return text.endswith(".py")


def open_lone_recipe(text: str) -> LoneRecipe:
    """Open the recipe at a path. One that belongs to an assignment of a course is refused: its gold is the course's."""
    path = Path(os.path.abspath(text))
    if path.suffix != ".py" or not path.is_file():
        raise NoSuchRecipe(text, is_there=path.exists())
    _refuse_a_courses_own(path, text)
    root = _root_of(path.parent)
    config = read_config(root) or Config()
    config = msgspec.structs.replace(config, recipe=path.name, adapter=f"{path.stem}_adapter.py")
    return LoneRecipe(text, path, Project(root, config))


def _refuse_a_courses_own(path: Path, text: str) -> None:
    try:
        course = find_course(path.parent)
        owner = next((item for item in course.assignments() if item.recipe == path), None)
    except (NotACourse, BadConfig):
        return
    if owner is not None:
        raise RecipeOfACourse(text, owner.name)


def _root_of(folder: Path) -> Path:
    """Return the nearest folder upwards that is the root of a project, else the folder itself."""
    around = (folder, *folder.parents)
    return next((item for item in around if any((item / name).exists() for name in _ROOTS)), folder)
