"""A course: its root, its configuration, its assignments and where each part of an assignment is."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

from goldsmith.courses.layout.config import ROOT, AssignmentConfig, Config, project_name, read_config
from goldsmith.errors.course import NotACourse, UnknownAssignment
from goldsmith.foundation.ignored_names import LITTER
from goldsmith.foundation.wording import nearest
from goldsmith.targets.target import Project, Starter


@dataclass(frozen=True)
class Course(Project):
    """The repository of a course with its settings, found once and passed around."""

    config: Config

    @property
    def assignments_folder(self) -> Path:
        return self.root / self.config.assignments

    @property
    def solutions_folder(self) -> Path:
        return self.root / self.config.solutions

    @property
    def solution_folders(self) -> list[Path]:
        """Return every folder that holds solutions: the common one, and those that assignments declare."""
        declared = [self.root / item.solution for item in self.config.assignment.values() if item.solution]
        return [self.solutions_folder, *declared]

    @property
    def internal_tests_folder(self) -> Path:
        return self.root / self.config.internal_tests

    @property
    def fixtures_folder(self) -> Path:
        return self.root / self.config.fixtures

    @property
    def reports_folder(self) -> Path:
        """Return where `goldsmith test` keeps its reports: private, because they show the solution, and ignored by
        git."""
        return self.internal_tests_folder / "reports"

    @property
    def grades_folder(self) -> Path:
        """Return where `goldsmith grade` writes by default: for staff only, and ignored by git."""
        return self.root / "private" / "grades"

    @property
    def packs_folder(self) -> Path:
        """Return where `goldsmith pack` writes by default: for staff only, and ignored by git."""
        return self.root / "private" / "packs"

    @property
    def private_folders(self) -> list[str]:
        """List what students do not get: solutions and the folder around them, internal tests, gold, what goldsmith
        writes for staff, and what the configuration adds."""
        config = self.config
        above = PurePosixPath(config.solutions).parts[0]
        others = (config.assignments, config.internal_tests, *(item.folder for item in config.assignment.values()))
        shared = any(PurePosixPath(other).parts[:1] == (above,) for other in others)
        own = config.solutions if shared else above
        beside = [item.solution for item in config.assignment.values() if item.solution]
        folders = [own, *beside, config.internal_tests, config.fixtures, *config.guard.private]
        written = [self.relative(folder).as_posix() for folder in (self.grades_folder, self.packs_folder)]
        folders += [name for name in written if not any(PurePosixPath(name).is_relative_to(one) for one in folders)]
        return list(dict.fromkeys(folders))

    @cached_property
    def whole_assignment(self) -> str:
        """Return the name of the single assignment that the whole course is; "" if it has several, or none yet.

        Declared by `folder = "."`. It is also assumed under `assignments = "."` if a recipe is at the root or no folder
        there is an assignment; the project's name is then used.
        """
        for name, item in self.config.assignment.items():
            if item.folder and not PurePosixPath(item.folder).parts:
                return name
        if not self._at_the_root or any(item.folder for item in self.config.assignment.values()):
            return ""
        recipes = (self.root / self.config.recipe, self.solutions_folder / self.config.recipe)
        if any(recipe.is_file() for recipe in recipes) or not self._folders_with_an_assignment():
            code = (name for name in os.listdir(self.root) if self._is_code(self.root / name))
            return project_name(self.root) if any(code) else ""
        return ""

    @cached_property
    def whole_solution(self) -> Path:
        """Return the folder of the single assignment's solution.

        A folder with the name of both the assignment and one of its packages may be the solution or the package's
        solution: whichever fits more files at the root.
        """
        own = self.solutions_folder / self.whole_assignment
        if not own.is_dir() or not (self.root / own.name).is_dir():
            return own if own.is_dir() else self.solutions_folder
        files = [path for path in own.rglob("*.py") if path.is_file()]
        fits = {base: sum(self._fits(path.relative_to(base)) for path in files) for base in (own, own.parent)}
        return own if fits[own] > fits[own.parent] else own.parent

    def _fits(self, inside: Path) -> bool:
        """Say whether a solution's file has a place in the starter: a file to replace, or a folder to be in."""
        return (self.root / inside).is_file() or (inside.parent != Path() and (self.root / inside.parent).is_dir())

    @property
    def _at_the_root(self) -> bool:
        return PurePosixPath(self.config.assignments) == PurePosixPath(ROOT)

    def assignments(self) -> list[Assignment]:
        if self.whole_assignment:
            return [Assignment(self, self.whole_assignment)]
        declared = [name for name, item in self.config.assignment.items() if item.folder]
        there = [name for name in declared if (self.root / self.config.assignment[name].folder).is_dir()]
        found = [name for name in self._folders_with_an_assignment() if name not in declared]
        return [Assignment(self, name) for name in sorted({*there, *found}, key=_natural_order)]

    def _folders_with_an_assignment(self) -> list[str]:
        """Return the names of the assignments' folders. At the root of a course, where other folders are as well, only
        those with a recipe, a solution, settings, or a name such as `hw1`."""
        if not self.assignments_folder.is_dir():
            return []
        entries = [entry for entry in self.assignments_folder.iterdir() if not entry.name.startswith((".", "_"))]
        folders = [entry for entry in entries if entry.is_dir() and _has_files(entry)]
        if self._at_the_root:
            folders = [folder for folder in folders if self._is_assignment_at_the_root(folder)]
        return [folder.name for folder in folders]

    def _is_assignment_at_the_root(self, folder: Path) -> bool:
        if not self.is_public(folder) or not self._is_code(folder):
            return False
        return (
            (folder / self.config.recipe).is_file()
            or (self.solutions_folder / folder.name).is_dir()
            or folder.name in self.config.assignment
            or is_numbered(folder.name)
        )

    def _is_code(self, path: Path) -> bool:
        """Say whether `path` is a file of code, or a folder with one up to two levels down; neither hidden nor
        private."""
        if path.name.startswith(".") or not self.is_public(path):
            return False
        if path.is_dir():
            return any(any(path.glob(pattern)) for pattern in ("*.py", "*/*.py", "*/*/*.py", "*.ipynb", "*/*.ipynb"))
        return path.suffix in (".py", ".ipynb")

    def is_public(self, path: Path) -> bool:
        """Say whether `path`, in the course, is neither private nor goldsmith's own."""
        own = (self.state_folder, self.reports_folder, *map(self.root.joinpath, self.private_folders))
        return not any(path.is_relative_to(folder) for folder in own)

    def assignment(self, name: str) -> Assignment:
        """Return the assignment called `name`; `Scratch_1` and `src/assignments/scratch-1/` are understood too."""
        found = self.assignments()
        wanted = _plain(Path(name).name)
        for matches in (
            [item for item in found if item.name == name],
            [item for item in found if _plain(item.name) == wanted],
        ):
            if len(matches) == 1:
                return matches[0]
        known = [item.name for item in found]
        by_plain = {_plain(item): item for item in known}
        near = [by_plain[item] for item in nearest(wanted, by_plain)]
        folder = self.assignments_folder
        raise UnknownAssignment(name, near, known, self.relative(folder), exists=folder.is_dir())


