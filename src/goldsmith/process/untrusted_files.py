"""Read what a child leaves behind with suspicion: code that nobody trusts may have put anything in its place."""

from __future__ import annotations

import os
import stat
import weakref
from pathlib import Path
from typing import IO

from goldsmith.foundation.beneath import open_beneath, open_folder
from goldsmith.process.messages import ENDED

MOST = 16 * 2**20


def exit_status_file(scratch: Path) -> Path:
    """Where it is written how a child ended: beside its folder, where what is locked in cannot put a link, or a lie."""
    return scratch.with_name(f"{scratch.name}.{ENDED}")


class UntrustedFolder:
    """A folder that a child can write into. Make one before the child begins: it stays that folder, whatever is put in
    its place. Closed as soon as nobody holds it any more.

    A result could be a link to the gold that it is compared with, or to another submission's: in no part of a name is
    any followed, and a file that has a second name somewhere is refused.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor = open_folder(path)
        self._owner = os.fstat(self._descriptor).st_uid
        weakref.finalize(self, os.close, self._descriptor)

    def open(self, name: str) -> IO[bytes]:
        """Open a plain file for reading; refuse a link, a pipe, a device or somebody else's file with `OSError`, and
        wait for none."""
        number = open_beneath(self._descriptor, name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
        status = os.fstat(number)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1 or status.st_uid != self._owner:
            os.close(number)
            raise OSError(f"{name} is no plain file of its own")
        return os.fdopen(number, "rb")

    def read(self, name: str, most: int = MOST) -> bytes:
        """Return the content of a plain file; `OSError` if there is more than `most` bytes of it."""
        with self.open(name) as file:
            content = file.read(most + 1)
        if len(content) > most:
            raise OSError(f"{name} is larger than {most // 2**20} MiB")
        return content

    def tail(self, name: str, size: int) -> bytes:
        """Return the last `size` bytes of a plain file, as it is now."""
        with self.open(name) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - size))
            return file.read(size)
