"""What can be wrong with a course, its configuration, its assignments and their solutions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from goldsmith.errors.base import COULD_NOT_RUN, USAGE, GoldsmithError


@dataclass(eq=False)
class NotACourse(GoldsmithError):
    exit_code: ClassVar[int] = USAGE
    start: Path

    def sentence(self) -> str:
        return (
            f"{self.start} is not inside a course: neither it nor a folder above it has goldsmith.toml or "
            "src/assignments/; change into one, or make this folder one with `goldsmith init`."
        )


@dataclass(eq=False)
class BadConfig(GoldsmithError):
    exit_code: ClassVar[int] = USAGE
    file: Path
    problem: str
    key: str | None = None
    line: int | None = None

    def sentence(self) -> str:
        place = f"{self.file}" + (f", line {self.line}" if self.line else "")
        key = f"`{self.key}`: " if self.key else ""
        return f"{place}: {key}{self.problem}{'' if self.problem.endswith('?') else '.'}"


@dataclass(eq=False)
class UnknownAssignment(GoldsmithError):
    exit_code: ClassVar[int] = USAGE
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


@dataclass(eq=False)
class NoAssignments(GoldsmithError):
    exit_code: ClassVar[int] = USAGE
    folder: Path

    def sentence(self) -> str:
        return f"there are no assignments in {self.folder} yet; make one with `goldsmith new NAME`."


@dataclass(eq=False)
class NothingChosen(GoldsmithError):
    """No assignment was named, and there is no terminal to ask on."""

    exit_code: ClassVar[int] = USAGE
    command: str
    known: Sequence[str]
    several: bool = True
    after: str = ""

    def sentence(self) -> str:
        which = "an assignment or `all`" if self.several else "an assignment"
        there = "there is" if len(self.known) == 1 else "there are"
        names = ", ".join(self.known)
        return f"name {which}, as in `goldsmith {self.command} {self.known[0]}{self.after}`; {there} {names}."


@dataclass(eq=False)
class NoSolution(GoldsmithError):
    exit_code: ClassVar[int] = COULD_NOT_RUN
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


@dataclass(eq=False)
class NoSuchVariant(GoldsmithError):
    variant: str
    case: str
    folder: Path
    known: Sequence[str]

    def sentence(self) -> str:
        there = f"there are {', '.join(self.known)}" if self.known else "there is none"
        return (
            f"case {self.case} accepts the variant {self.variant!r}, but {self.folder}/{self.variant}/ is not there "
            f"({there}); put the changed *_solution.py into it."
        )


@dataclass(eq=False)
class SolutionFitsNothing(GoldsmithError):
    file: Path
    wanted: Path

    def sentence(self) -> str:
        return (
            f"{self.file} replaces nothing: the starter has no {self.wanted}; rename one of them, or drop "
            "`_solution` from the name to add the file as it is."
        )


@dataclass(eq=False)
class SolutionIsAmbiguous(GoldsmithError):
    file: Path
    assignments: Sequence[str]
    solutions: Path

    def sentence(self) -> str:
        names = " and ".join(self.assignments)
        return f"{self.file} fits {names}; move it into {self.solutions}/<assignment>/ of the one it belongs to."


@dataclass(eq=False)
class SolutionsCollide(GoldsmithError):
    first: Path
    second: Path
    target: Path

    def sentence(self) -> str:
        return f"{self.first} and {self.second} both take the place of {self.target}; keep one of them."


@dataclass(eq=False)
class Unreadable(GoldsmithError):
    path: Path
    reason: str

    def sentence(self) -> str:
        return f"{self.path} cannot be read ({self.reason}); make it readable, or add it to `exclude`."


@dataclass(eq=False)
class NoSuchRevision(GoldsmithError):
    exit_code: ClassVar[int] = USAGE
    revision: str
    root: Path

    def sentence(self) -> str:
        return f"git knows no revision {self.revision!r} in {self.root}; choose one that `git branch --all` lists."


@dataclass(eq=False)
class GitCannotSay(GoldsmithError):
    root: Path

    def sentence(self) -> str:
        return f"git does not answer in {self.root}, so nothing is known; try `git -C {self.root} status`."


@dataclass(eq=False)
class BlindGuard(GoldsmithError):
    problems: Sequence[str]

    def sentence(self) -> str:
        more = f" (and {len(self.problems) - 1} more)" if len(self.problems) > 1 else ""
        return f"the guard does not know what to look for: {self.problems[0]}{more}; fix that, then run it again."


@dataclass(eq=False)
class OneTargetOnly(GoldsmithError):
    exit_code: ClassVar[int] = USAGE

    def sentence(self) -> str:
        return "a PATH, --ref and --staged exclude each other; give one."


@dataclass(eq=False)
class FolderNotEmpty(GoldsmithError):
    exit_code: ClassVar[int] = USAGE
    folder: Path

    def sentence(self) -> str:
        return f"{self.folder} exists and is not an empty folder; nothing was written, name a new one."
