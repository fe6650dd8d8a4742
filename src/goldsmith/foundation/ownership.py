"""Folders that carry proof that goldsmith made them, and the removal of such folders.

The proof is a marker file that says what the folder is. It is written first and removed last, so that the next command
still recognises the folder of a command that was killed. A name alone proves nothing.
"""

from __future__ import annotations

import base64
import contextlib
import os
import re
import shutil
import stat
from pathlib import Path

MARK = ".made-by-goldsmith"
_TOKEN_BYTES = 16
TOKEN = re.compile(r"(?:[a-z2-7]{26}|[0-9a-f]{12})")
"""Twelve digits are the tokens of earlier versions."""
_LONGEST_MARK = 1000


def new_token() -> str:
    """Return a random token for a folder's name.

    It is unique, nobody chooses it by accident, and sandboxed code running next to the folder cannot guess it.
    """
    # Base 32 is six characters shorter than hexadecimal: the path of a socket in such a folder may have 107 bytes.
    return base64.b32encode(os.urandom(_TOKEN_BYTES)).decode().rstrip("=").lower()


def make_marked(folder: Path, what: str, mode: int = 0o777) -> None:
    """Make a folder with a marker that says `what` it is; raise `FileExistsError` if anything is there already."""
    folder.mkdir(mode=mode)
    descriptor = os.open(folder / MARK, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
    try:
        os.write(descriptor, _text(what))
    finally:
        os.close(descriptor)


def is_marked(folder: Path, what: str) -> bool:
    """Say whether `folder` is a real folder, not a link, whose marker says that it is `what`."""
    try:
        if not stat.S_ISDIR(folder.lstat().st_mode):
            return False
        descriptor = os.open(folder / MARK, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            plain = stat.S_ISREG(os.fstat(descriptor).st_mode)
            return plain and os.read(descriptor, _LONGEST_MARK) == _text(what)
        finally:
            os.close(descriptor)
    except OSError:
        return False


def remove_made(folder: Path) -> None:
    """Remove a folder that is marked as goldsmith's, or that this process has made. Its marker goes last."""
    with contextlib.suppress(OSError):
        folder.chmod(0o700)
    with contextlib.suppress(FileNotFoundError):
        for name in os.listdir(folder):
            if name != MARK:
                remove_tree(folder / name)
    with contextlib.suppress(OSError):
        if os.listdir(folder) == [MARK]:
            os.unlink(folder / MARK)
        os.rmdir(folder)


def is_unfinished(folder: Path) -> bool:
    """Say whether a folder is empty but for an empty marker, as a process leaves it that is killed before it writes the
    marker."""
    try:
        names = os.listdir(folder)
        return not names or (names == [MARK] and (folder / MARK).lstat().st_size == 0)
    except OSError:
        return False


def remove_unfinished(folder: Path) -> None:
    """Remove a folder with a random name of goldsmith's that was never marked, if it is empty."""
    if is_unfinished(folder):
        with contextlib.suppress(OSError):
            (folder / MARK).unlink(missing_ok=True)
            os.rmdir(folder)


def remove_tree(path: Path) -> None:
    """Remove a file or folder, even where code that ran there took away its own permissions or nested folders
    endlessly.

    A link is removed, never followed.
    """
    if path.is_symlink() or not path.is_dir():
        with contextlib.suppress(OSError):
            os.unlink(path)
        return
    with contextlib.suppress(RecursionError):
        for current, folders, _files in os.walk(path):
            for name in folders:
                with contextlib.suppress(OSError):
                    _open_up(path, Path(current, name))
        shutil.rmtree(path, ignore_errors=True)
    if path.exists():
        import subprocess

        subprocess.run(["rm", "-rf", "--", str(path)], check=False, stderr=subprocess.DEVNULL)


def _open_up(top: Path, folder: Path) -> None:
    """Give this user all permissions on a folder beneath `top`, without following a link on the way there."""
    from goldsmith.foundation.beneath import open_beneath, open_folder

    if not hasattr(os, "O_PATH"):
        if not folder.is_symlink():
            folder.chmod(0o700)
        return
    around = open_folder(top)
    try:
        descriptor = open_beneath(around, folder.relative_to(top), os.O_PATH | os.O_DIRECTORY)
    finally:
        os.close(around)
    try:
        os.chmod(f"/proc/self/fd/{descriptor}", 0o700)
    finally:
        os.close(descriptor)


def _text(what: str) -> bytes:
    return f"Made by goldsmith, which removes it again: {what}\n".encode("utf-8", "surrogateescape")
