"""What can stand in the way of putting a solution in place, and of taking it away again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from goldsmith.errors.base import AGAINST, COULD_NOT_RUN, USAGE, GoldsmithError


@dataclass(eq=False)
class CannotInject(GoldsmithError):
    assignment: str
    path: Path
    reason: str

    def sentence(self) -> str:
        return (
            f"{self.assignment} was not injected: {self.path} ({self.reason}); everything is as it was before. "
            f"Fix that, then run `goldsmith inject {self.assignment}`."
        )


@dataclass(eq=False)
class CannotReset(GoldsmithError):
    assignment: str
    path: Path
    reason: str

    def sentence(self) -> str:
        return (
            f"{self.assignment} could not be reset: {self.path} ({self.reason}); nothing is lost, its journal keeps "
            f"every byte. Fix that, then run `goldsmith reset {self.assignment}`."
        )


@dataclass(eq=False)
class EditedMeanwhile(GoldsmithError):
    exit_code: ClassVar[int] = AGAINST
    assignment: str
    paths: Sequence[Path]

    def sentence(self) -> str:
        names = ", ".join(str(path) for path in self.paths)
        many = len(self.paths) > 1
        return (
            f"{names} {'were' if many else 'was'} edited since the solution was injected; run `goldsmith reset "
            f"{self.assignment}` with --keep (the edits become the solution), --save DIR or --discard."
        )


@dataclass(eq=False)
class EditsNotKept(GoldsmithError):
    exit_code: ClassVar[int] = AGAINST
    path: Path
    why: str

    def sentence(self) -> str:
        return f"{self.path}: {self.why}; use --save DIR with another folder, or --discard."


@dataclass(eq=False)
class MovedMeanwhile(GoldsmithError):
    exit_code: ClassVar[int] = AGAINST
    assignment: str
    path: Path
    now: Path

    def sentence(self) -> str:
        return (
            f"{self.path} was moved: the injected solution now stands at {self.now}; move it back or remove it, then "
            f"run `goldsmith reset {self.assignment}` again."
        )


@dataclass(eq=False)
class IsInjected(GoldsmithError):
    outcome: ClassVar[str] = "injected"
    exit_code: ClassVar[int] = COULD_NOT_RUN
    assignment: str
    since: str

    def sentence(self) -> str:
        return (
            f"the solution stands in the starter's place since {self.since}; take it away with "
            f"`goldsmith reset {self.assignment}` first."
        )


@dataclass(eq=False)
class JournalUnreadable(GoldsmithError):
    path: Path
    reason: str

    def sentence(self) -> str:
        return (
            f"{self.path} cannot be read ({self.reason}); the files as they were lie in {self.path.parent}/before, "
            "each beside a .path file that says where it belongs. Put them back by hand, then remove that folder."
        )


@dataclass(eq=False)
class OneWayOnly(GoldsmithError):
    exit_code: ClassVar[int] = USAGE

    def sentence(self) -> str:
        return "--keep, --save and --discard exclude each other; give one."
