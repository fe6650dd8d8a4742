"""What can keep an implementation from being checked at all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from goldsmith.errors.base import GoldsmithError, UsageError, making_command


class NoSuchSubmission(UsageError):
    template = (
        "{name} is neither a file, nor a folder, nor a git revision of this course; give the path of a submission, or "
        "a branch that `git branch --all` lists."
    )
    name: str


class NothingToCheck(UsageError):
    name: str
    problem: str
    wanted: Sequence[str]

    def sentence(self) -> str:
        return f"{self.name} cannot be checked: {self.problem}; submit {', '.join(self.wanted) or 'code'}."


class SubmissionLeaves(UsageError):
    template = "{name} contains a link, {link}, that points outside it; put the file itself there."
    name: str
    link: Path


class SubmissionIsLink(UsageError):
    template = "{name} is a link, and links are not followed; submit the files themselves."
    name: str


class SubmissionIsPrivate(UsageError):
    template = (
        "{name} points into {place}, which belongs to the course and is not a submission; give the files that were "
        "submitted."
    )
    name: str
    place: Path


class TooMuchHandedIn(UsageError):
    template = "{name} is not opened: {problem}; submit the assignment's own files, and nothing else."
    name: str
    problem: str


class BadAdapter(UsageError):
    template = "the adapter {file} cannot be used: {problem}; `goldsmith help adapters` shows how to write one."
    file: Path
    problem: str


class NoGold(GoldsmithError):
    outcome = "missing"
    template = "there is no gold for {assignment}; make it with `{command}`."
    assignment: str

    @property
    def command(self) -> str:
        return making_command(self.assignment)


class StaleGold(GoldsmithError):
    outcome = "stale"
    template = (
        "the gold of {assignment} is stale: {reasons:first}; regenerate it with `{command}`, or check against it with "
        "--allow-stale."
    )
    assignment: str
    reasons: Sequence[str]

    @property
    def command(self) -> str:
        return making_command(self.assignment)


class StaleToMeasure(StaleGold):
    template = "the gold of {assignment} is stale: {reasons:first}; regenerate it with `{command}`, then measure."


class NotReplayed(GoldsmithError):
    template = (
        "the recipe of {assignment} is a script without cases, so nothing can be replayed; write it with "
        "@goldsmith.case (`goldsmith help recipes`)."
    )
    assignment: str


class NoSuchCase(UsageError):
    name: str
    known: Sequence[str]
    near: Sequence[str]

    def sentence(self) -> str:
        hint = f"did you mean {self.near[0]}?" if self.near else f"there are {', '.join(self.known)}."
        return f"there is no case {self.name}; {hint}"


class CannotCompileHere(GoldsmithError):
    """`check --compiled` where torch has nothing to compile with."""

    reason: str

    def sentence(self) -> str:
        return f"nothing can be compiled here: {self.reason}; leave out --compiled, or run it elsewhere."
