"""Results kept by content: found again, never half written, and nothing of anybody else's is removed."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import msgspec
import pytest

from goldsmith.foundation.content_cache import ContentCache

DAY_S = 24 * 3600.0


def cache_in(folder: Path) -> ContentCache[dict[str, int]]:
    return ContentCache(folder, ".json", msgspec.json.encode, msgspec.json.Decoder(dict[str, int]).decode)


def key(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def age(path: Path, days: float) -> None:
    old = path.stat().st_mtime - days * DAY_S
    os.utime(path, (old, old))


def test_cache_returns_what_was_put(tmp_path: Path) -> None:
    cache_in(tmp_path / "new").put(key("a"), {"x": 1})
    assert cache_in(tmp_path / "new").get(key("a")) == {"x": 1}
    assert cache_in(tmp_path / "new").get(key("b")) is None
    assert [path.name for path in (tmp_path / "new").iterdir()] == [f"{key('a')[:40]}.json"]


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b'{"x": "text"}'])
def test_cache_takes_a_damaged_entry_for_a_missing_one(tmp_path: Path, content: bytes) -> None:
    (tmp_path / f"{key('a')[:40]}.json").write_bytes(content)
    assert cache_in(tmp_path).get(key("a")) is None


def test_cache_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache_in(tmp_path / "file" / "below").put(key("a"), {})


def test_eviction_removes_old_unused_entries_and_nothing_else(tmp_path: Path) -> None:
    cache = cache_in(tmp_path)
    for name in ("used", "old", "new", "foreign"):
        cache_in(tmp_path).put(key(name), {"x": 1})
    for name in ("used", "old", "foreign"):
        age(tmp_path / f"{key(name)[:40]}.json", 31)
    (tmp_path / f"{key('foreign')[:40]}.json").write_bytes(b"[]")
    age(tmp_path / f"{key('foreign')[:40]}.json", 31)
    (tmp_path / "notes.json").write_text('{"x": 1}')
    age(tmp_path / "notes.json", 31)
    cache.get(key("used"))
    cache.evict(30 * DAY_S, lambda content: content.startswith(b"{"))
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"notes.json", *(f"{key(name)[:40]}.json" for name in ("used", "new", "foreign"))}
