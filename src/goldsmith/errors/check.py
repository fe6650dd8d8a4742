"""What can keep an implementation from being checked at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from goldsmith.errors.base import USAGE, GoldsmithError

_GIVE_FILES = "give the files that were submitted"


@dataclass(eq=False)
class NoSuchSubmission(GoldsmithError):
    exit_code: ClassVar[int] = USAGE
    name: str

    def sentence(self) -> str:
        return (
            f"{self.name} is neither a file, nor a folder, nor a git revision of this course; give the path of what "
            "was handed in, or a branch that `git branch --all` lists."
        )


@dataclass(eq=False)
class NothingToCheck(GoldsmithError):
    exit_code: ClassVar[int] = USAGE
    name: str
    problem: str
    wanted: Sequence[str]

    def sentence(self) -> str:
        return f"{self.name} cannot be checked: {self.problem}; hand in {', '.join(self.wanted) or 'code'}."


@dataclass(eq=False)
class SubmissionLeaves(GoldsmithError):
    exit_code: ClassVar[int] = USAGE
    name: str
    link: Path

    def sentence(self) -> str:
        return f"{self.name} holds a link, {self.link}, that leads out of it; put the file itself there."


@dataclass(eq=False)
class SubmissionIsLink(GoldsmithError):
    exit_code: ClassVar[int] = USAGE
    name: str

    def sentence(self) -> str:
        return f"{self.name} is a link, and what it leads to was not submitted there; put the files themselves there."


@dataclass(eq=False)
class SubmissionIsPrivate(GoldsmithError):
    exit_code: ClassVar[int] = USAGE
    name: str
    place: Path

    def sentence(self) -> str:
        return f"{self.name} leads into {self.place}, which is the course's own and nobody's submission; {_GIVE_FILES}."


@dataclass(eq=False)
class TooMuchHandedIn(GoldsmithError):
    exit_code: ClassVar[int] = USAGE
    name: str
    problem: str

    def sentence(self) -> str:
        return f"{self.name} is not opened: {self.problem}; hand in the assignment's own files, and nothing else."


@dataclass(eq=False)
class BadAdapter(GoldsmithError):
    exit_code: ClassVar[int] = USAGE
    file: Path
    problem: str

    def sentence(self) -> str:
        return (
            f"the adapter {self.file} cannot be used: {self.problem}; `goldsmith help adapters` shows how to write one."
        )


@dataclass(eq=False)
class NoGold(GoldsmithError):
    outcome: ClassVar[str] = "missing"
    assignment: str

    def sentence(self) -> str:
        return f"there is no gold for {self.assignment}; make it with `goldsmith generate {self.assignment}`."


@dataclass(eq=False)
class StaleGold(GoldsmithError):
    outcome: ClassVar[str] = "stale"
    assignment: str
    reasons: Sequence[str]

    def sentence(self) -> str:
        more = f" (and {len(self.reasons) - 1} more)" if len(self.reasons) > 1 else ""
        return (
            f"the gold of {self.assignment} is stale: {self.reasons[0]}{more}; "
            f"regenerate it with `goldsmith generate {self.assignment}`, or check against it with --allow-stale."
        )


@dataclass(eq=False)
class NotReplayed(GoldsmithError):
    assignment: str

    def sentence(self) -> str:
        return (
            f"the recipe of {self.assignment} is a script without cases, so nothing can be replayed; "
            "write it with @goldsmith.case (`goldsmith help recipes`)."
        )


@dataclass(eq=False)
class NoSuchCase(GoldsmithError):
    exit_code: ClassVar[int] = USAGE
    name: str
    known: Sequence[str]

    def sentence(self) -> str:
        return f"there is no case {self.name}; there are {', '.join(self.known)}."
