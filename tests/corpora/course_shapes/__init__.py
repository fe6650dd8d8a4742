"""Five courses with the folders and file names of public ones, and code of our own."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from support.course import CourseOnDisk

Files = Mapping[str, str]


@dataclass(frozen=True)
class Shape:
    """A course as it is found: `public` is what students have, `staff` what lies beside it. Then what staff add for
    goldsmith, and what students hand in, as files over a fork of `public`."""

    assignment: str
    public: Files
    staff: Files
    recipe: Files
    tests: Files
    right: Files
    wrong: Files
    wrong_part: str
    settings: Files
    said: tuple[str, ...]
    names: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    package: str = ""
    leak: str = ""
    rigor: float = 0.5
    extras: Files = field(default_factory=dict)

    def write(self, root: Path) -> CourseOnDisk:
        """The course as it is found, committed."""
        course = CourseOnDisk(root)
        course.root.mkdir(parents=True)
        course.write({**self.public, **self.staff})
        course.git("init", "--quiet", "--initial-branch=main")
        course.git("add", "--all")
        course.git("commit", "--quiet", "-m", "The course")
        return course

    def fork(self, root: Path, files: Files) -> Path:
        """What a student has: a clone of all that is public, with a history and an environment, and own work in it."""
        fork = CourseOnDisk(root).write({**self.public, **files})
        fork.git("init", "--quiet")
        fork.write({".venv/pyvenv.cfg": "home = /usr\n", ".venv/lib/site.py": "raise SystemExit\n"})
        return root


def module(text: str) -> str:
    return textwrap.dedent(text).lstrip("\n")
