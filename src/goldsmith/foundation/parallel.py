"""Run work in a few threads, each of which waits for a process."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def as_they_end(
    work: Callable[[Item], Result], items: Iterable[Item], jobs: int, stop: Callable[[], None]
) -> Generator[tuple[Item, Result]]:
    """Yield every item with its result, in the order of completion; keep none of them.

    If this ends early, for whatever reason, call `stop`, which must end all that is still running.
    """
    with ThreadPoolExecutor(max_workers=max(1, jobs)) as pool:
        running: dict[Future[Result], Item] = {}
        try:
            for item in items:
                running[pool.submit(work, item)] = item
            while running:
                done, _ = wait(running, timeout=0.1, return_when=FIRST_COMPLETED)
                for future in done:
                    yield running.pop(future), future.result()
        except BaseException:
            for future in running:
                future.cancel()
            stop()
            raise
