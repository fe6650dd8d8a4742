"""Snapshots of a folder: every file's bytes, mode and link target, so that a change can be proven."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from goldsmith.foundation.ignored_names import LITTER


class Entry(NamedTuple):
    """One path: `digest` is the hash of a file's bytes, or of a link's target and the bytes behind it."""

    kind: str
    mode: int
    digest: str


Snapshot = Mapping[str, Entry]


def take_snapshot(folder: Path, holds: Callable[[Path], bool] = lambda path: True) -> Snapshot:
    """Return every file, link and folder below `folder`, except tools' leftovers; links are followed, too. With
    `holds`, only what that function accepts."""
    entries: dict[str, Entry] = {}
    seen: set[str] = set()
    for current, folders, files in os.walk(folder, followlinks=True):
        real = os.path.realpath(current)
        names = [name for name in (*folders, *files) if name not in LITTER and holds(Path(current, name))]
        folders[:] = [] if real in seen else [name for name in folders if name in names]
        seen.add(real)
        for name in names:
            path = Path(current, name)
            entries[path.relative_to(folder).as_posix()] = _entry(path)
    return dict(sorted(entries.items()))


def changed_paths(before: Snapshot, after: Snapshot) -> list[str]:
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


def file_hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _entry(path: Path) -> Entry:
    status = path.lstat()
    mode = stat.S_IMODE(status.st_mode)
    if stat.S_ISLNK(status.st_mode):
        behind = file_hash(path) if path.is_file() else ""
        return Entry("link", 0, hashlib.sha256(f"{os.readlink(path)}|{behind}".encode()).hexdigest())
    if stat.S_ISDIR(status.st_mode):
        return Entry("folder", mode, "")
    if stat.S_ISREG(status.st_mode):
        return Entry("file", mode, file_hash(path))
    return Entry("special", mode, "")
