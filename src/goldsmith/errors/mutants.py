"""What can keep mutants from being tried at all."""

from __future__ import annotations

from collections.abc import Sequence

from goldsmith.errors.base import GoldsmithError, UsageError


class SolutionDisagrees(GoldsmithError):
    template = (
        "the solution of {assignment} does not agree with its own gold in case {case} ({reason}): its mutants cannot "
        "be judged; see why with `goldsmith verify {assignment} --reproduce`."
    )
    assignment: str
    case: str
    reason: str


class NothingToMutate(GoldsmithError):
    template = (
        "{assignment} has nothing to mutate: no operator applies to the code that its solution adds to the starter; "
        "write an operator of your own (`goldsmith help rigor`)."
    )
    assignment: str


class NoSuchMutant(UsageError):
    name: str
    near: Sequence[str]

    def sentence(self) -> str:
        hint = f"did you mean {' or '.join(self.near)}? " if self.near else ""
        return f"no mutant, part or operator is called {self.name!r}; {hint}--list shows them all."


class BadOperators(UsageError):
    template = "the operators in {file} cannot be used: {problem}; `goldsmith help rigor` shows how to write one."
    file: str
    problem: str
