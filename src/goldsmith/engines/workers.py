"""The workers of a cluster as this side knows them: each is asked what it is, is sent a run's files once, and then gets
one item for each of its threads.

Which worker does what is decided here and not by the scheduler, so that nothing of gold goes to a worker that has not
said what it is, and nobody waits for one that is gone. An item whose worker is lost goes to another one.
"""

from __future__ import annotations

import contextlib
import queue
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import msgspec

from goldsmith.engines import on_worker
from goldsmith.engines.environment import differences, environment_facts
from goldsmith.engines.portable import Answer, Known, Parcel, Piece, Portable, Survey
from goldsmith.errors.engines import NoWorkerFits, SchedulerLost, WorkersGone, WorkersLost
from goldsmith.foundation.ownership import new_token

Item = TypeVar("Item")
_LOOK_EVERY_S = 0.5
"""Seconds between two looks at which workers there are: a small request to the scheduler."""
_TOLD_AFTER_S = 5.0
"""Seconds without any worker that nobody has to be told of."""
_POLL_INTERVAL_S = 0.1
_RPC_TIMEOUT_S = 5.0
_LEAVE_TIMEOUT_S = 20.0

State = Literal["new", "asked", "sending", "opening", "ready", "refused"]


@dataclass
class Shipped:
    """What has been sent, for measurements: once to each worker, and with items."""

    workers: int = 0
    files_bytes: int = 0
    files_seconds: float = 0.0
    items: int = 0
    items_bytes: int = 0
    answers_bytes: int = 0


@dataclass
class _Worker:
    """One worker process: how far it has come with a run, and what it is doing for it."""

    address: str
    threads: int
    state: State = "new"
    process: str = ""
    left: Iterator[list[Piece]] = field(default_factory=lambda: iter(()))
    since: float = 0.0
    tries: int = 0
    why: str = ""
    busy: dict[Any, None] = field(default_factory=dict)
    """What it has, in the order in which it was given."""


@dataclass
class _OnItsWay:
    """An item that a worker has, and what is held open for it here."""

    item: Any
    worker: _Worker
    sending: Any
    holding: contextlib.ExitStack


@dataclass
class Workers:
    """The workers of one cluster, for as long as a session lasts."""

    client: Any
    scheduler: str
    patience_s: float
    retries: int
    tell: Callable[[str], None]
    shipped: Shipped = field(default_factory=Shipped)
    _known: dict[str, dict[str, _Worker]] = field(default_factory=dict)
    _tokens: dict[str, str] = field(default_factory=dict)

    def run(self, work: Portable, items: Sequence[Item], at_once: int | None) -> Generator[tuple[Item, Any]]:
        """Yield every item once with its result; at most so many are done `at_once`."""
        parcel = work.parcel()
        token = self._tokens.setdefault(parcel.run, new_token())
        workers = self._known.setdefault(parcel.run, {})
        with contextlib.closing(_Run(self, work, parcel, token, workers, deque(items), at_once)) as run:
            yield from run.results()

    def leave(self) -> None:
        """Have all workers remove what they have."""
        for run, token in self._tokens.items():
            addresses = [item.address for item in self._known[run].values() if item.state != "new"]
            if addresses and self.client.status == "running":
                with contextlib.suppress(Exception):  # those that are gone have nothing any more
                    self.client.sync(
                        self.client._run,
                        on_worker.leave,
                        token,
                        workers=addresses,
                        on_error="ignore",
                        callback_timeout=_LEAVE_TIMEOUT_S,
                    )
        self._tokens.clear()
        self._known.clear()


