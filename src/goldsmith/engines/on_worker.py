"""What runs on a worker: it takes in files of a run, opens work on them, does it, and leaves nothing behind.

Everything of a run lies in a private folder (`workspace/temporary.py`), which goes when the run is over, when nothing
was heard of it for long, and when the worker's process ends. That of a process that was killed is swept by the next
that makes one. All functions here return an encoded `Answer` or `Survey`, whatever happens.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import errno
import functools
import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from goldsmith.engines.environment import environment_facts
from goldsmith.engines.portable import Answer, Piece, Place, Survey, Trouble, encoded
from goldsmith.errors.base import GoldsmithError
from goldsmith.errors.gold import CannotWrite
from goldsmith.foundation.ownership import new_token
from goldsmith.workspace.temporary import private_folder

COURSE = "course"
"""The folder in the private one that the run's files are in."""
_FILES = "files"
_IDLE_S = 600.0
"""Seconds after which a run of which nothing was heard has lost its other side: that asks for work sooner, or has none
left, and then what was sent can be sent again."""
_PROCESS = new_token()
_FULL = (errno.ENOSPC, errno.EDQUOT)

Layout = Mapping[str, tuple[str, int]]
"""By path, the hash and the mode of each file of a run."""


@dataclass
class _Run:
    """What this process has of a run."""

    folder: Path
    closing: contextlib.ExitStack
    place: Place | None = None
    users: int = 0
    used: float = field(default_factory=time.monotonic)
    is_over: bool = False
    timer: threading.Timer | None = None


_runs: dict[str, _Run] = {}
_over: set[str] = set()
_changing = threading.Lock()


class _Forgotten(Exception):
    """The request is for another process, or for a run that is over."""


def survey(packages: Sequence[str]) -> bytes:
    """Say what this process is, before anything is sent to it."""
    return encoded(Survey(process=_PROCESS, facts=environment_facts(packages)))


def receive(run: str, process: str, pieces: Sequence[Piece]) -> bytes:
    """Take in pieces of files; begin the run with the first."""

    def take() -> bytes:
        with _in(run, process, begin=True) as own:
            for name, offset, content in pieces:
                with (own.folder / _FILES / name).open("r+b" if offset else "wb") as file:
                    file.seek(offset)
                    file.write(content)
        return b""

    return _answer(take)


def open_run(run: str, process: str, layout: Layout, opener: Callable[[Path], Place]) -> bytes:
    """Put the files that have come to their places, each as its hash says, and open the work."""

    def lay_out() -> bytes:
        with _in(run, process) as own:
            if own.place is None:
                _lay_out(own.folder, layout)
                own.place = opener(own.folder / COURSE)
                own.closing.callback(own.place.close)
        return b""

    return _answer(lay_out)


def _lay_out(folder: Path, layout: Layout) -> None:
    for name in {name for name, _ in layout.values()}:
        with (folder / _FILES / name).open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != name:
                raise OSError(errno.EIO, "what was sent has come in damaged")
    for path, (name, mode) in layout.items():
        inside = PurePosixPath(path)
        if inside.is_absolute() or ".." in inside.parts:
            raise ValueError(f"{path} is not a path in a course")
        goal = folder / COURSE / inside
        goal.parent.mkdir(parents=True, exist_ok=True)
        if not goal.exists():
            os.link(folder / _FILES / name, goal)
            goal.chmod(mode)


def perform(run: str, process: str, order: Any) -> bytes:
    """Do the work that an order is for."""

    def do() -> bytes:
        with _in(run, process) as own, private_folder(own.folder) as folder:
            if own.place is None:
                raise _Forgotten
            return own.place.perform(order, folder)

    return _answer(do)


async def leave(run: str) -> None:
    """End a run: stop what it does, and remove what is here of it as soon as nothing uses that."""
    await asyncio.to_thread(_leave, run)


def _leave(run: str) -> None:
    with _changing:
        _over.add(run)
        own = _runs.get(run)
        if own is None:
            return
        own.is_over = True
        if own.place is not None:
            own.place.stop()
    _remove_if_over(run)


def lock_folder() -> Path | None:
    """Return a folder that all workers of this user on this machine share, to take turns in; None if there is none that
    nobody else can write to."""
    from distributed import get_worker

    try:
        around = Path(get_worker().local_directory).parent
        status = around.stat()
    except (OSError, ValueError):
        return None
    is_own = status.st_uid == os.getuid() and not status.st_mode & 0o022
    return around / "goldsmith-turns" if is_own else None


@contextlib.contextmanager
def _in(run: str, process: str, *, begin: bool = False) -> Iterator[_Run]:
    """Use a run; nothing of it is removed meanwhile."""
    with _changing:
        if process != _PROCESS or run in _over:
            raise _Forgotten
        if run not in _runs:
            if not begin:
                raise _Forgotten
            _runs[run] = _begun(run)
        own = _runs[run]
        own.users += 1
    try:
        yield own
    finally:
        with _changing:
            own.users -= 1
            own.used = time.monotonic()
        _remove_if_over(run)


def _begun(run: str) -> _Run:
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(private_folder())
        (folder / _FILES).mkdir(mode=0o700)
        (folder / COURSE).mkdir(mode=0o700)
        own = _Run(folder, stack.pop_all())
    _watch(run, own, _IDLE_S)
    return own


def _watch(run: str, own: _Run, seconds: float) -> None:
    """Look after so many seconds whether anything was heard of a run meanwhile."""
    own.timer = threading.Timer(seconds, _end_if_idle, [run])
    own.timer.daemon = True
    own.timer.start()


def _end_if_idle(run: str) -> None:
    with _changing:
        own = _runs.get(run)
        if own is None:
            return
        left = _IDLE_S if own.users else own.used + _IDLE_S - time.monotonic()
        if left > 0:
            _watch(run, own, left)
            return
        own.is_over = True
    _remove_if_over(run)


def _remove_if_over(run: str) -> None:
    with _changing:
        own = _runs.get(run)
        if own is None or not own.is_over or own.users:
            return
        del _runs[run]
    if own.timer is not None:
        own.timer.cancel()
    own.closing.close()


@atexit.register
def _remove_all() -> None:
    """Remove what is left when the process ends; of what is still running, too."""
    for own in list(_runs.values()):
        if own.place is not None:
            own.place.stop()
        own.closing.close()
    _runs.clear()


def _answer(do: Callable[[], bytes]) -> bytes:
    """Do something; say what came of it, or why nothing did."""
    try:
        return encoded(Answer(content=do()))
    except _Forgotten:
        return encoded(Answer(trouble="forgotten"))
    except OSError as error:
        trouble: Trouble = "full" if error.errno in _FULL else "machine"
        return _troubled(trouble, error.strerror or type(error).__name__)
    except CannotWrite as error:
        return _troubled("full" if error.reason in _full_texts() else "machine", error.reason)
    except GoldsmithError as error:
        return _troubled("machine", str(error))
    except Exception as error:
        return _troubled("failed", f"{type(error).__name__}: {error}")


def _troubled(trouble: Trouble, why: str) -> bytes:
    return encoded(Answer(trouble=trouble, why=why))


@functools.cache
def _full_texts() -> frozenset[str]:
    return frozenset(map(os.strerror, _FULL))
