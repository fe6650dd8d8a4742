"""The workers of a Dask cluster, running somewhere or started here."""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from goldsmith.engines.engine import Item, Result
from goldsmith.engines.portable import Portable
from goldsmith.engines.workers import Shipped, Workers
from goldsmith.errors.engines import DaskMissing, NoCluster
from goldsmith.workspace.temporary import private_folder

_WITH_CERTIFICATES = ("tls://", "wss://")
_ROLES = ("client", "scheduler", "worker")
_PATIENCE_S = 120.0
"""Seconds without any worker after which a run ends: more than a minute without a network, and a nanny's restart."""


@dataclass(frozen=True)
class Tls:
    """Files by which both sides of a connection authenticate each other; the certificate's file may also contain the
    key."""

    ca_file: str
    cert: str
    key: str | None = None


@dataclass(frozen=True)
class Dask:
    """Workers of a Dask cluster, running at `scheduler` or started here. They need nothing of the course: what a run
    takes is sent to each once, if its Python and its packages are those of this side. If a worker is lost, another
    retries its item, up to `retries` times; `patience_s` is how long a run waits for workers where there are none. What
    is worth knowing meanwhile is told to `tell`. With `tls`, nothing is sent to a scheduler that has no valid
    certificate. A cluster that is started here always asks for certificates: the loopback interface is open to every
    user of the machine, and who reaches a scheduler can have its workers run code."""

    scheduler: str = ""
    jobs: int = 1
    retries: int = 3
    tls: Tls | None = None
    patience_s: float = _PATIENCE_S
    tell: Callable[[str], None] = field(default=lambda text: None, repr=False, compare=False)
    at_once: int | None = None
    shipped: Shipped = field(default_factory=Shipped, repr=False, compare=False)
    _open: list[Workers] = field(default_factory=list, repr=False, compare=False)

    @contextlib.contextmanager
    def session(self) -> Iterator[None]:
        """Stay connected, to the same cluster, whose workers keep what they have been sent."""
        with self._workers() as workers:
            self._open.append(workers)
            try:
                yield
            finally:
                self._open.clear()

    def run(self, work: Callable[[Item], Result], items: Sequence[Item]) -> Generator[tuple[Item, Result]]:
        if not isinstance(work, Portable):
            raise TypeError(f"{work!r} does not say what it takes to run elsewhere")
        with contextlib.nullcontext(self._open[0]) if self._open else self._workers() as workers:
            yield from workers.run(work, items, self.at_once)

    def one_by_one(self) -> Dask:
        return replace(self, at_once=1)

    @property
    def is_open_to_others(self) -> bool:
        """Say whether anyone who reaches the scheduler's address can use it."""
        return bool(self.scheduler) and not self.scheduler.startswith(_WITH_CERTIFICATES)

    @contextlib.contextmanager
    def _workers(self) -> Iterator[Workers]:
        with self._client() as client:
            workers = Workers(client, self.scheduler, self.patience_s, self.retries, self.tell, self.shipped)
            try:
                yield workers
            finally:
                workers.leave()

    @contextlib.contextmanager
    def _client(self) -> Iterator[Any]:
        needed = ["distributed", *(() if self.scheduler or self.tls else ("cryptography",))]
        missing = [name for name in needed if importlib.util.find_spec(name) is None]
        if missing:
            raise DaskMissing(missing)
        import distributed

        package: Any = distributed
        with contextlib.ExitStack() as stack:
            stack.enter_context(_quiet())
            try:
                security = self._security()
                where: Any = self.scheduler or stack.enter_context(_own_cluster(self.jobs, security))
                with warnings.catch_warnings():  # of versions that differ, also those that do not matter
                    warnings.simplefilter("ignore")
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
def _quiet() -> Iterator[None]:
    """Keep Dask's log out of the terminal, unless --debug asks for logs: what it means is told in a sentence."""
    names = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] == "distributed"]
    before = {name: logging.getLogger(name).level for name in names}
    if not logging.getLogger("goldsmith").isEnabledFor(logging.DEBUG):
        for name in names:
            logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)


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
