"""What a command is about, resolved before anything runs: whose gold it is, its settings, its files and where they go.

An assignment of a course and a recipe by itself become the same `Target` (`courses/layout/resolve.py`). What makes and
checks gold knows no more than stands in it, and never asks a course.
"""

from __future__ import annotations

import fnmatch
import os
import re
import shlex
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeVar

from goldsmith.errors.base import GoldsmithError
from goldsmith.foundation.ignored_names import HANDED_IN, LITTER

CONFIG_FILE, PROJECT_FILE = "goldsmith.toml", "pyproject.toml"
SOLUTION_SUFFIX = "_solution.py"
"""What the name of a solution's file ends with that takes the place of one of the starter's."""
NOTEBOOK_SUFFIX = ".ipynb"
GOLD_SUFFIX = ".gold"
"""What the name of a folder or file of gold ends with that stands beside a recipe or a test."""
NOTEBOOK_PACKAGES = ("google.colab", "IPython", "ipywidgets", "tqdm", "tqdm.notebook")
"""Packages that every submission may import although they are not installed: notebooks are full of them."""
Kind = Literal["assignment", "recipe"]
"""Whose gold it is: an `assignment` of a course's, or a `recipe`'s by itself."""
Replacements = tuple[tuple[str, str], ...]
"""Modules, by name, with what takes their place: the path of a file or folder, or the name of another module."""
EVERYTHING = "*"
"""The name, among replacements, for a folder whose modules come before all others of the same names."""
Value = TypeVar("Value")


@dataclass(frozen=True)
class Project:
    """A folder that paths are relative to."""

    root: Path

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


@dataclass(frozen=True)
class Starter:
    """What students get of an assignment: the files below `folder`; in a course that is one assignment, those of the
    root that are neither hidden, private nor excluded.

    `scripts` are its Python files, `notebooks` the modules that are notebooks, and `all_notebooks` these and those that
    nobody imports, each with the module that it is by its name. `as_module` returns any version of a file, by its path
    in the folder, with where it goes and as it is imported.
    """

    folder: Path
    root: Path
    is_whole: bool = False
    exclude: tuple[str, ...] = ()
    private: tuple[Path, ...] = ()
    scripts: tuple[Placement, ...] = ()
    notebooks: tuple[Placement, ...] = ()
    all_notebooks: tuple[Placement, ...] = ()
    as_module: Callable[[Path, bytes], tuple[Path, bytes]] = lambda inside, content: (inside, content)

    @property
    def modules(self) -> tuple[Placement, ...]:
        """Return its modules, each with the file that it is in."""
        return (*self.scripts, *self.notebooks)

    def holds(self, path: Path) -> bool:
        """Say whether `path`, whose parent belongs to the starter, belongs to it too.

        Everything below the starter's folder does, unless that is the root: then hidden, private and excluded files,
        submissions, virtual environments and settings do not.
        """
        if not self.is_whole:
            return True
        if path.name.startswith(".") or path.name == CONFIG_FILE or (path / "pyvenv.cfg").is_file():
            return False
        inside = path.relative_to(self.root).as_posix()
        excluded = any(fnmatch.fnmatch(inside, pattern.rstrip("/")) for pattern in self.exclude)
        return not excluded and inside not in HANDED_IN and not any(path.is_relative_to(item) for item in self.private)

    def files(self, suffix: str = "") -> Iterator[Path]:
        """Yield the files whose names end with `suffix`, in order, without what tools leave behind."""
        for current, folders, names in os.walk(self.folder):
            here = Path(current)
            folders[:] = sorted(name for name in folders if name not in LITTER and self.holds(here / name))
            own = (here / name for name in sorted(names) if name not in LITTER and name.endswith(suffix))
            yield from (path for path in own if self.holds(path))

    def module(self, target: Path) -> Placement | None:
        """Return the file, a notebook if need be, that is the module `target`; None where there is none."""
        known = (item for item in (*self.scripts, *self.all_notebooks) if item.target == target)
        return next(known, Placement(self.folder / target, target) if (self.folder / target).is_file() else None)

    def read(self, target: Path) -> bytes | None:
        """Read a module; None where there is none of that name."""
        module = self.module(target)
        return module.read() if module else None


@dataclass(frozen=True)
class Solution:
    """The solution of an assignment. Why its files or its variants are not to be had is raised where they are needed;
    `is_here` says whether the course has any solutions, which students' copies and packs have not."""

    folder: Path
    variants_folder: Path
    is_here: bool
    found: tuple[Placement, ...] | GoldsmithError
    found_variants: Mapping[str, tuple[Placement, ...]] | GoldsmithError


