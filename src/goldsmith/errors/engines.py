"""What can keep a Dask cluster from doing its work."""

from __future__ import annotations

from collections.abc import Sequence

from goldsmith.errors.base import GoldsmithError


class NoCluster(GoldsmithError):
    address: str
    problem: str

    def sentence(self) -> str:
        reason = " ".join(self.problem.split()).rstrip(".")
        if not self.address:
            return f"no Dask cluster could be started here ({reason}); without --engine dask, none is needed."
        return (
            f"no Dask scheduler answers at {self.address} ({reason}); check that it is running and, if its address "
            "begins with tls://, give --tls-ca-file, --tls-cert and --tls-key."
        )


class SchedulerLost(GoldsmithError):
    template = (
        "the scheduler at {address} was there and no longer answers; start it again, then run the same command: all "
        "finished work is kept."
    )
    address: str


class WorkersGone(GoldsmithError):
    template = (
        "{address} has had no worker for {seconds} s; start some, then run the same command: all finished work is kept."
    )
    address: str
    seconds: int


class NoWorkerFits(GoldsmithError):
    """Every worker that is there was refused, each for one of the `reasons`."""

    template = (
        "no worker of the cluster can be used ({reasons:first}); make their environments the same as here and their "
        "disks writable, then run the same command: all finished work is kept."
    )
    reasons: Sequence[str]


class WorkersLost(GoldsmithError):
    """Cluster workers were lost too often while working on the items `names` to retry again."""

    template = (
        "workers of the cluster were lost again and again while they worked on {names:few}, so the run is not "
        "finished; look at the workers' logs, then run the same command: all finished work is kept."
    )
    names: Sequence[str]


class DaskMissing(GoldsmithError):
    """Lacking are the packages `names`; cryptography makes certificates for a cluster that is started here."""

    names: Sequence[str]

    def sentence(self) -> str:
        lacking = " and ".join(self.names)
        return f"--engine dask needs {lacking}; install with `pip install {' '.join(self.names)}`."
