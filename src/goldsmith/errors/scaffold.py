"""What can keep `init` and `new` from writing what they planned."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from goldsmith.errors.base import AGAINST, GoldsmithError, UsageError

OBSTACLES = {
    "link": "it is a link, and goldsmith does not write through links",
    "no-file": "something that is not a file is there",
    "no-folder": "a file is where its folder would be",
}


class InTheWay(GoldsmithError):
    name: str
    path: Path
    obstacle: str

    def sentence(self) -> str:
        reason = OBSTACLES[self.obstacle]
        return f"{self.name} cannot be created at {self.path}: {reason}; nothing was written. Move it away first."


class ExampleIsWhole(UsageError):
    template = "--example copies the whole bundled course, so it cannot be combined with {option}; give one of the two."
    option: str


class NotAgreed(GoldsmithError):
    exit_code = AGAINST
    files: int

    def sentence(self) -> str:
        what = "one file waits" if self.files == 1 else f"{self.files} files wait"
        return (
            f"nothing was written: {what} for your approval; use --yes to write {'it' if self.files == 1 else 'them'}."
        )


class LayoutUnclear(UsageError):
    """The layout of the course is ambiguous, and there is no terminal to ask on."""

    problem: str
    options: Sequence[str]

    def sentence(self) -> str:
        ways = " or ".join(f"`goldsmith init {option}`" for option in self.options)
        return f"{self.problem}; nothing was written. Run {ways}."


class SettingsStand(UsageError):
    template = "{file} already says where things are in this course; change it there, then run `goldsmith init`."
    file: Path


class NoPlaceForAnother(UsageError):
    template = (
        "{name} does not fit here: the whole repository is one assignment, {whole}; create it in a repository of its "
        "own, made with `goldsmith init DIR`."
    )
    name: str
    whole: str


class NotAFolder(UsageError):
    template = "{path} is a file; name the folder that is, or is to become, the course."
    path: Path


class ChangedMeanwhile(GoldsmithError):
    template = "{path} changed while you were asked; nothing was written, run the command again."
    path: Path


class BadName(UsageError):
    template = "{name!r} cannot be an assignment's name; nothing was written. Give it {wanted}."
    name: str
    wanted: str


class AssignmentExists(UsageError):
    template = "{name} cannot be created: {there} exists already; nothing was written. Choose another name."
    name: str
    there: Path
