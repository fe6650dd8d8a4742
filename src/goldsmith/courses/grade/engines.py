"""Engines that judge submissions, on this machine or on a Dask cluster. An engine takes a function and items, and
yields each item with its result, in any order; nothing else is required of it."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from goldsmith.courses.grade.grader import Judged, judging_contexts, stop
from goldsmith.courses.grade.submissions import SubmissionRef
from goldsmith.errors.grade import DaskMissing, NoCluster, WorkersLost
from goldsmith.foundation.ownership import new_token
from goldsmith.foundation.parallel import as_they_end
from goldsmith.workspace.temporary import private_folder

Work = Callable[[SubmissionRef], Judged]
_WITH_CERTIFICATES = ("tls://", "wss://")
_ROLES = ("client", "scheduler", "worker")


class Engine(Protocol):
    """`run` yields every item once with its result; if it is closed early, it stops what is running."""

    def run(self, work: Work, items: Sequence[SubmissionRef]) -> Generator[tuple[SubmissionRef, Judged]]: ...


@runtime_checkable
class Sessions(Protocol):
    """An engine for which it pays to be run twice in a row: `session` keeps what a run has started for the next."""

    def session(self) -> AbstractContextManager[None]: ...


@dataclass(frozen=True)
class Local:
    """Threads that wait for children of one fork server. No dependency."""

    jobs: int = 1

    def session(self) -> AbstractContextManager[None]:
        return judging_contexts()

    def run(self, work: Work, items: Sequence[SubmissionRef]) -> Generator[tuple[SubmissionRef, Judged]]:
        with judging_contexts():
            yield from as_they_end(work, items, self.jobs, stop)


@dataclass(frozen=True)
class Tls:
    """Files by which both sides of a connection authenticate each other; the certificate's file may also contain the
    key."""

    ca_file: str
    cert: str
    key: str | None = None


@dataclass(frozen=True)
class Dask:
    """Workers of a Dask cluster, running at `scheduler` or started here. They must see the course and the submissions
    under the same paths. If a worker is lost, another retries its submission, as often as the scheduler allows. With
    `tls`, nothing is sent to a scheduler that has no valid certificate. A cluster that is started here always asks for
    certificates: the loopback interface is open to every user of the machine, and who reaches a scheduler can have
    its workers run code."""

    scheduler: str = ""
    jobs: int = 1
    retries: int = 3
    tls: Tls | None = None
    _open: list[Any] = field(default_factory=list, init=False, repr=False, compare=False)

    @contextlib.contextmanager
    def session(self) -> Iterator[None]:
        """Stay connected, to the same cluster."""
        with self._client() as client:
            self._open.append(client)
            try:
                yield
            finally:
                self._open.clear()

    def run(self, work: Work, items: Sequence[SubmissionRef]) -> Generator[tuple[SubmissionRef, Judged]]:
        lost = []
        round_ = new_token()  # the scheduler takes what has the same key for the same
        with contextlib.nullcontext(self._open[0]) if self._open else self._client() as client:
            from distributed import KilledWorker, as_completed

            futures = {
                client.submit(
                    work, item, pure=False, retries=self.retries, key=f"grade-{round_}-{number}-{item.name}"
                ): item
                for number, item in enumerate(items)
            }
            try:
                for future in as_completed(list(futures)):
                    try:
                        judged = future.result()
                    except KilledWorker:
                        lost.append(futures[future].name)
                    else:
                        yield futures[future], judged
                if lost:
                    raise WorkersLost(sorted(lost))
            finally:
                client.cancel(list(futures), force=True)

    @property
    def is_open_to_others(self) -> bool:
        """Say whether anyone who reaches the scheduler's address can use it."""
        return bool(self.scheduler) and not self.scheduler.startswith(_WITH_CERTIFICATES)

    @contextlib.contextmanager
    def _client(self) -> Iterator[Any]:
        needed = ["distributed", *(() if self.scheduler or self.tls else ("cryptography",))]
        missing = [name for name in needed if importlib.util.find_spec(name) is None]
        if missing:
            raise DaskMissing(missing)
        import distributed

        package: Any = distributed
        with contextlib.ExitStack() as stack:
            try:
                security = self._security()
                where: Any = self.scheduler or stack.enter_context(_own_cluster(self.jobs, security))
                client = stack.enter_context(package.Client(where, security=security))
            except (OSError, RuntimeError, TypeError, ValueError) as error:  # Dask raises any of these
                raise NoCluster(self.scheduler, str(error) or type(error).__name__) from None
            yield client

    def _security(self) -> Any:
        """Return the TLS settings; None leaves those of a running scheduler to Dask's configuration. Temporary keys are
        in memory, and for a moment in a private folder, since `ssl` only reads files."""
        from distributed import Security

        if self.tls is None:
            return None if self.scheduler else Security.temporary()
        cert, key = self.tls.cert, self.tls.key or self.tls.cert
        by_role = {f"tls_{role}_{what}": path for role in _ROLES for what, path in (("cert", cert), ("key", key))}
        return Security(require_encryption=True, tls_ca_file=self.tls.ca_file, **by_role)


@contextlib.contextmanager
def _own_cluster(jobs: int, security: Any) -> Iterator[Any]:
    """Start single-threaded worker processes on the loopback interface. Each node also has an HTTP server, which asks
    nobody for a certificate, so that it serves nothing. What workers write goes into a private folder: Dask's usual one
    in /tmp belongs to whoever makes it first."""
    import dask.config
    from distributed import LocalCluster

    own: Any = LocalCluster
    with private_folder() as folder:
        settings = {"temporary-directory": str(folder)}
        routes: dict[str, Any] = {f"distributed.{node}.http.routes": [] for node in ("scheduler", "worker")}
        with (
            dask.config.set(settings | routes),
            own(
                n_workers=max(1, jobs),
                threads_per_worker=1,
                host="127.0.0.1",
                protocol="tls://",
                security=security,
                scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
            ) as cluster,
        ):
            yield cluster
