"""What can be wrong with a command line before any command has begun."""

from __future__ import annotations

from collections.abc import Sequence

from goldsmith.errors.base import UsageError


class BadUsage(UsageError):
    """A command line that cannot be understood; `command` is the part of it that was."""

    command: str
    problem: str
    near: Sequence[str] = ()

    def sentence(self) -> str:
        hint = f"did you mean {' or '.join(self.near)}? " if self.near else ""
        return f"{self.problem}; {hint}see `{self.command} --help`."


class NoEarlierRun(UsageError):
    """A folder with which a run of `grade` cannot be compared."""

    template = (
        "{folder} is no earlier run of {assignment}: {problem}; give --since the folder of one that came to its end."
    )
    folder: str
    problem: str
    assignment: str


class BadOption(UsageError):
    """An option with a value that it does not accept; `wanted` says which it does."""

    template = "{option} is {value}; give {wanted}."
    option: str
    value: object
    wanted: str
