"""What can stand in the way of putting a solution in place, and of taking it away again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from goldsmith.errors.base import AGAINST, GoldsmithError, UsageError


class CannotInject(GoldsmithError):
    template = (
        "{assignment} was not injected: {path} ({reason}); everything is as it was before. Fix that, then run "
        "`goldsmith inject {assignment}`."
    )
    assignment: str
    path: Path
    reason: str


class CannotReset(GoldsmithError):
    template = (
        "{assignment} could not be reset: {path} ({reason}); nothing is lost, its journal keeps every byte. Fix that, "
        "then run `goldsmith reset {assignment}`."
    )
    assignment: str
    path: Path
    reason: str


class EditedMeanwhile(GoldsmithError):
    exit_code = AGAINST
    assignment: str
    paths: Sequence[Path]

    def sentence(self) -> str:
        names = ", ".join(str(path) for path in self.paths)
        many = len(self.paths) > 1
        return (
            f"{names} {'were' if many else 'was'} edited since the solution was injected; run `goldsmith reset "
            f"{self.assignment}` with --keep (the edits become the solution), --save DIR or --discard."
        )


class EditsNotKept(GoldsmithError):
    exit_code = AGAINST
    template = "{path}: {why}; use --save DIR with another folder, or --discard."
    path: Path
    why: str


class MovedMeanwhile(GoldsmithError):
    exit_code = AGAINST
    template = (
        "{path} was moved: the injected solution is now at {now}; move it back or remove it, then run `goldsmith reset "
        "{assignment}` again."
    )
    assignment: str
    path: Path
    now: Path


class IsInjected(GoldsmithError):
    outcome = "injected"
    template = (
        "the solution has been in the starter's place since {since}; take it out with `goldsmith reset {assignment}` "
        "first."
    )
    assignment: str
    since: str


class JournalUnreadable(GoldsmithError):
    template = (
        "{path} cannot be read ({reason}); the original files are in {path.parent}/before, each with a .path file that "
        "says where it belongs. Put them back by hand, then remove that folder."
    )
    path: Path
    reason: str


class NotebookNotInjected(GoldsmithError):
    template = (
        "{solution} is a notebook and {starter} is not, so that it cannot take its place in the course itself; run "
        "`goldsmith test` or `goldsmith check`, which work in copies."
    )
    solution: Path
    starter: Path


class OneWayOnly(UsageError):
    template = "--keep, --save and --discard exclude each other; give one."
