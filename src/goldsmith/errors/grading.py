"""What can keep submissions from being graded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from goldsmith.errors.base import USAGE, GoldsmithError


@dataclass(eq=False)
class NothingHandedIn(GoldsmithError):
    exit_code: ClassVar[int] = USAGE
    where: str

    def sentence(self) -> str:
        kinds = "a folder, a .zip or .tar file, a .py file, a git revision, or a folder of such"
        return f"{self.where} names no submission: {kinds}."


@dataclass(eq=False)
class BadArchive(GoldsmithError):
    name: str
    problem: str

    def sentence(self) -> str:
        return f"the archive {self.name} is not opened: {self.problem}."


@dataclass(eq=False)
class NoFreshGold(GoldsmithError):
    assignment: str
    problem: str

    def sentence(self) -> str:
        return f"no gold could be made from a secret seed for {self.assignment}: {self.problem}"


@dataclass(eq=False)
class DaskMissing(GoldsmithError):
    def sentence(self) -> str:
        return "--engine dask needs dask.distributed; install it with `pip install 'goldsmith[dask]'`."
