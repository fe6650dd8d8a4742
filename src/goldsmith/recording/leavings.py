"""What a child leaves behind, read with suspicion: code that nobody trusts may have put anything in its place."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import IO

from goldsmith.recording.protocol import ENDED

MOST = 16 * 2**20


def ended_file(scratch: Path) -> Path:
    """Where it is written how a child ended: beside its folder, where what is locked in cannot put a link, or a lie."""
    return scratch.with_name(f"{scratch.name}.{ENDED}")


def is_leaving(path: Path) -> bool:
    """Whether a plain file lies there; a link could lead to the very gold that it is to be compared with."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def open_leaving(path: Path) -> IO[bytes]:
    """A plain file, opened. What is a link, a pipe or a device is refused, not waited for."""
    number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise OSError(f"{path.name} is no plain file")
    return os.fdopen(number, "rb")


def read_leaving(path: Path) -> bytes:
    """Its content, as long as it is not absurdly large."""
    with open_leaving(path) as file:
        content = file.read(MOST + 1)
    if len(content) > MOST:
        raise OSError(f"{path.name} is larger than {MOST // 2**20} MiB")
    return content
