"""Everything that can go wrong for a user, as types with the facts as fields.

The sentence a person reads is made here and nowhere else: it names the thing, the place and the next
step. `exit_code` says which of the documented exit codes follows; `kind` is the stable word for machines.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

USAGE = 2
COULD_NOT_RUN = 3
INTERRUPTED = 130


class GoldsmithError(Exception):
    """The base of all errors that are shown to people as one sentence."""

    exit_code: ClassVar[int] = COULD_NOT_RUN
    outcome: ClassVar[str] = "failed"

    @property
    def kind(self) -> str:
        return re.sub(r"(?<!^)(?=[A-Z])", "-", type(self).__name__).lower()

    def sentence(self) -> str:
        raise NotImplementedError(type(self).__name__)

    def __str__(self) -> str:
        return self.sentence()


# --- the course and its configuration -------------------------------------------------------------


@dataclass(eq=False)
class NotACourse(GoldsmithError):
    exit_code: ClassVar[int] = USAGE
    start: Path

    def sentence(self) -> str:
        return (
            f"{self.start} is not inside a course: neither it nor a folder above it has goldsmith.toml or "
            "src/assignments/; change into one, or make one with `goldsmith init --example DIR`."
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
            hint = "that folder does not exist; `assignments` in the configuration names it."
        elif self.nearest:
            hint = "did you mean " + " or ".join(self.nearest) + "?"
        elif self.known:
            hint = "there are " + ", ".join(self.known) + "."
        else:
            hint = "there are no assignments there yet."
        return f"No assignment is called {self.name!r} in {self.folder}; {hint}"


@dataclass(eq=False)
class NothingChosen(GoldsmithError):
    exit_code: ClassVar[int] = USAGE
    known: Sequence[str]

    def sentence(self) -> str:
        if not self.known:
            return "This course has no assignments yet; nothing to generate."
        return f"Name an assignment or `all` (there is no terminal to ask on); found: {', '.join(self.known)}."


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
class FolderNotEmpty(GoldsmithError):
    exit_code: ClassVar[int] = USAGE
    folder: Path

    def sentence(self) -> str:
        return f"{self.folder} exists and is not an empty folder; name a new one. Nothing was written."


# --- the recipe -------------------------------------------------------------------------------------


@dataclass(eq=False)
class NoRecipe(GoldsmithError):
    exit_code: ClassVar[int] = USAGE
    assignment: str
    recipe: Path

    def sentence(self) -> str:
        return (
            f"{self.assignment} has no recipe ({self.recipe}); say what to make and one will be written to "
            f"start from: `goldsmith generate {self.assignment} --kind outputs|checkpoint|both`."
        )


@dataclass(eq=False)
class NoModelFound(GoldsmithError):
    assignment: str
    recipe: Path
    tried: Sequence[str]

    def sentence(self) -> str:
        if self.tried:
            reason = "none of its models could be built and called (" + "; ".join(self.tried) + ")"
        else:
            reason = "its solution defines no torch.nn.Module"
        return (
            f"No recipe could be proposed for {self.assignment}: {reason}; write {self.recipe} by hand: "
            "functions marked @goldsmith.case that call case.input, case.model and case.record."
        )


@dataclass(eq=False)
class RecipeSyntax(GoldsmithError):
    file: Path
    line: int
    problem: str
    text: str

    def sentence(self) -> str:
        code = f": {self.text.strip()}" if self.text.strip() else ""
        return f"{self.file}, line {self.line}: {self.problem}{code}"


@dataclass(eq=False)
class RecipeRaised(GoldsmithError):
    recipe: Path
    case: str | None
    error: str
    trace: Sequence[str] = field(default=())

    def sentence(self) -> str:
        where = f"case {self.case} of {self.recipe}" if self.case else f"{self.recipe}"
        return f"{where} raised {self.error}"


@dataclass(eq=False)
class RecipeMisused(GoldsmithError):
    """The recipe called goldsmith in a way that cannot make gold."""

    recipe: Path
    case: str | None
    problem: str
    place: str | None = None

    def sentence(self) -> str:
        where = self.place or str(self.recipe)
        case = f"case {self.case}: " if self.case else ""
        return f"{where}: {case}{self.problem}"


@dataclass(eq=False)
class RecipeLeftEarly(GoldsmithError):
    recipe: Path
    case: str | None
    how: str

    def sentence(self) -> str:
        where = f"in case {self.case}" if self.case else "before its cases had run"
        return f"{self.recipe} left early ({self.how}) {where}; gold is only made when every case has finished."


@dataclass(eq=False)
class RecipeKilled(GoldsmithError):
    recipe: Path
    case: str | None
    signal: str

    def sentence(self) -> str:
        where = f" in case {self.case}" if self.case else ""
        why = {
            "SIGKILL": ": most likely the machine ran out of memory; use smaller sizes in the recipe",
            "SIGSEGV": ": native code crashed",
            "SIGABRT": ": native code gave up",
        }.get(self.signal, "")
        return f"{self.recipe} was killed by {self.signal}{where}{why}."


@dataclass(eq=False)
class RecipeOutOfMemory(GoldsmithError):
    recipe: Path
    case: str | None
    error: str

    def sentence(self) -> str:
        where = f" in case {self.case}" if self.case else ""
        return f"{self.recipe} ran out of memory{where} ({self.error}); use smaller sizes in the recipe."


@dataclass(eq=False)
class RecipeTimedOut(GoldsmithError):
    recipe: Path
    case: str | None
    seconds: float

    def sentence(self) -> str:
        where = f" in case {self.case}" if self.case else ""
        return (
            f"{self.recipe} was still running{where} after {self.seconds:g} s and was stopped; "
            "allow more with --timeout SECONDS."
        )


@dataclass(eq=False)
class MissingPackage(GoldsmithError):
    package: str
    needed_by: str

    def sentence(self) -> str:
        extra = "'goldsmith[torch]'" if self.package == "torch" else self.package
        return f"{self.needed_by} needs {self.package}, which is not installed: pip install {extra}"


@dataclass(eq=False)
class DeviceMissing(GoldsmithError):
    device: str
    available: Sequence[str]

    def sentence(self) -> str:
        return f"There is no device {self.device!r} here; available: {', '.join(self.available)}."


# --- the gold ---------------------------------------------------------------------------------------


@dataclass(eq=False)
class GoldRefused(GoldsmithError):
    outcome: ClassVar[str] = "refused"
    assignment: str
    problems: Sequence[str]

    def sentence(self) -> str:
        more = f" (and {len(self.problems) - 1} more)" if len(self.problems) > 1 else ""
        return f"gold refused: {self.problems[0]}{more}. Mend it, or allow it by name in the recipe: allow={{…}}."


@dataclass(eq=False)
class TreeChanged(GoldsmithError):
    outcome: ClassVar[str] = "refused"
    paths: Sequence[Path]

    def sentence(self) -> str:
        names = ", ".join(str(path) for path in self.paths[:3]) + (" and more" if len(self.paths) > 3 else "")
        return (
            f"{names} changed while the recipe ran, by the recipe or by hand; look at what changed (git diff), "
            "then run again."
        )


@dataclass(eq=False)
class GoldUnreadable(GoldsmithError):
    path: Path
    problem: str

    def sentence(self) -> str:
        return f"{self.path} is not usable gold: {self.problem}; make it anew with `goldsmith generate`."


@dataclass(eq=False)
class CannotWrite(GoldsmithError):
    path: Path
    reason: str

    def sentence(self) -> str:
        return f"{self.path} cannot be written ({self.reason}); free space or permissions, then run again."


@dataclass(eq=False)
class Busy(GoldsmithError):
    folder: Path
    holder: str

    def sentence(self) -> str:
        return f"{self.folder} is in use by {self.holder}; wait for it, or leave out --no-wait."


@dataclass(eq=False)
class MenuLeft(GoldsmithError):
    exit_code: ClassVar[int] = INTERRUPTED

    def sentence(self) -> str:
        return "Nothing chosen, nothing done."


@dataclass(eq=False)
class Interrupted(GoldsmithError):
    exit_code: ClassVar[int] = INTERRUPTED

    def sentence(self) -> str:
        return "Interrupted. The starter is untouched and gold that was not finished was not published."


@dataclass(eq=False)
class Unexpected(GoldsmithError):
    """A fault of goldsmith itself."""

    error: str

    def sentence(self) -> str:
        return f"goldsmith itself failed ({self.error}); --debug shows where. The starter is untouched."
