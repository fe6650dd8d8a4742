"""What gold is made for and what is checked against it, resolved before anything runs: files, and where they go."""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

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


AS_GIVEN = "_as_given"
"""The end of the name under which a starter's module is there, where the notebook that stands for it imports it."""
_UNKNOWN_NAME = re.compile(r"\bname '(\w{1,200})' is not defined")
_NOT_SUBMITTED = re.compile(r"\b\w{1,200}\.(\w{1,200}) is not in the submission")


@dataclass(frozen=True)
class NotebookModule:
    """A notebook's definitions as a module.

    `places` has, for the first line of every run of lines, its number here, the cell's number (0 in a text file) and
    the line's number there. `missing` says of names that the definitions need where the code that binds them is, and
    why it was left out. `defines` are the names that are bound. `errors` has, by the line here that raises it, the line
    there that Python cannot parse. `imports_itself` says that it imports the module that it stands for.
    """

    source: bytes
    places: tuple[tuple[int, int, int], ...]
    notes: tuple[str, ...]
    missing: Mapping[str, str]
    defines: frozenset[str]
    errors: Mapping[int, str]
    imports_itself: bool = False

    def place(self, line: int) -> tuple[int, int]:
        """Return the number of the cell, 0 in a text file, and the line in it, for a line of the module."""
        number = bisect_right(self.places, (line, 2**31, 2**31)) - 1
        if number < 0:
            return 0, 0
        start, cell, first = self.places[number]
        return cell, first + line - start

    def cells(self) -> dict[int, bytes]:
        """Return what is kept of each cell, by its number, every line where it is in the cell."""
        found: dict[int, list[bytes]] = {}
        for number, line in enumerate(self.source.split(b"\n")[:-1], 1):
            cell, inside = self.place(number)
            if cell and inside > 0 and number not in self._markers:
                lines = found.setdefault(cell, [])
                lines += [b""] * (inside - len(lines))
                lines[inside - 1] = line
        return {cell: b"\n".join(lines) for cell, lines in found.items()}

    @property
    def _markers(self) -> frozenset[int]:
        return frozenset(start - 1 for start, _, _ in self.places)


@dataclass(frozen=True)
class ShownNotebook:
    """A notebook by its file's `name`, and the module that it became."""

    name: str
    module: NotebookModule

    def place(self, line: int) -> str:
        """Name the place of a line of the module, such as `hw1.ipynb, cell 7, line 3`."""
        cell, inside = self.module.place(line)
        return f"{self.name}, cell {cell}, line {inside}" if cell else f"{self.name}:{inside}"

    def with_places(self, message: str, file: str) -> str:
        """Return an error's message with lines of the module, which is at `file`, replaced by places here."""
        pattern = rf"{re.escape(file)}[\"']?, line (\d{{1,7}})"
        return re.sub(pattern, lambda found: self.place(int(found[1])), message)

    def why_missing(self, message: str) -> str:
        """Say of the name that an error found missing in which cell it is, and why that was left out."""
        found = _UNKNOWN_NAME.search(message) or _NOT_SUBMITTED.search(message)
        where = self.module.missing.get(found[1]) if found else None
        return f"{found[1]} is only defined in {where}" if found and where else ""


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
