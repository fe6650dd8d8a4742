"""What an operating system can lack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from goldsmith.errors.base import GoldsmithError


@dataclass(eq=False)
class NotOnThisSystem(GoldsmithError):
    """A command that needs what this operating system does not have; `cannot` says what does not work, in words."""

    cannot: str
    system: str
    lacks: Sequence[str]

    def sentence(self) -> str:
        *first, last = [f"no {item}" for item in self.lacks] or ["no support for it"]
        listed = f"{', '.join(first)} and {last}" if first else last
        where = "on Linux, for instance in a container, a virtual machine or WSL 2"
        return f"{self.cannot} on {self.system}, which has {listed}; run this command {where}."


@dataclass(eq=False)
class GradingNeedsLinux(GoldsmithError):
    """Only Linux can keep a submission in; `possible_without` says whether submissions could be run at all here."""

    system: str
    possible_without: bool

    def sentence(self) -> str:
        trusted = "; or, where you trust everything handed in, use --allow-unsandboxed"
        return (
            "grading needs Linux: submissions are locked in by Landlock and seccomp, "
            f"which {self.system} does not have; run this command in a Linux container or virtual machine, or in WSL 2"
            f"{trusted if self.possible_without else ''}."
        )
