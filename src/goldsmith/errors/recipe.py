"""What can be wrong with a recipe, and how its run can end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from goldsmith.errors.base import USAGE, GoldsmithError


class RecipeMisuse(Exception):
    """Raised inside a recipe that asks for what cannot become gold; the message is one sentence for its author."""


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
class NothingToDraft(GoldsmithError):
    assignment: str
    recipe: Path

    def sentence(self) -> str:
        return (
            f"no recipe could be proposed for {self.assignment}: its solution defines no class and no function; write "
            f"{self.recipe} by hand: functions marked @goldsmith.case that call case.input, case.model and case.record."
        )


@dataclass(eq=False)
class NothingRuns(GoldsmithError):
    assignment: str
    recipe: Path
    reasons: Sequence[str]

    def sentence(self) -> str:
        more = f"; and {len(self.reasons) - 3} more" if len(self.reasons) > 3 else ""
        return (
            f"wrote {self.recipe} with a TODO for each part of {self.assignment}, but no part could be called with "
            f"arguments that were guessed ({'; '.join(self.reasons[:3])}{more}); write the first case there and run "
            f"`goldsmith generate {self.assignment}` again."
        )


@dataclass(eq=False)
class RecipeSyntax(GoldsmithError):
    file: Path
    line: int
    problem: str
    text: str

    def sentence(self) -> str:
        code = f": {self.text.strip()}" if self.text.strip() else ""
        return f"{self.file}, line {self.line}, is not Python: {self.problem}{code}"


@dataclass(eq=False)
class BadPoints(GoldsmithError):
    exit_code: ClassVar[int] = USAGE
    file: Path
    line: int
    setting: str
    most: int

    def sentence(self) -> str:
        where = f"{self.file}, line {self.line}"
        number = f"a number from 0 to {self.most}"
        return f"{where}: {self.setting} cannot be counted; write {number} there, once for each case by its name."


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
        return f"{where}: {case}{self.problem}{'' if self.problem.endswith(('.', '?')) else '.'}"


@dataclass(eq=False)
class RecipeLeftEarly(GoldsmithError):
    recipe: Path
    case: str | None
    how: str

    def sentence(self) -> str:
        where = f"in case {self.case}" if self.case else "before its cases had run"
        return (
            f"{self.recipe} left early ({self.how}) {where}; take that out, for gold is only made when every case has "
            "finished."
        )


@dataclass(eq=False)
class RecipeKilled(GoldsmithError):
    recipe: Path
    case: str | None
    signal: str

    def sentence(self) -> str:
        where = f" in case {self.case}" if self.case else ""
        why = {
            "SIGKILL": "most likely the machine ran out of memory; use smaller sizes in the recipe",
            "SIGSEGV": "native code crashed; see what it printed until then with -v",
            "SIGABRT": "native code gave up; see what it printed until then with -v",
        }.get(self.signal, "see what it printed until then with -v")
        return f"{self.recipe} was killed by {self.signal}{where}: {why}."


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
    time: str

    def sentence(self) -> str:
        where = f" in case {self.case}" if self.case else ""
        return (
            f"{self.recipe} took longer than {self.time}{where}, so it was stopped; allow more with --timeout SECONDS."
        )


@dataclass(eq=False)
class MissingPackage(GoldsmithError):
    package: str
    needed_by: str

    def sentence(self) -> str:
        install = f"pip install {self.package}"
        return f"{self.needed_by} needs {self.package}, which is not installed; install it with `{install}`."


@dataclass(eq=False)
class DeviceMissing(GoldsmithError):
    device: str
    available: Sequence[str]

    def sentence(self) -> str:
        there = "there is" if len(self.available) == 1 else "there are"
        return f"there is no device {self.device!r} here; {there} {', '.join(self.available)}."
