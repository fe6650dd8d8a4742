"""What can be wrong with a course, its configuration, its assignments and their solutions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from goldsmith.errors.base import GoldsmithError, UsageError


class NotACourse(UsageError):
    template = (
        "{start} is not inside a course: neither it nor a folder above it has goldsmith.toml or src/assignments/; "
        "change into one, or make this folder one with `goldsmith init`."
    )
    start: Path


class BadConfig(UsageError):
    file: Path
    problem: str
    key: str | None = None
    line: int | None = None

    def sentence(self) -> str:
        place = f"{self.file}" + (f", line {self.line}" if self.line else "")
        key = f"`{self.key}`: " if self.key else ""
        return f"{place}: {key}{self.problem}{'' if self.problem.endswith('?') else '.'}"


class UnknownAssignment(UsageError):
    name: str
    nearest: Sequence[str]
    known: Sequence[str]
    folder: Path
    exists: bool = True

    def sentence(self) -> str:
        if not self.exists:
            hint = "that folder does not exist; name the right one as `assignments` in goldsmith.toml."
        elif self.nearest:
            hint = "did you mean " + " or ".join(self.nearest) + "?"
        elif self.known:
            hint = "there are " + ", ".join(self.known) + "."
        else:
            hint = "make the first one with `goldsmith new NAME`."
        return f"no assignment is called {self.name!r} in {self.folder}; {hint}"


class NoAssignments(UsageError):
    template = "there are no assignments in {folder} yet; make one with `goldsmith new NAME`."
    folder: Path


class NothingChosen(UsageError):
    """No assignment was named, and there is no terminal to ask on."""

    command: str
    known: Sequence[str]
    several: bool = True
    after: str = ""

    def sentence(self) -> str:
        which = "an assignment or `all`" if self.several else "an assignment"
        there = "there is" if len(self.known) == 1 else "there are"
        names = ", ".join(self.known)
        return f"name {which}, as in `goldsmith {self.command} {self.known[0]}{self.after}`; {there} {names}."


class NoSolution(GoldsmithError):
    assignment: str
    expected: Path
    orphans: Sequence[Path] = ()

    def sentence(self) -> str:
        orphans = ""
        if self.orphans:
            orphans = f" ({', '.join(str(path) for path in self.orphans)} fits no assignment)"
        return (
            f"{self.assignment} has no solution: put <name>_solution.py for each <name>.py it replaces into "
            f"{self.expected}/{orphans}."
        )


class NoSuchVariant(GoldsmithError):
    variant: str
    case: str
    folder: Path | None
    known: Sequence[str]

    def sentence(self) -> str:
        if self.folder is None:
            return (
                f"case {self.case} accepts the variant {self.variant!r}, and only a course's solution has variants; "
                "take `accepts` out of the recipe."
            )
        there = f"there are {', '.join(self.known)}" if self.known else "there is none"
        return (
            f"case {self.case} accepts the variant {self.variant!r}, but {self.folder}/{self.variant}/ is not there "
            f"({there}); put the changed *_solution.py into it."
        )


class SolutionFitsNothing(GoldsmithError):
    template = (
        "{file} replaces nothing: the starter has no {wanted}; rename one of them, or drop `_solution` from the name "
        "to add the file as it is."
    )
    file: Path
    wanted: Path


class SolutionIsAmbiguous(GoldsmithError):
    template = "{file} fits {assignments:and}; move it into {solutions}/<assignment>/ of the one it belongs to."
    file: Path
    assignments: Sequence[str]
    solutions: Path


class SolutionsCollide(GoldsmithError):
    template = "{first} and {second} both take the place of {target}; keep one of them."
    first: Path
    second: Path
    target: Path


class Unreadable(GoldsmithError):
    template = "{path} cannot be read ({reason}); make it readable, or add it to `exclude`."
    path: Path
    reason: str


class NoSuchRevision(UsageError):
    template = "there is no git revision {revision!r} in {root}; choose one that `git branch --all` lists."
    revision: str
    root: Path


class GitCannotSay(GoldsmithError):
    template = "git does not work in {root}, so nothing could be checked; see why with `git -C {root} status`."
    root: Path


class BlindGuard(GoldsmithError):
    template = "the guard does not know what to look for: {problems:first}; fix that, then run it again."
    problems: Sequence[str]


class OneTargetOnly(UsageError):
    template = "a PATH, --ref and --staged exclude each other; give one."


class FolderNotEmpty(UsageError):
    template = "{folder} exists and is not an empty folder; nothing was written, name a new one."
    folder: Path


class OutsideCourse(GoldsmithError):
    template = (
        "{assignment} needs {path}, which lies outside of the course, so that it cannot be sent to workers; move it "
        "into the course, or leave out --engine dask."
    )
    assignment: str
    path: Path
