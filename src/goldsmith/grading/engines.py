"""Where submissions are judged: on this machine, or on many. An engine takes work and items, and gives back what came
of each, in whatever order; nothing else is asked of it.
"""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from goldsmith.errors import DaskMissing
from goldsmith.grading.collecting import HandedIn
from goldsmith.grading.grader import Judged, benches, stop
from goldsmith.threads import as_they_end

Work = Callable[[HandedIn], Judged]


class Engine(Protocol):
    """`run` yields every item once with what became of it; closed early, it ends what is running."""

    def run(self, work: Work, items: Sequence[HandedIn]) -> Generator[tuple[HandedIn, Judged]]: ...


@dataclass(frozen=True)
class Local:
    """Threads that wait for children of one warm process. No dependency."""

    jobs: int = 1

    def run(self, work: Work, items: Sequence[HandedIn]) -> Generator[tuple[HandedIn, Judged]]:
        with benches():
            yield from as_they_end(work, items, self.jobs, stop)


@dataclass(frozen=True)
class Dask:
    """Workers of a Dask cluster: one that is running at `scheduler`, or one that is started here. They must see the
    course and the submissions under the same paths. A worker that is lost costs the submission it was at, which another
    takes over, up to `retries` times."""

    scheduler: str = ""
    jobs: int = 1
    retries: int = 3
    tls: dict[str, str] | None = None

    def run(self, work: Work, items: Sequence[HandedIn]) -> Generator[tuple[HandedIn, Judged]]:
        if importlib.util.find_spec("distributed") is None:
            raise DaskMissing
        from distributed import as_completed

        with self._client() as client:
            futures = {
                client.submit(work, item, pure=False, retries=self.retries, key=f"grade-{number}-{item.name}"): item
                for number, item in enumerate(items)
            }
            try:
                for future in as_completed(list(futures)):
                    yield futures[future], future.result()
            finally:
                client.cancel(list(futures), force=True)

    @contextlib.contextmanager
    def _client(self) -> Iterator[Any]:
        """With workers that are processes of one thread each, on the loopback interface only, if they are ours."""
        import distributed

        package: Any = distributed
        security = package.Security(**self.tls) if self.tls else None
        with contextlib.ExitStack() as stack:
            where: Any = self.scheduler
            if not where:
                cluster = package.LocalCluster(
                    n_workers=max(1, self.jobs), threads_per_worker=1, dashboard_address=None, host="127.0.0.1"
                )
                where = stack.enter_context(cluster)
            yield stack.enter_context(package.Client(where, security=security))
