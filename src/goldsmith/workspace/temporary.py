"""Goldsmith's private folders in the system's temporary folder, and removal of those that a killed process left.

They are in `goldsmith-<user number>/`, which is made with the first of them and removed with the last. That folder and
each one in it carry a mark (`foundation/ownership.py`): others with such a name are not goldsmith's, and stay.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import filelock

from goldsmith.errors.gold import CannotWrite
from goldsmith.foundation.ownership import (
    MARK,
    TOKEN,
    is_marked,
    make_marked,
    new_token,
    remove_made,
    remove_unfinished,
)
from goldsmith.foundation.signals import uninterrupted

_LOCK = "owner.lock"
_SWEEP_AGE_S = 60.0
"""Younger folders are not swept: the process that makes them may not have locked them yet."""
_MAX_NAMES = 100
_MAX_ATTEMPTS = 100


@contextlib.contextmanager
def private_folder(within: Path | None = None) -> Iterator[Path]:
    """Make a private folder, in the system's temporary folder or in another private one; remove it in any case."""
    sweep_abandoned()
    if within is not None:
        with _nested_folder(within) as base:
            yield base
        return
    with contextlib.ExitStack() as stack:
        with uninterrupted():
            base = _new_folder()
            lock = filelock.FileLock(base / _LOCK)
            stack.callback(_remove_folder, base, lock)
            try:
                lock.acquire(timeout=0)
            except OSError as error:
                raise CannotWrite(base, error.strerror or str(error)) from None
        yield base


def _remove_folder(base: Path, lock: filelock.BaseFileLock) -> None:
    with uninterrupted():
        remove_made(base)
        lock.release()
        _remove_if_empty(base.parent)


@contextlib.contextmanager
def _nested_folder(within: Path) -> Iterator[Path]:
    """Make a folder in a private one, whose lock and mark cover it, too."""
    base = within / new_token()
    try:
        base.mkdir(mode=0o700)
    except OSError as error:
        raise CannotWrite(within, error.strerror or str(error)) from None
    try:
        yield base
    finally:
        with uninterrupted():
            remove_made(base)


def sweep_abandoned() -> None:
    """Remove private folders whose process is gone: a killed run must not leave a solution on the disk."""
    with contextlib.suppress(OSError):
        for parent in _standing_parents():
            for folder in list(parent.iterdir()):
                with contextlib.suppress(OSError, filelock.Timeout):
                    _sweep(folder)
            with uninterrupted():
                _remove_if_empty(parent)


def _sweep(folder: Path) -> None:
    status = folder.lstat()
    if not TOKEN.fullmatch(folder.name) or not _is_private(folder):
        return
    if time.time() - status.st_mtime < _SWEEP_AGE_S:
        return
    if not is_marked(folder, _mark_of(folder.name)):
        remove_unfinished(folder)
        return
    with filelock.FileLock(folder / _LOCK).acquire(timeout=0):
        remove_made(folder)


def _new_folder() -> Path:
    """Make a marked folder in the parent of all, which another process may be removing at the same moment."""
    folder = Path()
    try:
        folder = Path(tempfile.gettempdir()).resolve()
        for _ in range(_MAX_ATTEMPTS):
            parent = _parent_in(folder)
            with contextlib.suppress(FileNotFoundError), _lock_parent(parent) as stands:  # it may have been removed
                if stands:
                    token = new_token()
                    make_marked(parent / token, _mark_of(token), 0o700)
                    return parent / token
    except OSError as error:
        raise CannotWrite(folder, error.strerror or str(error)) from None
    raise CannotWrite(folder, "others keep removing what is made there")


def _parent_in(folder: Path) -> Path:
    """Return the parent of all, made if necessary: the first name that is free or already goldsmith's own."""
    for number in range(1, _MAX_NAMES):
        parent = folder / (_parent_name() if number == 1 else f"{_parent_name()}-{number}")
        with contextlib.suppress(FileExistsError):
            make_marked(parent, _parent_called(parent.name), 0o700)
        if _is_parent(parent):
            return parent
    raise FileExistsError(0, f"{_parent_name()} and every name like it is taken", str(folder))


def _standing_parents() -> list[Path]:
    pattern = re.compile(rf"{re.escape(_parent_name())}(-[0-9]+)?")
    folder = Path(tempfile.gettempdir()).resolve()
    return [folder / name for name in os.listdir(folder) if pattern.fullmatch(name) and _is_parent(folder / name)]


def _remove_if_empty(parent: Path) -> None:
    """Remove the parent of all private folders when it is empty, unless another process is making one."""
    with contextlib.suppress(OSError), _lock_parent(parent, alone=True) as stands:
        if stands and os.listdir(parent) == [MARK]:
            os.unlink(parent / MARK)
            os.rmdir(parent)


@contextlib.contextmanager
def _lock_parent(parent: Path, *, alone: bool = False) -> Iterator[bool]:
    """Lock a folder itself; yield whether the folder under that name is still the same one.

    On a file system that cannot lock folders, only removing (`alone`) is refused.
    """
    import fcntl  # not on Windows, where no recipe runs

    descriptor = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        with contextlib.nullcontext() if alone else contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB if alone else fcntl.LOCK_SH)
        yield _is_parent(parent) and os.path.samestat(os.fstat(descriptor), parent.lstat())
    finally:
        os.close(descriptor)


def _is_parent(folder: Path) -> bool:
    return _is_private(folder) and is_marked(folder, _parent_called(folder.name))


def _is_private(folder: Path) -> bool:
    """Return whether it is a real folder that belongs to this user and is closed to everyone else."""
    try:
        status = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not stat.S_IMODE(status.st_mode) & 0o077


def _parent_name() -> str:
    return f"goldsmith-{os.getuid()}"


def _parent_called(name: str) -> str:
    return f"{name}, the folder for all private copies of user {os.getuid()}"


def _mark_of(token: str) -> str:
    return f"{token}, a private copy of user {os.getuid()}"
