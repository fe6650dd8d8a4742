"""What can keep `init` and `new` from writing what they planned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from goldsmith.errors.base import AGAINST, USAGE, GoldsmithError

OBSTACLES = {
    "link": "a link leads there, and goldsmith does not write through links",
    "no-file": "something that is not a file is there",
    "no-folder": "a file stands where its folder would be",
}


@dataclass(eq=False)
class InTheWay(GoldsmithError):
    name: str
    path: Path
    obstacle: str

    def sentence(self) -> str:
        reason = OBSTACLES[self.obstacle]
        return f"{self.name} cannot be made at {self.path}, for {reason}; nothing was written. Move it away first."


@dataclass(eq=False)
class ExampleIsWhole(GoldsmithError):
    exit_code: ClassVar[int] = USAGE
    option: str

    def sentence(self) -> str:
        return (
            f"--example copies the whole bundled course, so {self.option} means nothing beside it; give one of the two."
        )


@dataclass(eq=False)
class NotAgreed(GoldsmithError):
    exit_code: ClassVar[int] = AGAINST
    files: int

    def sentence(self) -> str:
        what = "one file waits" if self.files == 1 else f"{self.files} files wait"
        return (
            f"nothing was written: {what} for your agreement; say --yes to write {'it' if self.files == 1 else 'them'}."
        )


@dataclass(eq=False)
class LayoutUnclear(GoldsmithError):
    """The layout of the course is ambiguous, and there is no terminal to ask on."""

    exit_code: ClassVar[int] = USAGE
    problem: str
    options: Sequence[str]

    def sentence(self) -> str:
        ways = " or ".join(f"`goldsmith init {option}`" for option in self.options)
        return f"{self.problem}; nothing was written. Say {ways}."


@dataclass(eq=False)
class SettingsStand(GoldsmithError):
    exit_code: ClassVar[int] = USAGE
    file: Path

    def sentence(self) -> str:
        return f"{self.file} says already where things lie in this course; change it there, then run `goldsmith init`."


@dataclass(eq=False)
class NoPlaceForAnother(GoldsmithError):
    exit_code: ClassVar[int] = USAGE
    name: str
    whole: str

    def sentence(self) -> str:
        return (
            f"{self.name} has no place here: all of this repository is one assignment, {self.whole}; make it in a "
            "repository of its own, with `goldsmith init DIR` first."
        )


@dataclass(eq=False)
class NotAFolder(GoldsmithError):
    exit_code: ClassVar[int] = USAGE
    path: Path

    def sentence(self) -> str:
        return f"{self.path} is a file; name the folder that is, or is to become, the course."


@dataclass(eq=False)
class ChangedMeanwhile(GoldsmithError):
    path: Path

    def sentence(self) -> str:
        return f"{self.path} changed while you were asked; nothing was written, run the command again."


@dataclass(eq=False)
class BadName(GoldsmithError):
    exit_code: ClassVar[int] = USAGE
    name: str
    wanted: str

    def sentence(self) -> str:
        return f"{self.name!r} cannot be an assignment's name; nothing was written. Give it {self.wanted}."


@dataclass(eq=False)
class AssignmentExists(GoldsmithError):
    exit_code: ClassVar[int] = USAGE
    name: str
    there: Path

    def sentence(self) -> str:
        return f"{self.name} cannot be made: {self.there} is there already; nothing was written. Take another name."
