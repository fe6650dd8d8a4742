"""What can be wrong with a command line before any command has begun."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from goldsmith.errors.base import USAGE, GoldsmithError


@dataclass(eq=False)
class BadUsage(GoldsmithError):
    """A command line that cannot be understood; `command` is the part of it that was."""

    exit_code: ClassVar[int] = USAGE
    command: str
    problem: str
    near: Sequence[str] = ()

    def sentence(self) -> str:
        hint = f"did you mean {' or '.join(self.near)}? " if self.near else ""
        return f"{self.problem}; {hint}`{self.command} --help` says what there is."


@dataclass(eq=False)
class BadOption(GoldsmithError):
    """An option with a value that it does not accept; `wanted` says which it does."""

    exit_code: ClassVar[int] = USAGE
    option: str
    value: object
    wanted: str

    def sentence(self) -> str:
        return f"{self.option} is {self.value}; give {self.wanted}."
