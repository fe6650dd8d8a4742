"""Send one request after another to the same child, so that it is started only once.

Requests are files in a folder that the child can read but not write; a byte in a named pipe announces each. Results of
a request are in a file named by the request's number; a byte in another pipe wakes the parent once they are complete.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from goldsmith.errors.gold import CannotWrite
from goldsmith.foundation.signals import pause, uninterrupted
from goldsmith.process.clocks import Allowance
from goldsmith.process.fork_client import ForkClient
from goldsmith.process.launcher import POLL_INTERVAL_S, Child, Watcher, watch
from goldsmith.process.messages import ANSWERED, ASKED, ReplayJob
from goldsmith.process.process_exit import ProcessExit
from goldsmith.process.untrusted_files import UntrustedFolder
from goldsmith.runs.requests import RunRequest

_log = logging.getLogger(__name__)
_SHUTDOWN_TIMEOUT_S = 5.0
"""How long a child may take to finish by itself once there are no more requests."""


def incoming_requests(folder: Path) -> Iterator[tuple[RunRequest, ...]]:
    """Yield requests, in the child, until the parent closes the pipe."""
    number = 0
    while _wait_for_request(folder / ASKED):
        number += 1
        yield msgspec.json.decode((folder / f"{number}.json").read_bytes(), type=tuple[RunRequest, ...])


def _wait_for_request(bell: Path) -> bool:
    """Wait for a byte in the pipe; return False if the parent has closed it.

    The pipe is closed between requests, so that submitted code finds no descriptor of it.
    """
    number = os.open(bell, os.O_RDONLY | os.O_NONBLOCK)
    try:
        return bool(os.read(number, 1))
    except BlockingIOError:
        select.select([number], [], [])
        return bool(os.read(number, 1))
    finally:
        os.close(number)


def announce_answer(scratch: Path) -> None:
    """Wake the parent, in the child: what it waits for has been written."""
    with contextlib.suppress(OSError):  # the parent does not wait there, or is gone: nothing depends on being quick
        number = os.open(scratch / ANSWERED, os.O_WRONLY | os.O_NONBLOCK)
        try:
            os.write(number, b".")
        finally:
            os.close(number)


class WorkerChannel:
    """The parent's end of the channel, which must be closed with `end`. The child can read what is in its `folder`."""

    def __init__(self, job: ReplayJob, fork_server: ForkClient | None = None) -> None:
        self.folder = Path(job.requests_dir)
        self._output = Path(job.output).relative_to(job.scratch)
        self._child = Child(job, fork_server)
        self._asked = 0
        try:
            self.folder.mkdir(mode=0o700)
            self._bell: int | None = _open_pipe(self.folder / ASKED)
            self._answers = _open_pipe(Path(job.scratch, ANSWERED))
        except OSError as error:
            raise CannotWrite(self.folder, error.strerror or str(error)) from None

    @property
    def left(self) -> UntrustedFolder:
        """Return the folder that the child can write into."""
        return self._child.left

    @property
    def next_number(self) -> int:
        return self._asked + 1

    @property
    def next_output(self) -> str:
        """Return where in that folder the results of the next request will be."""
        return str(self._output / str(self.next_number))

    def submit(
        self,
        requests: Sequence[RunRequest],
        *,
        timeout: float,
        case_timeout: float,
        watcher: Watcher,
        allowance: Allowance | None = None,
    ) -> ProcessExit | None:
        """Send a request and wait; return None once all of it is done, or how the child ended if it died or timed
        out."""
        with uninterrupted():
            try:
                self._send(requests)
                watch(
                    [self._child],
                    watcher,
                    timeout,
                    case_timeout,
                    lambda: self._child.answered >= self._asked,
                    allowance,
                    self._answers,
                )
            except BaseException:
                self.end(at_once=True)
                raise
            if self._child.answered >= self._asked and not self._child.overrun:
                return None
            return self.end(at_once=True)

    def end(self, *, at_once: bool = False) -> ProcessExit:
        """End the child and return how it ended; unless `at_once`, give it time to finish by itself."""
        with uninterrupted():
            if self._bell is None:
                return self._child.exit()
            os.close(self._bell)
            os.close(self._answers)
            self._bell = None
            try:
                started = time.monotonic()
                while not at_once and self._child.running() and time.monotonic() - started < _SHUTDOWN_TIMEOUT_S:
                    pause(POLL_INTERVAL_S / 4)
            finally:
                self._child.stop()
            return self._child.exit()

    def _send(self, requests: Sequence[RunRequest]) -> None:
        assert self._bell is not None
        if not self._asked:
            self._child.start()
        self._asked += 1
        self._child.expect({item.case for item in requests})
        _log.debug(
            "request %d to process %d: %s", self._asked, self._child.pid, [(item.case, item.name) for item in requests]
        )
        try:
            (self.folder / f"{self._asked}.json").write_bytes(msgspec.json.encode(requests))
            os.write(self._bell, b".")
        except OSError as error:
            raise CannotWrite(self.folder, error.strerror or str(error)) from None


def _open_pipe(path: Path) -> int:
    os.mkfifo(path, 0o600)
    return os.open(path, os.O_RDWR | os.O_NONBLOCK)
