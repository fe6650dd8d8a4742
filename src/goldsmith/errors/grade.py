"""What can keep submissions from being graded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from goldsmith.errors.base import USAGE, GoldsmithError

_NAMED = 5


@dataclass(eq=False)
class NothingHandedIn(GoldsmithError):
    exit_code: ClassVar[int] = USAGE
    where: str

    def sentence(self) -> str:
        kinds = "a folder, a .zip or .tar file, a .py file, a git revision, or a folder of such"
        return f"{self.where} names no submission; give {kinds}."


@dataclass(eq=False)
class BadArchive(GoldsmithError):
    name: str
    problem: str

    def sentence(self) -> str:
        return (
            f"the archive {self.name} is not opened: {self.problem}; have it submitted again as a plain folder or .zip."
        )


@dataclass(eq=False)
class NoFreshGold(GoldsmithError):
    assignment: str
    problem: str

    def sentence(self) -> str:
        return f"no gold could be made from a secret seed for {self.assignment}: {self.problem}"


@dataclass(eq=False)
class NoCluster(GoldsmithError):
    address: str
    problem: str

    def sentence(self) -> str:
        reason = " ".join(self.problem.split()).rstrip(".")
        return (
            f"there is no talking to a Dask scheduler at {self.address} ({reason}); see that it is running and, where "
            "its address begins with tls://, give --tls-ca-file, --tls-cert and --tls-key."
        )


@dataclass(eq=False)
class WorkersLost(GoldsmithError):
    """Cluster workers were lost too often while judging the submissions `names` to retry again."""

    names: Sequence[str]

    def sentence(self) -> str:
        shown = ", ".join(self.names[:_NAMED]) + (
            f" and {len(self.names) - _NAMED} more" if self.names[_NAMED:] else ""
        )
        return (
            f"workers of the cluster were lost again and again while they judged {shown}, so there is no class to "
            "write down yet; look at the workers' logs, then run the same command: all others are kept."
        )


@dataclass(eq=False)
class DaskMissing(GoldsmithError):
    def sentence(self) -> str:
        return "--engine dask needs dask.distributed; install it with `pip install distributed`."
