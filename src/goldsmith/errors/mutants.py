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
            f"nothing can be said of its mutants; see why with `goldsmith verify {self.assignment} --reproduce`."
        )


@dataclass(eq=False)
class NothingToMutate(GoldsmithError):
    assignment: str

    def sentence(self) -> str:
        return (
            f"no mutant of {self.assignment} can be made: its solution has no code, beyond what the starter provides, "
            "that any operator knows how to change; write an operator of your own (`goldsmith help rigor`)."
        )


@dataclass(eq=False)
class NoSuchMutant(GoldsmithError):
    exit_code: ClassVar[int] = USAGE
    name: str
    near: Sequence[str]

    def sentence(self) -> str:
        hint = f"did you mean {' or '.join(self.near)}? " if self.near else ""
        return f"no mutant, part or operator is called {self.name!r}; {hint}--list shows them all."


@dataclass(eq=False)
class BadOperators(GoldsmithError):
    exit_code: ClassVar[int] = USAGE
    file: str
    problem: str

    def sentence(self) -> str:
        how = "`goldsmith help rigor` shows how to write one"
        return f"the operators in {self.file} cannot be used: {self.problem}; {how}."
