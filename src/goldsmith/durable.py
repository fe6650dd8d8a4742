"""Files that are written whole or not at all, and are on disk when that is said."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from pathlib import Path
from typing import IO

from goldsmith.platforms import SYNCS_FOLDERS

PARTIAL = ".goldsmith-partial"
"""How the name of a file ends that is not whole yet."""


def write_durably(path: Path, content: bytes, mode: int | None = None) -> None:
    partial = partial_of(path)
    try:
        partial.unlink(missing_ok=True)  # of a run that was cut off, or a link that somebody laid there
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as file:
            file.write(content)
            file.flush()
            if mode is not None:
                _set_mode(file, partial, mode)
            os.fsync(file.fileno())
        os.replace(partial, path)
    except OSError:
        partial.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def partial_of(path: Path) -> Path:
    return path.with_name(f".{path.name}{PARTIAL}")


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


def move_durably(source: Path, target: Path) -> None:
    """By one rename, through a copy beside `target` where that lies on another file system."""
    try:
        os.replace(source, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        partial = partial_of(target)
        copy_durably(source, partial, source.stat().st_mode & 0o7777)
        os.replace(partial, target)
        source.unlink()
    sync_folder(target.parent)
