"""What a test is told: that something differs from gold, or why that could not even be asked."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, ParamSpec, TypeVar

from goldsmith.errors.base import USAGE, GoldsmithError
from goldsmith.errors.check import StaleGold

P = ParamSpec("P")
R = TypeVar("R")


class GoldMismatch(AssertionError):
    """A value differs from the gold; the text says which, where, and by how much."""


GoldMismatch.__module__ = "goldsmith"


def blamed_on_the_caller(function: Callable[P, R]) -> Callable[P, R]:
    """What it raises points at the line of the test, not at what happened in here."""

    @functools.wraps(function)
    def inner(*args: P.args, **kwargs: P.kwargs) -> R:
        __tracebackhide__ = True
        try:
            return function(*args, **kwargs)
        except (GoldMismatch, GoldsmithError) as error:
            raise error.with_traceback(None) from None

    return inner


@dataclass(eq=False)
class StaleForTests(StaleGold):
    """The same as `StaleGold`, with the option that pytest offers."""

    def sentence(self) -> str:
        more = f" (and {len(self.reasons) - 1} more)" if len(self.reasons) > 1 else ""
        return (
            f"the gold of {self.assignment} is stale: {self.reasons[0]}{more}; "
            f"regenerate it with `goldsmith generate {self.assignment}`, or test against it with --gold-allow-stale."
        )


@dataclass(eq=False)
class NotRecorded(GoldsmithError):
    message: str

    def sentence(self) -> str:
        return self.message


@dataclass(eq=False)
class NoAssignmentNamed(GoldsmithError):
    exit_code: ClassVar[int] = USAGE
    what: str

    def sentence(self) -> str:
        return f'{self.what} needs to know the assignment: mark the test with @pytest.mark.gold("…").'


@dataclass(eq=False)
class CollectedWithoutGold(GoldsmithError):
    assignment: str

    def sentence(self) -> str:
        return f"when tests were collected there was no usable gold for {self.assignment}; there is now, so run again."


@dataclass(eq=False)
class WhichCase(GoldsmithError):
    exit_code: ClassVar[int] = USAGE
    assignment: str
    known: Sequence[str]

    def sentence(self) -> str:
        return (
            f"the gold of {self.assignment} has no case gold_output but {', '.join(self.known)}: "
            f'say which, as in gold("{self.assignment}")["{self.known[0]}"].'
        )


@dataclass(eq=False)
class NoSuchOutput(GoldsmithError):
    exit_code: ClassVar[int] = USAGE
    name: str
    known: Sequence[str]

    def sentence(self) -> str:
        return f"gold has no output {self.name!r}; there are {', '.join(self.known)}."


@dataclass(eq=False)
class NotOneCall(GoldsmithError):
    exit_code: ClassVar[int] = USAGE
    case: str
    why: str

    def sentence(self) -> str:
        return (
            f"case {self.case} {self.why}, so .check cannot retrace it: "
            "use .replay(), or .assert_close(name, value) for each of its outputs."
        )
