"""What can keep submissions from being graded."""

from __future__ import annotations

from collections.abc import Sequence

from goldsmith.errors.base import GoldsmithError, UsageError


class NothingHandedIn(UsageError):
    template = (
        "{where} matches no submission; give a folder, a .zip or .tar file, a .py file, a git revision, or a folder of "
        "these."
    )
    where: str


class OneOrClass(UsageError):
    template = (
        "{folder} may be one submission, or a class in which {entry} is one: say --one if each folder that you name is "
        "a submission, --class if each of its entries is."
    )
    folder: str
    entry: str


class BadArchive(GoldsmithError):
    template = "the archive {name} is not opened: {problem}; have it submitted again as a plain folder or .zip."
    name: str
    problem: str


class NoFreshGold(GoldsmithError):
    template = "no gold could be made from a secret seed for {assignment}: {problem}"
    assignment: str
    problem: str


class NoCluster(GoldsmithError):
    address: str
    problem: str

    def sentence(self) -> str:
        reason = " ".join(self.problem.split()).rstrip(".")
        if not self.address:
            return (
                f"no Dask cluster could be started here ({reason}); without --engine dask, grading does not need one."
            )
        return (
            f"no Dask scheduler answers at {self.address} ({reason}); check that it is running and, if its address "
            "begins with tls://, give --tls-ca-file, --tls-cert and --tls-key."
        )


class WorkersLost(GoldsmithError):
    """Cluster workers were lost too often while judging the submissions `names` to retry again."""

    template = (
        "workers of the cluster were lost again and again while they judged {names:few}, so the class is not finished; "
        "look at the workers' logs, then run the same command: all other verdicts are kept."
    )
    names: Sequence[str]


class DaskMissing(GoldsmithError):
    """Lacking are the packages `names`; cryptography makes certificates for a cluster that is started here."""

    names: Sequence[str]

    def sentence(self) -> str:
        lacking = " and ".join(self.names)
        return f"--engine dask needs {lacking}; install with `pip install {' '.join(self.names)}`."
