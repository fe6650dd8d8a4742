"""What can keep skills from being looked at or written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from goldsmith.errors.base import USAGE, GoldsmithError


@dataclass(eq=False)
class SkillUnreadable(GoldsmithError):
    path: Path
    reason: str

    def sentence(self) -> str:
        return f"{self.path} cannot be read ({self.reason}); make it readable or move it away, then run again."


@dataclass(eq=False)
class SkillLeadsOut(GoldsmithError):
    path: Path

    def sentence(self) -> str:
        return (
            f"{self.path} leads out of the course by a link, so nothing was written; put a folder or file of the "
            "course's own in the link's place, then run again."
        )


@dataclass(eq=False)
class NoSuchSkill(GoldsmithError):
    exit_code: ClassVar[int] = USAGE
    name: str
    known: Sequence[str]

    def sentence(self) -> str:
        return f"no skill is called {self.name!r}; there are {', '.join(self.known)}."


@dataclass(eq=False)
class CheckOrForce(GoldsmithError):
    exit_code: ClassVar[int] = USAGE

    def sentence(self) -> str:
        return "--check writes nothing and --force writes all; give one."
