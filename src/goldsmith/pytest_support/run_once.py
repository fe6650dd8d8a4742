"""Do work once in a run of pytest, however many processes that run has."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import filelock

from goldsmith.foundation.atomic_files import write_durably


def once(folder: Path, key: str, make: Callable[[], bytes], suffix: str = "") -> bytes:
    """Return what `make` returned to the first process that asked. Errors are not cached: the next process tries
    again."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (hashlib.sha256(key.encode()).hexdigest() + suffix)
    with filelock.FileLock(path.with_suffix(".lock")):
        if not path.is_file():
            write_durably(path, make())
        return path.read_bytes()
