"""What can keep mutants from being tried at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from goldsmith.errors.base import USAGE, GoldsmithError


@dataclass(eq=False)
class SolutionDisagrees(GoldsmithError):
    assignment: str
    case: str
    reason: str

    def sentence(self) -> str:
        return (
            f"the solution of {self.assignment} does not agree with its own gold in case {self.case} ({self.reason}): "
            f"nothing can be said of its mutants. See `goldsmith verify {self.assignment} --reproduce`."
        )


@dataclass(eq=False)
class NothingToMutate(GoldsmithError):
    assignment: str

    def sentence(self) -> str:
        return (
            f"no mutant of {self.assignment} can be made: its solution has no code, beyond what the starter provides, "
            "that any operator knows how to change."
        )


@dataclass(eq=False)
class NoSuchMutant(GoldsmithError):
    exit_code: ClassVar[int] = USAGE
    name: str
    near: Sequence[str]

    def sentence(self) -> str:
        hint = f" Did you mean {', '.join(self.near)}?" if self.near else ""
        return f"no mutant, part or operator is called {self.name!r}; `--list` shows them all.{hint}"


@dataclass(eq=False)
class BadOperators(GoldsmithError):
    exit_code: ClassVar[int] = USAGE
    file: str
    problem: str

    def sentence(self) -> str:
        return f"the course's own operators in {self.file} cannot be used: {self.problem}."