@dataclass
class _Run:
    """One call of `run`: items that wait, those on their way, and what each worker is being asked."""

    all: Workers
    work: Portable
    parcel: Parcel
    token: str
    workers: dict[str, _Worker]
    waiting: deque[Any]
    at_once: int | None
    asking: dict[Any, _Worker] = field(default_factory=dict)
    on_their_way: dict[Any, _OnItsWay] = field(default_factory=dict)
    ended: queue.SimpleQueue[Any] = field(default_factory=queue.SimpleQueue)
    losses: Counter[Any] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)
    looked: float = 0.0
    was_ready: bool = False
    alone_since: float = field(default_factory=time.monotonic)
    is_told: bool = False

    def results(self) -> Generator[tuple[Any, Any]]:
        while self.waiting or self.on_their_way:
            self._look()
            yield from self._hand_out()
            with contextlib.suppress(queue.Empty):
                future = self.ended.get(timeout=_POLL_INTERVAL_S)
                if future in self.asking:
                    self._told(self.asking.pop(future), future)
                elif future in self.on_their_way:
                    yield from self._arrived(self.on_their_way.pop(future), future)
        if self.lost:
            raise WorkersLost(sorted(self.lost))

    def close(self) -> None:
        """Let go of everything that is under way."""
        futures = [*self.asking, *self.on_their_way]
        if futures and self.all.client.status == "running":
            with contextlib.suppress(Exception):
                self.all.client.cancel(futures, force=True)
        for worker in self.asking.values():
            worker.state = "new"
        for way in self.on_their_way.values():
            way.worker.busy.clear()
            way.holding.close()
        self.asking.clear()
        self.on_their_way.clear()

    # --- which workers there are --------------------------------------------------------------------------------------

    def _look(self) -> None:
        """See who has come and who is gone, and go on with those that are not ready yet."""
        now = time.monotonic()
        if now - self.looked < _LOOK_EVERY_S:
            return
        self.looked = now
        found = self._listed()
        if found is not None:
            for address in [address for address in self.workers if address not in found]:
                self._drop(self.workers.pop(address))
            for address, threads in found.items():
                self.workers.setdefault(address, _Worker(address, threads))
        for worker in self.workers.values():
            if worker.state == "new":
                self._ask(worker, "asked", on_worker.survey, self.parcel.versions)
        if any(worker.state != "refused" for worker in self.workers.values()):
            self.alone_since = now
            return
        if self.workers and (not self.was_ready or now - self.alone_since > self.all.patience_s):
            raise NoWorkerFits([f"{worker.address}: {worker.why}" for worker in self.workers.values()])
        if not self.is_told and now - self.alone_since > _TOLD_AFTER_S:
            self.is_told = True
            self.all.tell(f"{self._scheduler} has no worker; waiting {self.all.patience_s:.0f} s for one.")
        if now - self.alone_since > self.all.patience_s:
            raise WorkersGone(self._scheduler, round(self.all.patience_s))

    @property
    def _scheduler(self) -> str:
        return self.all.scheduler or "the cluster"

    def _listed(self) -> dict[str, int] | None:
        """Return the threads of each worker; None if the scheduler does not answer just now."""
        client = self.all.client
        if client.status in ("closed", "closing"):
            raise SchedulerLost(self._scheduler)
        try:
            found: dict[str, int] = client.sync(client.scheduler.ncores, callback_timeout=_RPC_TIMEOUT_S)
        except Exception:  # Dask raises whatever its transport does, while it tries to connect again
            return None
        return found

    def _drop(self, worker: _Worker) -> None:
        """Take back what a worker had that is gone."""
        for future in [future for future, asked in self.asking.items() if asked is worker]:
            del self.asking[future]
        for place, future in enumerate(list(worker.busy)):
            self._take_back(self.on_their_way.pop(future), counts=place < worker.threads)  # the others had not begun
            with contextlib.suppress(Exception):
                self.all.client.cancel([future], force=True)

    def _refuse(self, worker: _Worker, why: str) -> None:
        worker.state, worker.why = "refused", why
        self.all.tell(f"Worker {worker.address} is not used: {why}.")

    # --- what a worker is asked before it is ready --------------------------------------------------------------------

    def _ask(self, worker: _Worker, state: State, function: Callable[..., bytes], *arguments: Any) -> None:
        future = self._submit(worker, function, *arguments)
        if future is None:
            worker.state = "new"
            return
        worker.state = state
        self.asking[future] = worker

    def _submit(self, worker: _Worker, function: Callable[..., bytes], *arguments: Any) -> Any:
        """Have a worker call a function; None while there is no connection."""
        try:
            future = self.all.client.submit(
                function,
                *arguments,
                key=f"goldsmith-{new_token()}",
                workers=[worker.address],
                allow_other_workers=False,
                pure=False,
                retries=0,
            )
        except Exception:  # the connection is gone; the next look says for how long
            self.looked = 0.0
            return None
        future.add_done_callback(self.ended.put)
        return future

    def _told(self, worker: _Worker, future: Any) -> None:
        """Go on with a worker that has answered: what it is, what it has got, that it is open."""
        if future.status != "finished":
            if worker.state == "asked" and future.status == "error":
                self._refuse(worker, _no_goldsmith(future))
            else:
                self._begin_again(worker)
            return
        content = future.result()
        if worker.state == "asked":
            self._surveyed(worker, content)
            return
        answer = _answer_of(content)
        if answer.trouble == "forgotten":
            self._begin_again(worker)
        elif answer.trouble:
            self._refuse(worker, answer.why if answer.trouble != "full" else f"its disk is full ({answer.why})")
        elif worker.state == "opening":
            self.all.shipped.files_seconds += time.monotonic() - worker.since
            worker.state, self.was_ready = "ready", True
        else:
            self._send_more(worker)

    def _begin_again(self, worker: _Worker) -> None:
        """Ask a worker anew, which has lost what it had; give up on one that does so again and again."""
        worker.tries += 1
        if worker.tries > self.all.retries:
            self._refuse(worker, "it loses what it is sent")
        else:
            worker.state = "new"
            self.looked = 0.0

    def _surveyed(self, worker: _Worker, content: Any) -> None:
        try:
            found = msgspec.msgpack.decode(content, type=Survey)
        except (msgspec.DecodeError, TypeError):
            self._refuse(worker, "its answer is not one of goldsmith's")
            return
        apart = list(differences(found.facts, environment_facts(self.parcel.versions)))
        if apart:
            self._refuse(worker, ", ".join(apart))
            return
        worker.process = found.process
        worker.left = self.parcel.pieces()
        worker.since = time.monotonic()
        self.all.shipped.workers += 1
        self._send_more(worker)

    def _send_more(self, worker: _Worker) -> None:
        pieces = next(worker.left, None)
        if pieces is not None:
            self.all.shipped.files_bytes += sum(len(content) for _, _, content in pieces)
            self._ask(worker, "sending", on_worker.receive, self.token, worker.process, pieces)
            return
        self._ask(
            worker, "opening", on_worker.open_run, self.token, worker.process, self.parcel.layout, self.parcel.open
        )

    # --- items --------------------------------------------------------------------------------------------------------

    def _hand_out(self) -> Iterator[tuple[Any, Any]]:
        """Give ready workers what they have threads for; yield what is known already."""
        while self.waiting:
            room = self.at_once is None or len(self.on_their_way) < self.at_once
            ready = [item for item in self.workers.values() if item.state == "ready"]
            # One more than it has threads for, so that it need not wait; not at the end, when others would.
            more = len(self.waiting) > sum(item.threads for item in ready)
            free = (item for item in ready if len(item.busy) < item.threads + more)
            worker = min(free, key=lambda item: len(item.busy) / item.threads, default=None) if room else None
            if worker is None:
                return
            item = self.waiting.popleft()
            with contextlib.ExitStack() as stack:
                sending = stack.enter_context(self.work.sending(item))
                if isinstance(sending, Known):
                    yield item, sending.result
                    continue
                future = self._submit(worker, on_worker.perform, self.token, worker.process, sending.order)
                if future is None:
                    self.waiting.appendleft(item)
                    return
                self.all.shipped.items += 1
                self.all.shipped.items_bytes += sending.size
                worker.busy[future] = None
                self.on_their_way[future] = _OnItsWay(item, worker, sending, stack.pop_all())

    def _arrived(self, way: _OnItsWay, future: Any) -> Iterator[tuple[Any, Any]]:
        """Take in an answer; give the item to another worker if there is none."""
        way.worker.busy.pop(future, None)
        if future.status != "finished":  # the worker was lost, or the connection, which nobody's item has done
            self._take_back(way, counts=future.status == "error")
            self.looked = 0.0
            return
        answer = _answer_of(future.result())
        future.release()
        if answer.trouble == "forgotten":
            self._take_back(way)
            if way.worker.state == "ready":
                self._begin_again(way.worker)
            return
        if answer.trouble in ("full", "machine"):
            self._take_back(way)
            if way.worker.state != "refused":
                self._refuse(way.worker, answer.why if answer.trouble != "full" else f"its disk is full ({answer.why})")
            return
        with way.holding:
            if answer.trouble:
                result = way.sending.failed(answer.why)
            else:
                self.all.shipped.answers_bytes += len(answer.content)
                try:
                    result = way.sending.received(answer.content)
                except (msgspec.DecodeError, UnicodeDecodeError) as error:
                    result = way.sending.failed(f"the answer of worker {way.worker.address} is not one ({error})")
        yield way.item, result

    def _take_back(self, way: _OnItsWay, *, counts: bool = False) -> None:
        """Have an item done by another worker, unless it has lost its workers too often."""
        way.holding.close()
        self.losses[way.item] += counts
        if self.losses[way.item] > self.all.retries:
            self.lost.append(getattr(way.item, "name", str(way.item)))
        else:
            self.waiting.appendleft(way.item)


def _answer_of(content: Any) -> Answer:
    try:
        return msgspec.msgpack.decode(content, type=Answer)
    except (msgspec.DecodeError, TypeError) as error:
        return Answer(trouble="machine", why=f"its answer is not one of goldsmith's ({error})")


def _no_goldsmith(future: Any) -> str:
    """Say why a worker could not even say what it is: it lacks goldsmith, or what goldsmith needs."""
    error = future.exception()
    text = " ".join(str(error).split())[:200]
    return f"it cannot run this goldsmith ({type(error).__name__}: {text})"
