"""What gold is made for and what is checked against it, resolved before anything runs: files, and where they go."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from goldsmith.source_code.notebook_module import NotebookModule

if TYPE_CHECKING:
    from goldsmith.courses.layout.config import AssignmentConfig, Config

Kind = Literal["assignment", "recipe"]
"""Whose gold it is: an `assignment` of a course's, or a `recipe`'s by itself."""
Replacements = tuple[tuple[str, str], ...]
"""Modules, by name, with what takes their place: the path of a file or folder, or the name of another module."""
EVERYTHING = "*"
"""The name, among replacements, for a folder whose modules come before all others of the same names."""


@dataclass(frozen=True)
class Project:
    """A folder that paths are relative to, with the settings that hold in it."""

    root: Path
    config: Config

    @property
    def state_folder(self) -> Path:
        """Return where running commands keep locks and other state; ignored by git."""
        return self.root / ".goldsmith"

    def relative(self, path: Path) -> Path:
        """Return `path` relative to the root, or as it is if outside."""
        return path.relative_to(self.root) if path.is_relative_to(self.root) else path

    def portable(self, path: Path) -> str:
        """Return `path` as files that travel name it: relative to the root, even if outside."""
        return Path(os.path.relpath(path, self.root)).as_posix()


class Subject(Protocol):
    """Whatever has a recipe and gold: an assignment of a course, or a recipe by itself."""

    @property
    def name(self) -> str:
        """Return what people call it in commands."""

    @property
    def recorded_name(self) -> str:
        """Return what its manifest calls it, wherever commands are run."""

    @property
    def kind(self) -> Kind:
        """Return what it is."""

    @property
    def label(self) -> str:
        """Return what it is called in summaries."""

    @property
    def project(self) -> Project:
        """Return what its paths are relative to."""

    @property
    def recipe(self) -> Path: ...

    @property
    def adapter(self) -> Path:
        """Return the adapter beside the recipe, which need not exist."""

    @property
    def gold(self) -> Path: ...

    @property
    def config(self) -> AssignmentConfig:
        """Its own settings."""

    @property
    def forbidden(self) -> tuple[str, ...]:
        """Full names that implementations must not use."""

    @property
    def make_command(self) -> str:
        """Return the command that makes its gold, run in the project, or in the recipe's folder outside of a course."""

    @property
    def gold_place(self) -> str:
        """Return where its gold is, as people find it."""

    @property
    def replacements(self) -> Replacements:
        """Return what takes the place of modules that the recipe imports."""


@dataclass(frozen=True)
class Placement:
    """One file of an implementation, and the path, relative to the assignment's folder, where it goes."""

    source: Path
    target: Path

    def notebook(self) -> NotebookModule | None:
        """Return the module that a notebook becomes; None where the file is placed as it is."""
        return None

    def read(self) -> bytes:
        """Read the file as it will be placed."""
        module = self.notebook()
        return module.source if module is not None else self.source.read_bytes()


AS_IT_STANDS = "the tree as it stands"


@dataclass(frozen=True)
class Submission:
    """The files `placed` over the starter's; none when the tree itself is checked. `missing` are files of the starter's
    that it lacks; `beside` lists where in the course other people's work may lie, relative to its root; `choices` say
    which of several files was used for one place."""

    name: str
    placed: tuple[Placement, ...] = ()
    is_tree: bool = False
    notes: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    beside: tuple[Path, ...] = ()
