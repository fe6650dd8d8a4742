"""A lock for one goldsmith at a time on one project, which a dead process cannot keep, and who holds it."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import filelock

from goldsmith.errors.gold import Busy, CannotWrite, LeadsElsewhere
from goldsmith.foundation.signals import uninterrupted
from goldsmith.targets.target import Project

_POLL = 0.2


@contextlib.contextmanager
def project_lock(project: Project, doing: str, *, wait: bool, on_wait: Callable[[str], None]) -> Iterator[None]:
    """Hold the project's lock; if another process has it, wait and say so once, or raise `Busy`."""
    folder = make_state_folder(project)
    _refuse_others(folder / "lock")
    lock = filelock.FileLock(folder / "lock")
    holder = folder / "holder.json"
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        if not wait:
            raise Busy(project.root, _describe(holder)) from None
        on_wait(f"waiting for {_describe(holder)}")
        lock.acquire(poll_interval=_POLL)
    except OSError as error:
        raise CannotWrite(folder, error.strerror or str(error)) from None
    try:
        _announce(holder, doing)
        yield
    finally:
        with uninterrupted():
            if _is_announcement(holder):
                holder.unlink(missing_ok=True)
            lock.release()


def _announce(holder: Path, doing: str) -> None:
    """Write who holds the lock, unless there is a file in that place that goldsmith did not write."""
    if os.path.lexists(holder) and not _is_announcement(holder):
        return
    facts = {"pid": os.getpid(), "doing": doing, "since": time.strftime("%H:%M:%S")}
    try:
        holder.write_text(json.dumps(facts), encoding="utf-8")
    except OSError as error:
        raise CannotWrite(holder, error.strerror or str(error)) from None


def _is_announcement(holder: Path) -> bool:
    """Return whether the file is what `_announce` writes, or the beginning of it."""
    if holder.is_symlink() or not holder.is_file():
        return False
    try:
        text = holder.read_text(encoding="utf-8")
        return not text or json.loads(text).keys() == {"pid", "doing", "since"}
    except (OSError, ValueError, AttributeError):
        return False


def _refuse_others(lock: Path) -> None:
    """Refuse a file with content, which is not a lock: some versions of `filelock` would empty it."""
    if os.path.lexists(lock) and (lock.is_symlink() or not lock.is_file() or lock.stat().st_size):
        raise CannotWrite(lock, "goldsmith did not make what stands there; move it away")


def make_state_folder(project: Project) -> Path:
    """Make the project's state folder, which git ignores."""
    folder = project.state_folder
    if folder.is_symlink():
        raise LeadsElsewhere(folder)
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        ignore = folder / ".gitignore"
        if not os.path.lexists(ignore):
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
