"""What a test is told: that something differs from gold, or why that could not even be asked."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ParamSpec, TypeVar

from goldsmith.errors.base import GoldsmithError, UsageError
from goldsmith.errors.check import StaleGold
from goldsmith.errors.gold import GoldUnreadable

P = ParamSpec("P")
R = TypeVar("R")


class GoldMismatch(AssertionError):
    """A value differs from the gold; the text says which, where, and by how much."""


GoldMismatch.__module__ = "goldsmith"


class LateMismatch(GoldMismatch):
    """All that the checks of a test have found, raised at its end; its text names the line of each check."""


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


# --- values that tests keep by themselves


class CannotKeep(UsageError):
    template = "{problem}, so it cannot be kept; change it: {step}."
    problem: str
    step: str


class NothingToKeep(UsageError):
    template = "gold.check was given {what}, in which there is nothing to compare; give an array, a number or text."
    what: str


class KeepsNan(UsageError):
    template = (
        "{path} has NaN{where}, and NaN never agrees with anything; fix it, or keep it with gold.check(…, "
        "equal_nan=True)."
    )
    path: str
    where: str


class BadPattern(UsageError):
    template = "{name} has {given}; give patterns for paths as text, such as 'time' or '**.path'."
    name: str
    given: str


class BadToleranceOf(UsageError):
    template = '{name} is {given}; give numbers by pattern, as in {{"u": {{"rtol": 1e-3, "atol": 1e-6}}}}.'
    name: str
    given: str


class PatternOfNothing(UsageError):
    template = "{name} has {pattern!r}, which matches no {what} of this check; there are {known:few}."
    name: str
    pattern: str
    what: str
    known: Sequence[str]


class CheckedTwice(UsageError):
    template = (
        "{test} calls gold.check{named} a second time, and both would be kept in one place; give each check a name of "
        'its own: gold.check(…, name="…").'
    )
    test: str
    named: str


class BadCheckName(UsageError):
    template = "the name of a check is {name!r}; give a text that is not empty."
    name: object


class ChangingTestName(UsageError):
    template = (
        "the test's name, {test}, holds an address in memory, so the next run would not find what this one keeps; give "
        "its parameters ids, such as pytest.param(…, id=…)."
    )
    test: str


class OtherTestsValues(GoldsmithError):
    template = "{folder} holds what {other} has kept, not {test}; rename one of the two, or move that folder."
    folder: Path
    other: str
    test: str


class NotKeptGold(GoldsmithError):
    """Something else in the place of a check's gold, which is not replaced."""

    template = "{path} {problem}; move it away, then run again."
    path: Path
    problem: str


class KeptUnreadable(GoldUnreadable):
    template = (
        "{path} is not usable: {problem}; restore it from version control, or record it again with `pytest "
        "--gold-update`."
    )


class KeptOtherwise(GoldsmithError):
    template = "{path} was recorded from {then}, and gold.check is given {now}; run `pytest --gold-update` once."
    path: Path
    then: str
    now: str


class NotRepeatable(GoldsmithError):
    template = (
        "{function} returned something else when it was called again with the same inputs and seeds ({where}), so "
        "nothing can be kept; remove what depends on time, threads or a generator that is not seeded."
    )
    function: str
    where: str


class ReturnsNothing(UsageError):
    template = (
        "{function} returns nothing and writes its result over its input {argument}; give gold.check a function that "
        "returns it."
    )
    function: str
    argument: str


class NotOneSetOfInputs(UsageError):
    template = (
        "inputs is a list, which stands for several sets of inputs; give one, and parametrize the test for others (an "
        "argument that is a list is written `(the_list,)`)."
    )


class InputsOfNothing(UsageError):
    template = "gold.check was given inputs for {what}, which cannot be called; give a function, or leave inputs out."
    what: str


class NotInAnyOrder(UsageError):
    template = (
        "gold.check was told that rows come in any order: {why}; give arrays with rows, or name them as in "
        '`unordered=["boxes"]`.'
    )
    why: str


class ModelWithoutInputs(UsageError):
    template = "gold.check was given the model {name} without inputs; give them too: gold.check(model, inputs)."
    name: str


class MarkedForAssignment(UsageError):
    template = (
        "gold.check keeps values of its own, and this test is marked for the gold of {assignment}; write "
        "gold().check(…) for that, or remove the marker."
    )
    assignment: str
