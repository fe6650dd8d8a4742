"""What can keep an assignment from being packed, or a pack from grading."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from goldsmith.errors.base import GoldsmithError, UsageError


class PackShowsSolution(GoldsmithError):
    template = (
        "{assignment} is not packed, because a solution would be in the pack: {places:few}; `goldsmith guard` shows "
        "where, so fix that first."
    )
    assignment: str
    places: Sequence[str]


class CannotPackPackage(GoldsmithError):
    template = (
        "{package} cannot be installed elsewhere, because it is not from a package index; put its code into the course "
        "and name it in `shared`."
    )
    package: str


class PublicPlace(UsageError):
    """A pack with gold in it would be written to where students get files from."""

    template = "{path} is a public place of this course, and a pack holds gold; give --output with a place outside it."
    path: Path


class NothingToScore(GoldsmithError):
    template = (
        "no item of the rubric of {assignment} can be decided by a kit, so Classroom 50 would have nothing to score; "
        "give points to cases that `goldsmith handout` puts into a kit."
    )
    assignment: str


class PackTooLarge(GoldsmithError):
    template = (
        "the bundle of {assignment} has {size} bytes, and Classroom 50 fetches no more than {limit}; make the kit "
        "smaller by `handout` in goldsmith.toml."
    )
    assignment: str
    size: int
    limit: int


class NotAPack(GoldsmithError):
    template = "{folder} is not a pack for {place}: {problem}; make it again with `goldsmith pack`."
    folder: Path
    place: str
    problem: str
