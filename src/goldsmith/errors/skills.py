"""What can keep skills from being looked at or written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from goldsmith.errors.base import GoldsmithError, UsageError


class SkillUnreadable(GoldsmithError):
    template = "{path} cannot be read ({reason}); make it readable or move it away, then run again."
    path: Path
    reason: str


class SkillLeadsOut(GoldsmithError):
    template = (
        "{path} is reached by a link that points outside the course, so nothing was written; replace the link with a "
        "folder or file, then run again."
    )
    path: Path


class NoSuchSkill(UsageError):
    template = "no skill is called {name!r}; there are {known}."
    name: str
    known: Sequence[str]


class CheckOrForce(UsageError):
    template = "--check writes nothing and --force overwrites; give one."