VARIANTS = "variants"


@dataclass(frozen=True)
class Assignment:
    """One exercise of a course."""

    course: Course
    name: str

    @property
    def is_whole(self) -> bool:
        """Say whether the whole course is this one assignment, so that its starter is the root."""
        return self.course.whole_assignment == self.name

    @property
    def starter(self) -> Path:
        if self.is_whole:
            return self.course.root
        return (
            self.course.root / self.config.folder if self.config.folder else self.course.assignments_folder / self.name
        )

    @property
    def solution(self) -> Path:
        """Return the folder that the assignment declares, or its own below the solutions' folder; where the course is
        one assignment without such a folder, all of the solutions' folder."""
        if self.config.solution:
            return self.course.root / self.config.solution
        return self.course.whole_solution if self.is_whole else self.course.solutions_folder / self.name

    @property
    def tree(self) -> Starter:
        """Return which files are the starter's, whatever is in them."""
        course = self.course
        private = (course.state_folder, course.reports_folder, *map(course.root.joinpath, course.private_folders))
        return Starter(self.starter, course.root, self.is_whole, course.config.exclude, private)

    def holds(self, path: Path) -> bool:
        """Say whether `path`, whose parent belongs to the starter, belongs to it too."""
        return self.tree.holds(path)

    def files(self, suffix: str = "") -> Iterator[Path]:
        """Yield the starter's files whose names end with `suffix`, in order, without what tools leave behind."""
        return self.tree.files(suffix)

    @property
    def variants(self) -> Path:
        """Return the folder of other correct solutions, one folder each."""
        return self.solution / VARIANTS

    @property
    def gold(self) -> Path:
        return self.course.fixtures_folder / self.name

    @property
    def recipe(self) -> Path:
        """Return the recipe: the private one next to the solution if there is one, else the one in the starter."""
        private = self.solution / self.course.config.recipe
        return private if private.is_file() else self.starter / self.course.config.recipe

    @property
    def adapter(self) -> Path:
        """Return the adapter for submissions that are built differently; it is where the recipe is."""
        return self.recipe.with_name(self.course.config.adapter)

    @property
    def config(self) -> AssignmentConfig:
        """Return the course's settings for this assignment."""
        return self.course.config.assignment.get(self.name, AssignmentConfig())

    @property
    def forbidden(self) -> tuple[str, ...]:
        """Return the full names that submissions must not use: the course's and the assignment's own."""
        return tuple(dict.fromkeys((*self.course.config.forbid, *self.config.forbid)))

    @property
    def label(self) -> str:
        if self.config.title:
            return self.config.title
        return self.name[:1].upper() + self.name[1:]

    @property
    def description(self) -> str:
        """Return one line on what the assignment is about: from the configuration, else its README's heading."""
        if self.config.description:
            return self.config.description
        readme = self.starter / "README.md"
        if readme.is_file():
            for line in readme.read_text(encoding="utf-8", errors="replace").splitlines():
                heading = re.match(r"#+\s+(.*\S)", line)
                if heading:
                    return _without_label(heading[1], self.label)
        return ""


