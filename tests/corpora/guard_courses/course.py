"""A clean course, as a set of files, and what is handed in there.

What they have in common with a leak and is none: a starter that somebody hands in as it is, stubs that no solution
fills, provided code in both places, the boilerplate of command lines and configurations, a later assignment that gives
away what an earlier one asked for.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from support.course import CourseOnDisk

STUB = "raise NotImplementedError"


@dataclass(frozen=True)
class GuardedCourse:
    """`files` is the course as it is cloned, without what is handed in. `answers` are parts of its solutions, and
    `unchanged` are starters that a student hands in as they are."""

    files: Mapping[str, str]
    answers: tuple[str, ...]
    starters: tuple[str, ...]
    assignment: str
    handed_in: str = "submissions"
    extras: Mapping[str, str] = field(default_factory=dict)

    def write(self, root: Path) -> CourseOnDisk:
        course = CourseOnDisk(root)
        course.root.mkdir(parents=True)
        course.write(dict(self.files))
        course.git("init", "--quiet", "--initial-branch=main")
        course.git("add", "--all")
        course.git("commit", "--quiet", "-m", "The course")
        return course

    def hand_in(self, course: CourseOnDisk, folder: str = "") -> None:
        """Put submissions where staff unpack them: one is the starter, one is right."""
        for student, right in (("ada", False), ("bob", True)):
            for name in self.starters:
                text = self.files[name]
                answer = self.solution_of(name) if right else None
                course.write({f"{folder or self.handed_in}/{student}/{name}": answer or text})

    def solution_of(self, starter: str) -> str | None:
        """The text that the staff's folder has for a file of the starter."""
        stem, dot, suffix = starter.rpartition(".")
        names = [f"{stem}{ending}{dot}{suffix}" for ending in ("_solution", "_solutions", "")]
        for name, text in self.files.items():
            if name.startswith(("private/", "solutions/", "staff/")) and name.endswith(
                tuple(f"/{one}" for one in names)
            ):
                return text
        return None


def code(text: str) -> str:
    return textwrap.dedent(text).lstrip("\n")


def notebook(*cells: str) -> str:
    """A notebook of code cells; one that begins with `#!md` is text."""
    rows = []
    for text in map(code, cells):
        kind = "markdown" if text.startswith("#!md") else "code"
        row = {"cell_type": kind, "metadata": {}, "source": text.removeprefix("#!md\n").splitlines(keepends=True)}
        rows.append(row | ({"execution_count": None, "outputs": []} if kind == "code" else {}))
    return json.dumps({"cells": rows, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)


def filled(starter: str, *answers: str) -> str:
    """A starter in which the first stubs are answered, those of `STUB` in order."""
    for answer in answers:
        at = starter.index(STUB)
        indent = " " * (at - starter.rindex("\n", 0, at) - 1)
        starter = starter.replace(STUB, textwrap.indent(code(answer), indent).strip(), 1)
    return starter
