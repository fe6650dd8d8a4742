"""A course: its root, its configuration, its assignments and where each thing of an assignment lives."""

from __future__ import annotations

import difflib
import os
import re
from dataclasses import dataclass
from pathlib import Path

from goldsmith.course.config import AssignmentConfig, Config, read_config
from goldsmith.course.litter import LITTER
from goldsmith.errors import NotACourse, UnknownAssignment


@dataclass(frozen=True)
class Course:
    """The repository of a course, found once and passed around."""

    root: Path
    config: Config

    @property
    def assignments_folder(self) -> Path:
        return self.root / self.config.assignments

    @property
    def solutions_folder(self) -> Path:
        return self.root / self.config.solutions

    @property
    def internal_tests_folder(self) -> Path:
        return self.root / self.config.internal_tests

    @property
    def fixtures_folder(self) -> Path:
        return self.root / self.config.fixtures

    @property
    def reports_folder(self) -> Path:
        """What `goldsmith test` keeps; private, for it shows the solution, and ignored by git."""
        return self.internal_tests_folder / "reports"

    @property
    def grades_folder(self) -> Path:
        """What `goldsmith grade` writes unless told otherwise; for staff alone, and ignored by git."""
        return self.root / "private" / "grades"

    @property
    def state_folder(self) -> Path:
        """Locks and other state of running commands; ignored by git."""
        return self.root / ".goldsmith"

    def relative(self, path: Path) -> Path:
        """`path` as people in this course write it."""
        return path.relative_to(self.root) if path.is_relative_to(self.root) else path

    def assignments(self) -> list[Assignment]:
        if not self.assignments_folder.is_dir():
            return []
        folders = [
            entry
            for entry in self.assignments_folder.iterdir()
            if entry.is_dir() and not entry.name.startswith((".", "_")) and _has_files(entry)
        ]
        return [Assignment(self, folder.name) for folder in sorted(folders, key=_natural_order)]

    def assignment(self, name: str) -> Assignment:
        """The assignment called `name`; `Scratch_1` and `src/assignments/scratch-1/` are understood too."""
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
        near = [by_plain[item] for item in difflib.get_close_matches(wanted, by_plain, n=1, cutoff=0.6)]
        folder = self.assignments_folder
        raise UnknownAssignment(name, near, known, self.relative(folder), exists=folder.is_dir())


VARIANTS = "variants"


@dataclass(frozen=True)
class Assignment:
    """One exercise of a course."""

    course: Course
    name: str

    @property
    def starter(self) -> Path:
        return self.course.assignments_folder / self.name

    @property
    def solution(self) -> Path:
        return self.course.solutions_folder / self.name

    @property
    def variants(self) -> Path:
        """Where other right answers are kept, a folder each."""
        return self.solution / VARIANTS

    @property
    def gold(self) -> Path:
        return self.course.fixtures_folder / self.name

    @property
    def recipe(self) -> Path:
        """The recipe: beside the starter, or kept private beside the solution, which then wins."""
        private = self.solution / self.course.config.recipe
        return private if private.is_file() else self.starter / self.course.config.recipe

    @property
    def adapter(self) -> Path:
        """What the course declares about submissions that are built differently; found where the recipe is."""
        return self.recipe.with_name(self.course.config.adapter)

    @property
    def config(self) -> AssignmentConfig:
        """What the course says about this assignment."""
        return self.course.config.assignment.get(self.name, AssignmentConfig())

    @property
    def forbidden(self) -> tuple[str, ...]:
        """What submissions must not use, by its full names: the course's and its own."""
        return tuple(dict.fromkeys((*self.course.config.forbid, *self.config.forbid)))

    @property
    def label(self) -> str:
        if self.config.title:
            return self.config.title
        return self.name[:1].upper() + self.name[1:]

    @property
    def description(self) -> str:
        """One line on what the assignment is about: from the configuration, else its README's heading."""
        if self.config.description:
            return self.config.description
        readme = self.starter / "README.md"
        if readme.is_file():
            for line in readme.read_text(encoding="utf-8", errors="replace").splitlines():
                heading = re.match(r"#+\s+(.*\S)", line)
                if heading:
                    return re.sub(rf"^{re.escape(self.label)}\s*[:–-]\s*", "", heading[1], flags=re.I)
        return ""


def find_course(start: Path) -> Course:
    """The course that `start` lies in: the nearest folder upwards with a configuration or the usual layout."""
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


def _natural_order(path: Path) -> list[tuple[int, str]]:
    """scratch-2 comes before scratch-10."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", path.name)]
