"""What can be wrong with a recipe, and how its run can end."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from goldsmith.errors.base import GoldsmithError, UsageError


class RecipeMisuse(Exception):
    """Raised inside a recipe that asks for what cannot become gold; the message is one sentence for its author."""


class NoRecipe(UsageError):
    template = (
        "{assignment} has no recipe ({recipe}); say what to record, and a first one is drafted: `goldsmith generate "
        "{assignment} --kind outputs|checkpoint|both`."
    )
    assignment: str
    recipe: Path


class NothingToDraft(GoldsmithError):
    template = (
        "no recipe could be drafted for {assignment}: its solution defines no class and no function; write {recipe} by "
        "hand: functions marked @goldsmith.case that call case.input, case.model and case.record."
    )
    assignment: str
    recipe: Path


class NothingRuns(GoldsmithError):
    assignment: str
    recipe: Path
    reasons: Sequence[str]

    def sentence(self) -> str:
        more = f"; and {len(self.reasons) - 3} more" if len(self.reasons) > 3 else ""
        return (
            f"wrote {self.recipe} with a TODO for each part of {self.assignment}, but no part could be called with "
            f"guessed arguments ({'; '.join(self.reasons[:3])}{more}); write the first case there and run "
            f"`goldsmith generate {self.assignment}` again."
        )


class RecipeSyntax(GoldsmithError):
    file: Path
    line: int
    problem: str
    text: str

    def sentence(self) -> str:
        code = f": {self.text.strip()}" if self.text.strip() else ""
        return f"{self.file}, line {self.line}, is not Python: {self.problem}{code}"


class BadPoints(UsageError):
    template = (
        "{file}, line {line}: {setting} is not a number of points; write a number from 0 to {most}, once for the name "
        "of each case."
    )
    file: Path
    line: int
    setting: str
    most: int


class RecipeRaised(GoldsmithError):
    recipe: Path
    case: str | None
    error: str
    trace: Sequence[str] = ()

    def sentence(self) -> str:
        where = f"case {self.case} of {self.recipe}" if self.case else f"{self.recipe}"
        return f"{where} raised {self.error}"


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


class RecipeLeftEarly(GoldsmithError):
    recipe: Path
    case: str | None
    how: str

    def sentence(self) -> str:
        where = f"in case {self.case}" if self.case else "before its cases had run"
        return (
            f"{self.recipe} exited early ({self.how}) {where}; remove that: gold is only made when every case has "
            "finished."
        )


class RecipeKilled(GoldsmithError):
    recipe: Path
    case: str | None
    signal: str

    def sentence(self) -> str:
        where = f" in case {self.case}" if self.case else ""
        why = {
            "SIGKILL": "most likely the machine ran out of memory; use smaller sizes in the recipe",
            "SIGSEGV": "native code crashed; see what it printed with -v",
            "SIGABRT": "native code ended the process; see what it printed with -v",
        }.get(self.signal, "see what it printed with -v")
        return f"{self.recipe} was killed by {self.signal}{where}: {why}."


class RecipeOutOfMemory(GoldsmithError):
    recipe: Path
    case: str | None
    error: str

    def sentence(self) -> str:
        where = f" in case {self.case}" if self.case else ""
        return f"{self.recipe} ran out of memory{where} ({self.error}); use smaller sizes in the recipe."


class RecipeTimedOut(GoldsmithError):
    recipe: Path
    case: str | None
    time: str

    def sentence(self) -> str:
        where = f" in case {self.case}" if self.case else ""
        return (
            f"{self.recipe} took longer than {self.time}{where}, so it was stopped; allow more with --timeout SECONDS."
        )


class MissingPackage(GoldsmithError):
    template = "{needed_by} needs {package}, which is not installed; install it with `pip install {package}`."
    package: str
    needed_by: str


class NeverReady(GoldsmithError):
    """This machine never came to the first line of the course, by no fault of whatever was to run."""

    template = (
        "this machine was not ready to run anything on {device} ({problem}), so nothing was judged; "
        "see what else runs there, and run it again."
    )
    device: str
    problem: str


class DeviceMissing(GoldsmithError):
    device: str
    available: Sequence[str]

    def sentence(self) -> str:
        there = "there is" if len(self.available) == 1 else "there are"
        return f"there is no device {self.device!r} here; {there} {', '.join(self.available)}."
