"""Read files that a child wrote without trusting them: submitted code may have replaced any of them."""

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
    """Return the file for a child's exit status: next to its folder, where a sandboxed child cannot write."""
    return scratch.with_name(f"{scratch.name}.{ENDED}")


class UntrustedFolder:
    """A folder that a child can write into. Make one before the child begins: it stays open as that folder, even if
    another takes its path. It is closed when it is garbage-collected.

    A result could be a link to the gold that it is compared with, or to another submission's: no links are followed in
    any part of a name, and a file with a second name is refused.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor = open_folder(path)
        self._owner = os.fstat(self._descriptor).st_uid
        weakref.finalize(self, os.close, self._descriptor)

    def has(self, name: str) -> bool:
        """Return whether anything has that name, even what `open` refuses: a tenth of the work, for those who wait."""
        try:
            os.stat(name, dir_fd=self._descriptor, follow_symlinks=False)
        except OSError:
            return False
        return True

    def open(self, name: str) -> IO[bytes]:
        """Open a plain file for reading, without ever blocking.

        Refuse a link, a pipe, a device or a file of another owner with `OSError`.
        """
        number = open_beneath(self._descriptor, name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
        status = os.fstat(number)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1 or status.st_uid != self._owner:
            os.close(number)
            raise OSError(f"{name} is not a plain file of its own")
        return os.fdopen(number, "rb")

    def read(self, name: str, most: int = MOST) -> bytes:
        """Return the content of a plain file; raise `OSError` if it has more than `most` bytes."""
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
