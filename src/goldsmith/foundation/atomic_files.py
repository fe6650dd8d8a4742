"""Files that are written whole or not at all, and are on disk when that is said."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import secrets
import shutil
import stat
import time
from pathlib import Path
from typing import IO

from goldsmith.foundation.platforms import SYNCS_FOLDERS

PARTIAL = ".goldsmith-partial"
"""How the name of a file ends that is not whole yet."""
_SEALED = re.compile(rf"\.([0-9a-f]{{16}})-([0-9a-f]{{16}}){re.escape(PARTIAL)}")
_ABANDONED_S = 3600.0
"""Whoever has not written to such a file for so long does not write to it any more."""
_tidied: set[Path] = set()
"""Folders in which this process has looked for partial files of killed ones."""


def write_durably(path: Path, content: bytes, mode: int | None = None) -> None:
    """Write a file beside `path`, then give it that name. Nothing else that stands beside it is touched."""
    partial = partial_of(path)
    with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as file:
        try:
            file.write(content)
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
    """Return a name beside `path` that proves by itself that goldsmith chose it: half of it follows from the other."""
    token = token or new_token()
    return path.with_name(f".{token}-{_seal(token)}{PARTIAL}")


def new_token() -> str:
    """Return a random word for the name of a partial file."""
    return secrets.token_hex(8)


def _seal(token: str) -> str:
    return hashlib.sha256(f"goldsmith partial {token}".encode()).hexdigest()[:16]


def _tidy_once(folder: Path) -> None:
    """Remove partial files that killed processes left in `folder`, the first time that this process writes there."""
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
    """What was renamed in `folder` is so after a power cut, too, where the system can promise that."""
    if not SYNCS_FOLDERS:
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _set_mode(file: IO[bytes], path: Path, mode: int) -> None:
    """By the open file where that is possible, so that it cannot be another one."""
    os.chmod(file.fileno() if os.chmod in os.supports_fd else path, mode)


def copy_durably(source: Path, goal: Path, mode: int) -> None:
    """Bytes, mode, owner where that is allowed, and times."""
    with source.open("rb") as reader, goal.open("wb") as writer:
        shutil.copyfileobj(reader, writer)
        writer.flush()
        _set_mode(writer, goal, mode)
        os.fsync(writer.fileno())
    status = source.stat()
    with contextlib.suppress(OSError, AttributeError):  # Windows has no owners of this kind
        os.chown(goal, status.st_uid, status.st_gid)
    os.utime(goal, ns=(status.st_atime_ns, status.st_mtime_ns))


def move_durably(source: Path, target: Path, token: str = "") -> None:
    """By one rename, through a copy beside `target`, with `token` in its name, where that lies on another file system.

    The token is the caller's, who knows by it which copy is left when this is cut off.
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
