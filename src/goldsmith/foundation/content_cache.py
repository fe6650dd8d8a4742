"""Cache results between runs, keyed by the content of everything they depend on.

A key is the hash of that content (`goldsmith.generate.cache_key.content_key`), so that an entry is never stale, only
unused.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from goldsmith.foundation.atomic_files import write_durably
from goldsmith.foundation.signals import uninterrupted

Entry = TypeVar("Entry")
_KEY_CHARS = 40


@dataclass
class ContentCache(Generic[Entry]):
    """A folder with one file for each result, named after its key.

    The cache only saves time: an entry that cannot be read counts as missing, one that cannot be written is recomputed.
    """

    folder: Path
    suffix: str
    encode: Callable[[Entry], bytes]
    decode: Callable[[bytes], Entry]
    """Raises `msgspec.DecodeError` or `UnicodeDecodeError` for what is not an entry."""
    _used: set[str] = field(default_factory=set)

    def get(self, key: str) -> Entry | None:
        """Return the result stored under `key`, or None."""
        try:
            return self.decode(self._path(key).read_bytes())
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return None

    def put(self, key: str, entry: Entry) -> None:
        """Store a result, completely or not at all."""
        with contextlib.suppress(OSError), uninterrupted():
            self.folder.mkdir(parents=True, exist_ok=True)
            write_durably(self._path(key), self.encode(entry))

    def remove(self, key: str) -> None:
        """Remove the result stored under `key`, if there is one."""
        with contextlib.suppress(OSError):
            self._path(key).unlink(missing_ok=True)

    def evict(self, max_age_s: float, is_ours: Callable[[bytes], bool]) -> None:
        """Remove results that this run did not ask for and that are older than `max_age_s`.

        The folder may hold other people's files: a file is only removed if it is regular, is named like an entry and
        `is_ours` accepts its content.
        """
        name = re.compile(rf"[0-9a-f]{{{_KEY_CHARS}}}{re.escape(self.suffix)}")
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            for path in self.folder.iterdir():
                with contextlib.suppress(OSError):
                    old = time.time() - path.lstat().st_mtime > max_age_s
                    unused = old and path.name not in self._used and name.fullmatch(path.name)
                    if unused and not path.is_symlink() and is_ours(path.read_bytes()):
                        path.unlink()

    def _path(self, key: str) -> Path:
        name = f"{key[:_KEY_CHARS]}{self.suffix}"
        self._used.add(name)
        return self.folder / name
