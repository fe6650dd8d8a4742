"""What can be wrong with a gradebook that points are to be merged into."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from goldsmith.errors.base import Listing, UsageError


class NotAGradebook(UsageError):
    template = (
        "{path} is not a gradebook as Canvas exports it: {problem}; export it again (Grades, Export) and give that "
        "file as it is."
    )
    path: Path
    problem: str


class NoSuchColumn(UsageError):
    """No column, or more than one, is meant by `column`; `known` are those that could be."""

    path: Path
    column: str
    several: bool
    known: Sequence[str]

    def sentence(self) -> str:
        if not self.known:
            return (
                f"{self.path} has no column of an assignment that points could go to; make the assignment in Canvas "
                "and export the gradebook again."
            )
        problem = (
            f"several columns of {self.path} are called" if self.several else f"no column of {self.path} is called"
        )
        return f"{problem} {self.column}; give --column with one of: {Listing(self.known)}."


class NamesDoNotMatch(UsageError):
    """Submissions and students do not match one to one, so nothing is graded and nothing written."""

    path: Path
    unknown: Sequence[str]
    ambiguous: Sequence[str]

    def sentence(self) -> str:
        problems = [f"no student has the ID of {Listing(self.unknown)}"] if self.unknown else []
        return (
            f"submissions and {self.path} do not match one to one, so nothing was graded: "
            f"{'; '.join([*problems, *self.ambiguous])}; give --names with a CSV file that has the columns submission "
            "and id."
        )


class BadNames(UsageError):
    template = (
        "{path} does not say which submission is whose: {problem}; give a CSV file with columns submission and id."
    )
    path: Path
    problem: str