@dataclass(frozen=True)
class WorkspaceFiles:
    """What private copies of a course have besides the starter, and what they must not have."""

    removes: tuple[str, ...]
    """Files of the starter that are not there once the solution is in place."""
    answers: tuple[Path, ...]
    """Folders of solutions, and of gold."""
    reports: Path
    """The folder of reports, which show the solution."""
    internal_tests: Path
    closed: tuple[Path, ...]
    """What no submission may get, whatever is declared."""
    for_staff: tuple[Path, ...]
    """What students do not get unless it is named."""
    shared: tuple[str, ...]
    """What submissions to all assignments need, as files, folders or patterns."""
    own_shared: tuple[str, ...]
    """What submissions to this one need."""
    exclude: tuple[str, ...]
    """Patterns of what every copy leaves out."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Target:
    """Whose gold is made or checked, with all that is to be known of it."""

    name: str
    """What people call it in commands."""
    recorded_name: str
    """What its manifest calls it, wherever commands are run."""
    kind: Kind
    label: str
    """What it is called in summaries."""
    description: str = ""
    """One line on what it is about."""
    project: Project
    """What its paths are relative to."""
    recipe: Path
    adapter: Path
    """The adapter beside the recipe, which need not exist."""
    gold: Path
    gold_place: str
    """Where its gold is, as people find it."""
    unstamped: tuple[str, ...]
    """Paths, as git knows them, whose changes are no changes of what gold is made from."""

    seed: int
    threads: int
    timeout: float
    """Seconds of processor time that a recipe may take."""
    case_timeout: float
    """Seconds of processor time that a case of a submission may take."""
    device: str = "cpu"
    """Where implementations that are checked run."""
    calibrate: bool
    """Whether tolerances are measured."""
    sketch_above: int | None
    """Bytes of traces above which gold keeps sketches."""
    stand_ins: tuple[str, ...]
    """Packages besides those of notebooks for which inert modules may stand."""
    packages: tuple[str, ...] = ()
    """Installed packages that submissions may import although they came from a folder."""
    loopback: bool = False
    """Whether submissions may use sockets, each in a network of its own."""
    forbidden: tuple[str, ...] = ()
    """Full names that implementations must not use."""
    overwriting: Literal["note", "differs"] = "note"
    """What it is when an implementation overwrites inputs that the solution leaves alone."""
    allow_drift: Mapping[str, str] = field(default_factory=dict)
    silence: Mapping[str, str] = field(default_factory=dict)
    survivors: Mapping[str, str] = field(default_factory=dict)
    operators: str = ""
    """The file of its project with mutation operators of its own."""

    replacements: Replacements = ()
    """What takes the place of modules that a recipe by itself imports."""
    search_path: tuple[Path, ...] = ()
    """Of a recipe by itself, the folders that modules are found in besides those of the environment."""
    starter: Starter | None = None
    """None for a recipe by itself: it runs on what it imports, in its own place."""
    solution: Solution | None = None
    files: WorkspaceFiles | None = None
    injected: str | GoldsmithError = ""
    """Since when its solution is in the starter's place."""
    resolve: Callable[[Path], Target] | None = None
    """Resolves it again, in its own root or in a copy of that."""

    @property
    def make_command(self) -> str:
        """Return the command that makes its gold, run in the project, or in the recipe's folder outside of a course."""
        if self.kind == "assignment":
            return f"goldsmith generate {self.name}"
        return " ".join([f"goldsmith record {shlex.quote(self.recipe.name)}", *map(self._option, self.replacements)])

    def _option(self, replacement: tuple[str, str]) -> str:
        name, where = replacement
        place = os.path.relpath(where, self.recipe.parent) if os.path.isabs(where) else where
        return f"--with {shlex.quote(place if name == EVERYTHING else f'{name}={place}')}"

    @property
    def placed(self) -> tuple[Placement, ...]:
        """Return the solution's files; none of a recipe by itself, whose implementation stays where it is."""
        return _or_raise(self.solution.found) if self.solution else ()

    @property
    def variants(self) -> Mapping[str, tuple[Placement, ...]]:
        """Return the solution's variants by name: the solution's files, some replaced by those of the variant."""
        return _or_raise(self.solution.found_variants) if self.solution else {}

    @property
    def injected_since(self) -> str:
        """Return since when its solution is in the starter's place; "" if it is not."""
        return _or_raise(self.injected)

    def running_on(self, replacements: Replacements) -> Target:
        """Return the same recipe with another implementation in the place of what it imports."""
        return replace(self, replacements=replacements)

    def again(self, root: Path | None = None) -> Target:
        """Return what it is by now, or in a copy of its project."""
        return self.resolve(root or self.project.root) if self.resolve else self


def is_recipe_file(text: str) -> bool:
    """Say whether a command's argument names a recipe file, not an assignment."""
    return text.endswith(".py")


def _or_raise(found: Value | GoldsmithError) -> Value:
    if isinstance(found, GoldsmithError):
        raise found
    return found


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