def _without_label(heading: str, label: str) -> str:
    """Return what a heading such as `Hw1: sorting` says after the label."""
    after = heading[len(label) :] if heading.lower().startswith(label.lower()) else ""
    named = re.match(r"\s*[:–-]\s*", after)
    return after[named.end() :] if named else heading


def find_course(start: Path) -> Course:
    """Find the course that contains `start`: the nearest folder upwards with a configuration or the usual layout."""
    origin = Path(os.path.abspath(start))
    for folder in (origin, *origin.parents):
        config = read_config(folder)
        if config is None and (folder / Config().assignments).is_dir():
            config = Config()
        if config is not None:
            return Course(folder, config)
    raise NotACourse(origin)


def _has_files(folder: Path) -> bool:
    return any(path.name not in LITTER for path in folder.iterdir())


def _plain(name: str) -> str:
    return name.lower().replace("_", "-")


def is_numbered(name: str) -> bool:
    """Say whether a folder has a numbered name, as assignments often do: `hw1`, `assignment2_graphs`, `lab-03`."""
    words = (
        "hw|homework|assignment|assign|lab|pset|ps|problem|exercise|ex|week|project|module|practical|scratch|task|unit"
    )
    return bool(re.match(rf"({words})[-_ ]?\d", name, re.I))


def _natural_order(name: str) -> list[tuple[int, str]]:
    """Return a sort key by which scratch-2 comes before scratch-10."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", name)]
