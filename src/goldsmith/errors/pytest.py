"""What a test is told: that something differs from gold, or why that could not even be asked."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import ParamSpec, TypeVar

from goldsmith.errors.base import GoldsmithError, UsageError
from goldsmith.errors.check import StaleGold

P = ParamSpec("P")
R = TypeVar("R")


class GoldMismatch(AssertionError):
    """A value differs from the gold; the text says which, where, and by how much."""


GoldMismatch.__module__ = "goldsmith"


def blamed_on_the_caller(function: Callable[P, R]) -> Callable[P, R]:
    """Make errors of a function point at the line of the test that called it."""

    @functools.wraps(function)
    def inner(*args: P.args, **kwargs: P.kwargs) -> R:
        __tracebackhide__ = True
        try:
            return function(*args, **kwargs)
        except (GoldMismatch, GoldsmithError) as error:
            raise error.with_traceback(None) from None

    return inner


class StaleForTests(StaleGold):
    """The same as `StaleGold`, with the option that pytest offers."""

    template = (
        "the gold of {assignment} is stale: {reasons:first}; regenerate it with `goldsmith generate {assignment}`, or "
        "test against it with --gold-allow-stale."
    )


class NotRecorded(GoldsmithError):
    template = "{message}"
    message: str


class NoAssignmentNamed(UsageError):
    template = '{what} needs to know the assignment: mark the test with @pytest.mark.gold("…").'
    what: str


class CollectedWithoutGold(GoldsmithError):
    template = "when tests were collected there was no usable gold for {assignment}; there is now, so run again."
    assignment: str


class WhichCase(UsageError):
    template = (
        "the gold of {assignment} has no case gold_output; name one of {known}, as in "
        'gold("{assignment}")["{known[0]}"].'
    )
    assignment: str
    known: Sequence[str]


class NoSuchOutput(UsageError):
    template = "gold has no output {name!r}; there are {known}."
    name: str
    known: Sequence[str]


class NotOneCall(UsageError):
    template = (
        "case {case} {why}, so .check cannot repeat it: use .replay(), or .assert_close(name, value) for each of its "
        "outputs."
    )
    case: str
    why: str
