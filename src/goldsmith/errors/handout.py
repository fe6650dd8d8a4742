"""Errors of kits for students: what cannot be handed out, and kits that cannot be read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from goldsmith.errors.base import GoldsmithError, UsageError


class PrivateRecipe(UsageError):
    template = (
        "the recipe of {assignment} is {place}, which students do not get, and a kit runs it; move it into the "
        "assignment's folder, or allow it with `recipe = true` under [assignment.{assignment}.handout]."
    )
    assignment: str
    place: Path


class ReadsPrivateFiles(GoldsmithError):
    outcome = "refused"
    template = (
        "the recipe of {assignment} reads {files:few}, which students do not get; have it read nothing outside of the "
        "assignment's folder."
    )
    assignment: str
    files: Sequence[str]


class NothingToHandOut(GoldsmithError):
    outcome = "refused"
    template = (
        "no case of {assignment} can be handed out: {reasons:first}; add a case whose inputs are larger, for the kit "
        "alone (`@gs.case(points=0)`), so that it records a few hundred floating-point numbers."
    )
    assignment: str
    reasons: Sequence[str]


class NotAKit(UsageError):
    template = "{folder} has files in it and is not a kit of goldsmith's; name another folder with --output."
    folder: Path


class EditedKit(UsageError):
    template = "{file} was changed since goldsmith wrote it; move it elsewhere, or name another folder with --output."
    file: Path


class KitUnreadable(GoldsmithError):
    outcome = "refused"
    template = "{path}: {problem}; take the kit from your course again."
    path: Path
    problem: str


class NothingToCheck(UsageError):
    template = "{folder} has none of the modules that the kit imports ({modules}); name the folder with your code."
    folder: Path
    modules: Sequence[str]
