"""Work that may crash, hang or end its process: done in a process of its own, which sends what it has as it goes."""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from goldsmith.foundation.wording import in_words
from goldsmith.process.clocks import Clock
from goldsmith.process.parent_watch import end_with_parent

Send = Callable[[Any], None]
_HEAD = 8


@dataclass(frozen=True)
class Task:
    """Something to do within `seconds`. It sends what it finds, which must be picklable."""

    work: Callable[[Send], None]
    seconds: float


@dataclass
class Outcome:
    """What a task sent, and why it did not come to its end, if it did not."""

    messages: list[Any] = field(default_factory=list)
    trouble: str = ""


class Budget:
    """Seconds that tasks have together, as they would pass if nothing else ran on the machine."""

    def __init__(self, seconds: float) -> None:
        self.left = seconds

    def take(self, seconds: float, at_once: int) -> None:
        """Subtract what a task has taken, where so many ran at once."""
        self.left -= seconds / at_once


def do_alone(tasks: Sequence[Task], *, budget: Budget, reserve: float = 0.0) -> Iterator[Outcome]:
    """Do tasks, each in a fork of this process, as many at once as there are cores, up to two; yield their outcomes in
    order. None begins when no more than the `reserve` is left of the budget."""
    at_once = min(2, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1)
    waiting = list(enumerate(tasks))
    running: list[tuple[int, _Child]] = []
    done: dict[int, Outcome] = {}
    given = 0
    try:
        while given < len(tasks):
            while waiting and len(running) < at_once:
                number, task = waiting.pop(0)
                left = budget.left - reserve
                if left <= 0:
                    done[number] = Outcome(trouble="there was no time left for it: a draft takes two minutes at most")
                else:
                    running.append((number, _Child(task, min(task.seconds, left))))
            for number, child in list(running):
                if child.is_over(0.02 if len(running) == 1 else 0.01):
                    running.remove((number, child))
                    budget.take(child.taken_s, min(at_once, len(tasks)))
                    done[number] = child.outcome
            while given in done:
                yield done.pop(given)
                given += 1
    finally:
        for _, child in running:
            child.end()


class _Child:
    def __init__(self, task: Task, limit: float) -> None:
        self.outcome, self._limit, self._task = Outcome(), limit, task
        self._data = bytearray()
        self._pipe, ours = os.pipe()
        parent = os.getpid()
        self._pid = os.fork()
        if not self._pid:
            os.close(self._pipe)
            _work(task, ours, parent)
        os.close(ours)
        self.taken_s = 0.0
        self._clock = Clock(self._pid)
        self._clock.used_s()  # which begins to count

    def is_over(self, patience: float) -> bool:
        """Read what it has sent; say whether it has ended, or has been ended because it is late."""
        ready, _, _ = select.select([self._pipe], [], [], patience)
        if ready:
            content = os.read(self._pipe, 1 << 20)
            self._data += content
            self._take()
            if not content:
                self._reap()
                return True
        if self._clock.overrun(self._limit):
            self.outcome.trouble = f"it did not come to an end within {max(1, round(self._limit))} seconds"
            self.end()
            return True
        return False

    def _take(self) -> None:
        while len(self._data) >= _HEAD:
            size = int.from_bytes(self._data[:_HEAD], "little")
            if len(self._data) < _HEAD + size:
                return
            kind, message = pickle.loads(bytes(self._data[_HEAD : _HEAD + size]))
            del self._data[: _HEAD + size]
            if kind == "message":
                self.outcome.messages.append(message)
            else:
                self.outcome.trouble = message

    def _reap(self) -> None:
        os.close(self._pipe)
        _, status, usage = os.wait4(self._pid, 0)  # of a process that is gone a clock knows the wall's time only
        self.taken_s = min(self._clock.wall_s, self._clock.slept_s + usage.ru_utime + usage.ru_stime)
        code = os.waitstatus_to_exitcode(status)
        if code < 0:
            self.outcome.trouble = f"it crashes its process ({signal.Signals(-code).name})"
        elif code:
            self.outcome.trouble = f"it ends its process, with exit code {code}"

    def end(self) -> None:
        self.taken_s = min(self._clock.wall_s, self._clock.used_s())
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        with contextlib.suppress(OSError):
            os.close(self._pipe)


_OWN_PIPE = 200
"""From here on is the number of the pipe that a task sends through: no number that is tried as an argument."""


def _work(task: Task, pipe: int, parent: int) -> None:
    import fcntl  # not on Windows, where nothing is drafted

    # A part that is tried with numbers may open them: `open(4)` would read, and close, what was sent by another task.
    pipe = fcntl.fcntl(pipe, fcntl.F_DUPFD, _OWN_PIPE)
    os.closerange(3, pipe)

    def write(kind: str, message: Any) -> None:
        content = pickle.dumps((kind, message))
        data = len(content).to_bytes(_HEAD, "little") + content
        while data:
            data = data[os.write(pipe, data) :]

    code = 70
    try:
        end_with_parent(parent, lambda: os._exit(code))
        task.work(lambda message: write("message", message))
        code = 0
    except BaseException as error:
        with contextlib.suppress(BaseException):
            write("trouble", in_words(error))
            code = 0
    finally:
        os._exit(code)
