"""Engines that judge submissions, on this machine or on a Dask cluster. An engine takes a function and items, and
yields each item with its result, in any order; nothing else is required of it."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from goldsmith.errors.grade import DaskMissing, NoCluster, WorkersLost
from goldsmith.foundation.ownership import new_token
from goldsmith.foundation.parallel import as_they_end
from goldsmith.grade.grader import Judged, judging_contexts, stop
from goldsmith.grade.submissions import SubmissionRef

Work = Callable[[SubmissionRef], Judged]


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
    `tls`, nothing is sent to a scheduler that has no valid certificate."""

    scheduler: str = ""
    jobs: int = 1
    retries: int = 3
    tls: Tls | None = None
    _open: list[Any] = field(default_factory=list, init=False, repr=False, compare=False)

    @contextlib.contextmanager
    def session(self) -> Iterator[None]:
        """Stay connected, to the same cluster."""
        if importlib.util.find_spec("distributed") is None:
            raise DaskMissing
        with self._client() as client:
            self._open.append(client)
            try:
                yield
            finally:
                self._open.clear()

    def run(self, work: Work, items: Sequence[SubmissionRef]) -> Generator[tuple[SubmissionRef, Judged]]:
        if importlib.util.find_spec("distributed") is None:
            raise DaskMissing
        from distributed import KilledWorker, as_completed

        lost = []
        round_ = new_token()  # the scheduler takes what has the same key for the same
        with contextlib.nullcontext(self._open[0]) if self._open else self._client() as client:
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

    @contextlib.contextmanager
    def _client(self) -> Iterator[Any]:
        """Connect to the cluster. One started here has single-threaded worker processes, on the loopback interface
        only."""
        import distributed

        package: Any = distributed
        with contextlib.ExitStack() as stack:
            where: Any = self.scheduler
            if not where:
                cluster = package.LocalCluster(
                    n_workers=max(1, self.jobs), threads_per_worker=1, dashboard_address=None, host="127.0.0.1"
                )
                where = stack.enter_context(cluster)
            try:
                client = stack.enter_context(package.Client(where, security=self._security()))
            except (OSError, RuntimeError, TypeError, ValueError) as error:  # Dask raises any of these
                raise NoCluster(self.scheduler or "this machine", str(error) or type(error).__name__) from None
            yield client

    def _security(self) -> Any:
        """Return the TLS settings; None leaves them to Dask's configuration."""
        if self.tls is None:
            return None
        from distributed import Security

        own = {"tls_client_cert": self.tls.cert, "tls_client_key": self.tls.key or self.tls.cert}
        return Security(require_encryption=True, tls_ca_file=self.tls.ca_file, **own)
