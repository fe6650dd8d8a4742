"""Open files beneath an open folder safely, even where untrusted code has changed the path to them.

No symbolic link is followed in any part of the path, no other file system is entered, and nothing above the folder is
reached. An open folder stays the same folder, whatever is put in its place afterwards.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import struct
from pathlib import Path, PurePath

from goldsmith.foundation.kernel import machine, system_call

_OPENAT2 = 437
"""The same number on every processor, as for all system calls since 424."""
_NO_OTHER_FILE_SYSTEM, _NO_MAGIC_LINKS, _NO_LINKS, _BENEATH = 1, 2, 4, 8
_RESOLVE = _NO_OTHER_FILE_SYSTEM | _NO_MAGIC_LINKS | _NO_LINKS | _BENEATH
_MAX_ATTEMPTS = 100


def first_link(base: Path, path: Path) -> Path | None:
    """Return the first symbolic link on the way from the folder `base` to `path`, which need not exist and counts as
    part of the way; None if there is none."""
    steps = [path, *path.parents][: len(path.relative_to(base).parts)]
    return next((step for step in reversed(steps) if step.is_symlink()), None)


def open_folder(path: str | os.PathLike[str]) -> int:
    """Return a descriptor of a folder; raise `OSError` if `path` is a symbolic link or not a folder."""
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)


def open_beneath(folder: int, name: str | os.PathLike[str], flags: int) -> int:
    """Open `name`, relative to the open `folder`, and return its descriptor.

    Raise `OSError` if the path contains a symbolic link, a mount point or `..`. `flags` must not create files.
    """
    parts = PurePath(name).parts
    if not parts or PurePath(name).is_absolute() or ".." in parts:
        raise OSError(errno.EXDEV, "it does not lie in its folder", os.fspath(name))
    flags |= os.O_NOFOLLOW | os.O_CLOEXEC
    if resolves_in_kernel():
        return _in_one_step(folder, os.path.join(*parts), flags)
    return _step_by_step(folder, parts, flags)


@functools.cache
def resolves_in_kernel() -> bool:
    """Say whether the kernel has `openat2` (Linux 5.6) and the environment of this process allows it."""
    if not machine():
        return False
    folder = open_folder("/")
    try:
        os.close(_in_one_step(folder, ".", os.O_RDONLY | os.O_CLOEXEC))
    except OSError:
        return False
    finally:
        os.close(folder)
    return True


def _in_one_step(folder: int, path: str, flags: int) -> int:
    content = struct.pack("=QQQ", flags, 0, _RESOLVE)
    how = ctypes.create_string_buffer(content, len(content))
    name = ctypes.create_string_buffer(os.fsencode(path))
    for _ in range(_MAX_ATTEMPTS):
        try:
            return system_call(_OPENAT2, folder, name, how, len(content))
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EINTR):  # those two: a rename raced with the lookup, so retry
                raise OSError(error.errno, error.strerror, path) from None
    raise OSError(errno.EAGAIN, "what lies there is renamed all the time", path)


def _step_by_step(folder: int, parts: tuple[str, ...], flags: int) -> int:
    """Open one part of the path after the other, where the kernel has no `openat2`."""
    device = os.fstat(folder).st_dev
    step = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    current = os.dup(folder)
    try:
        for number, part in enumerate(parts, start=1):
            below = os.open(part, flags if number == len(parts) else step, dir_fd=current)
            os.close(current)
            current = below
            if os.fstat(current).st_dev != device:
                raise OSError(errno.EXDEV, "it lies on another file system", os.path.join(*parts))
    except BaseException:
        os.close(current)
        raise
    return current
