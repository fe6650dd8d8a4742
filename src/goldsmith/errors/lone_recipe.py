"""What can be wrong with a recipe that belongs to no course, and with what is to take its implementation's place."""

from __future__ import annotations

from collections.abc import Sequence

from goldsmith.errors.base import UsageError


class NoSuchRecipe(UsageError):
    name: str
    is_there: bool

    def sentence(self) -> str:
        if self.is_there:
            return f"{self.name} is not a Python file; name a recipe, such as `parity_cases.py`."
        return (
            f"there is no recipe {self.name}; write one with functions marked @goldsmith.case "
            "(`goldsmith help recipes`), or check the path."
        )


class RecipeOfACourse(UsageError):
    template = (
        "{name} is the recipe of the course's assignment {assignment}; use its name instead, as in "
        "`goldsmith generate {assignment}` or `goldsmith check {assignment}`."
    )
    name: str
    assignment: str


class NeedsACourse(UsageError):
    """A command that works on starters and solutions was given a recipe that has neither."""

    template = (
        "goldsmith {command} needs an assignment of a course, with a starter and a solution, and {name} is a recipe "
        "by itself; for such a recipe there are record, check, verify, diff and status."
    )
    command: str
    name: str


class NotARecipe(UsageError):
    """`record` was given something else than a recipe file."""

    template = (
        "{name} is not a recipe file, such as `parity_cases.py`; the gold of a course's assignment is made with "
        "`goldsmith generate`."
    )
    name: str


class NothingToReplace(UsageError):
    """`--with` names an implementation that takes the place of nothing that the recipe imports."""

    where: str
    recipe: str
    imports: Sequence[str]

    def sentence(self) -> str:
        if not self.imports:
            return f"{self.where} cannot be used: {self.recipe} imports no code of its own; run it without `--with`."
        return (
            f"{self.where} has nothing that {self.recipe} imports ({', '.join(self.imports)}); say what it takes the "
            f"place of, as in `--with {self.imports[0]}={self.where}`."
        )


class NoSuchImplementation(UsageError):
    template = (
        "--with {where}: there is no such folder or file, no importable module and no git revision of that name; give "
        "one of these."
    )
    where: str


class RecordedFromRevision(UsageError):
    template = (
        "gold is not recorded from the revision {revision}, whose files are nowhere to be read again; check it out "
        "with `git worktree add ../before {revision}`, then record with `--with ../before`."
    )
    revision: str
