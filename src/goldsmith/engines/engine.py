"""What an engine is, and the one that needs nothing but this machine."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, TypeVar, runtime_checkable

from goldsmith.foundation.parallel import as_they_end

Item = TypeVar("Item")
Result = TypeVar("Result")


class Engine(Protocol):
    """`run` yields every item once with its result, in any order; if it is closed early, it stops what is running."""

    def run(self, work: Callable[[Item], Result], items: Sequence[Item]) -> Generator[tuple[Item, Result]]: ...


@runtime_checkable
class Sessions(Protocol):
    """An engine for which it pays to be run twice in a row: `session` keeps what a run has started for the next."""

    def session(self) -> AbstractContextManager[None]: ...


@runtime_checkable
class OneByOne(Protocol):
    """An engine that can also run its items one after another."""

    def one_by_one(self) -> Engine: ...


@runtime_checkable
class SharedWork(Protocol):
    """Work for which a process opens what all items share: `opened` holds that, and `stop` ends what is running."""

    def opened(self) -> AbstractContextManager[None]: ...
    def stop(self) -> None: ...


@dataclass(frozen=True)
class Local:
    """Threads that wait for children of one fork server. No dependency."""

    jobs: int = 1

    def run(self, work: Callable[[Item], Result], items: Sequence[Item]) -> Generator[tuple[Item, Result]]:
        shared = work if isinstance(work, SharedWork) else None
        with shared.opened() if shared else contextlib.nullcontext():
            yield from as_they_end(work, items, self.jobs, shared.stop if shared else lambda: None)

    def one_by_one(self) -> Local:
        return Local(1)
