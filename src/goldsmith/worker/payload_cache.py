"""A cache of the payloads that cases get, filled by this process or by the one that it was forked from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from goldsmith.gold.files import read_payload

_MAX_CACHED_BYTES = 64 * 2**20


class Payloads:
    """Payloads by file, kept between runs up to a total size."""

    def __init__(self) -> None:
        self._known: dict[Path, Any] = {}
        self._room = _MAX_CACHED_BYTES

    def of(self, file: Path) -> Any:
        if file in self._known:
            return self._known[file]
        payload, size = read_payload(file, mapped=True), file.stat().st_size
        if size <= self._room:
            self._known[file] = payload
            self._room -= size
        return payload


payloads = Payloads()
