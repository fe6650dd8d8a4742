"""One goldsmith at a time on one course: a lock that a dead process cannot keep, and who holds it."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import filelock

from goldsmith.course import Course
from goldsmith.errors import Busy, CannotWrite
from goldsmith.interruption import uninterrupted

_POLL = 0.2


@contextlib.contextmanager
def course_lock(course: Course, doing: str, *, wait: bool, on_wait: Callable[[str], None]) -> Iterator[None]:
    """Hold the course's lock; when another process has it, wait and say so once, or raise `Busy`."""
    folder = _state_folder(course)
    lock = filelock.FileLock(folder / "lock")
    holder = folder / "holder.json"
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        if not wait:
            raise Busy(course.root, _describe(holder)) from None
        on_wait(f"waiting for {_describe(holder)}")
        lock.acquire(poll_interval=_POLL)
    except OSError as error:
        raise CannotWrite(folder, error.strerror or str(error)) from None
    try:
        _announce(holder, doing)
        yield
    finally:
        with uninterrupted():
            holder.unlink(missing_ok=True)
            lock.release()


def _announce(holder: Path, doing: str) -> None:
    facts = {"pid": os.getpid(), "doing": doing, "since": time.strftime("%H:%M:%S")}
    try:
        holder.write_text(json.dumps(facts), encoding="utf-8")
    except OSError as error:
        raise CannotWrite(holder, error.strerror or str(error)) from None


def _state_folder(course: Course) -> Path:
    folder = course.state_folder
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        ignore = folder / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")
    except OSError as error:
        raise CannotWrite(folder, error.strerror or str(error)) from None
    return folder


def _describe(holder: Path) -> str:
    try:
        facts = json.loads(holder.read_text(encoding="utf-8"))
        return f"`{facts['doing']}` (process {facts['pid']}, since {facts['since']})"
    except (OSError, ValueError, KeyError):
        return "another goldsmith"
