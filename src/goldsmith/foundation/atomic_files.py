"""Durable, atomic file writes: a file is written completely or not at all, and is on disk when the call returns."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import shutil
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from goldsmith.foundation.platforms import SYNCS_FOLDERS

PARTIAL = ".goldsmith-partial"
"""The suffix of files that are still being written."""
_SEALED = re.compile(rf"\.([0-9a-f]{{16}})-([0-9a-f]{{16}}){re.escape(PARTIAL)}")
_ABANDONED_S = 3600.0
"""A partial file that nobody has written to for this long belongs to a process that was killed."""
_tidied: set[Path] = set()
"""Folders in which this process has already removed the partial files of killed processes."""


def write_durably(path: Path, content: bytes, mode: int | None = None) -> None:
    """Write a file next to `path`, then rename it to `path`. No other file in the folder is touched."""
    with durable_file(path, mode) as file:
        file.write(content)


@contextlib.contextmanager
def durable_file(path: Path, mode: int | None = None) -> Iterator[IO[bytes]]:
    """Open a file next to `path` to be written, which is renamed to `path` at the end, and removed after an error."""
    partial = partial_of(path)
    with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as file:
        try:
            yield file
            file.flush()
            if mode is not None:
                _set_mode(file, partial, mode)
            os.fsync(file.fileno())
            os.replace(partial, path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
    sync_folder(path.parent)
    _tidy_once(path.parent)


def partial_of(path: Path, token: str = "") -> Path:
    """Return a name next to `path` that only goldsmith would choose: its second half is a hash of the first."""
    token = token or new_token()
    return path.with_name(f".{token}-{_seal(token)}{PARTIAL}")


def new_token() -> str:
    """Return a random token for the name of a partial file."""
    return os.urandom(8).hex()


def _seal(token: str) -> str:
    return hashlib.sha256(f"goldsmith partial {token}".encode()).hexdigest()[:16]


def _tidy_once(folder: Path) -> None:
    """Remove partial files that killed processes left in `folder`, the first time this process writes there."""
    if folder in _tidied:
        return
    _tidied.add(folder)
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            found = _SEALED.fullmatch(name)
            if found and found[2] == _seal(found[1]) and _is_abandoned(folder / name):
                with contextlib.suppress(OSError):
                    os.unlink(folder / name)


def _is_abandoned(partial: Path) -> bool:
    status = partial.lstat()
    return stat.S_ISREG(status.st_mode) and time.time() - status.st_mtime > _ABANDONED_S


def sync_folder(folder: Path) -> None:
    """Flush renames in `folder` to disk, so that they survive a power cut; do nothing where the system cannot."""
    if not SYNCS_FOLDERS:
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _set_mode(file: IO[bytes], path: Path, mode: int) -> None:
    """Set the mode through the open file where possible, so that no other file can take its place first."""
    os.chmod(file.fileno() if os.chmod in os.supports_fd else path, mode)


def copy_durably(source: Path, goal: Path, mode: int) -> None:
    """Copy bytes, `mode`, times and, where allowed, the owner."""
    with source.open("rb") as reader, goal.open("wb") as writer:
        shutil.copyfileobj(reader, writer)
        writer.flush()
        _set_mode(writer, goal, mode)
        os.fsync(writer.fileno())
    status = source.stat()
    with contextlib.suppress(OSError, AttributeError):  # Windows has no such owners
        os.chown(goal, status.st_uid, status.st_gid)
    os.utime(goal, ns=(status.st_atime_ns, status.st_mtime_ns))


def move_durably(source: Path, target: Path, token: str = "") -> None:
    """Move a file by one rename or, to another file system, through a copy next to `target`.

    `token` is part of the copy's name, so that the caller can recognise a copy left by an interrupted move.
    """
    try:
        os.replace(source, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        partial = partial_of(target, token)
        copy_durably(source, partial, source.stat().st_mode & 0o7777)
        os.replace(partial, target)
        source.unlink()
    sync_folder(target.parent)
