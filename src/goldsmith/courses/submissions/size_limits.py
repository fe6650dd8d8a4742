"""Count a submission while it is listed, and stop reading as soon as it exceeds a bound."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from goldsmith.errors.check import TooMuchHandedIn
from goldsmith.foundation.git import RecordTooLong, stream_records
from goldsmith.foundation.ignored_names import LITTER
from goldsmith.judge.bounds import (
    MAX_BYTES,
    MAX_FILES,
    MAX_FOLDER_LEVELS,
    MAX_LISTED_FILES,
    MAX_PATH_BYTES,
    MAX_PATH_PART_BYTES,
)

_MAX_RECORD_BYTES = 2**14


@dataclass
class Count:
    """How much of the submission `name` has been seen so far; raises `TooMuchHandedIn` once that is too much."""

    name: str
    files: int = 0
    size: int = 0
    folders: set[str] = field(default_factory=set)

    def add_file(self, path: str, size: int = 0) -> None:
        """Count a file, by its path in the submission, and the folders that it lies in."""
        self.files += 1
        if self.files > MAX_FILES:
            raise TooMuchHandedIn(self.name, f"it has more than {MAX_FILES} files")
        if _is_too_long(path):
            raise TooMuchHandedIn(self.name, "it has a file with a very long name")
        self.add_folder(path.rpartition("/")[0])
        self.add_bytes(size)

    def add_bytes(self, size: int) -> None:
        self.size += size
        if self.size > MAX_BYTES:
            raise TooMuchHandedIn(self.name, f"it holds more than {MAX_BYTES // 2**20} MiB")

    def add_folder(self, path: str) -> None:
        if _is_too_long(path) or path.count("/") >= MAX_FOLDER_LEVELS:
            raise TooMuchHandedIn(self.name, f"it has more than {MAX_FOLDER_LEVELS} folders inside each other")
        while path and path not in self.folders:
            self.folders.add(path)
            path = path.rpartition("/")[0]
        if len(self.folders) > MAX_FILES:
            raise TooMuchHandedIn(self.name, f"it has more than {MAX_FILES} folders")


def _is_too_long(path: str) -> bool:
    whole = os.fsencode(path)
    return len(whole) > MAX_PATH_BYTES or any(len(part) > MAX_PATH_PART_BYTES for part in whole.split(b"/"))


def files_below(folder: Path, name: str, left_out: Callable[[str], bool] = lambda inside: False) -> list[Path]:
    """List everything in a folder, sorted, without caches and other litter and without what is `left_out`, by its path
    in the folder. Links are listed and not followed."""
    count = Count(name)
    found: list[Path] = []
    left = [""]
    while left:
        inside = left.pop()
        with contextlib.suppress(PermissionError, FileNotFoundError), os.scandir(folder / inside) as entries:
            for entry in entries:
                path = f"{inside}/{entry.name}" if inside else entry.name
                if entry.name in LITTER or left_out(path):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    count.add_folder(path)
                    left.append(path)
                else:
                    count.add_file(path, entry.stat(follow_symlinks=False).st_size)
                found.append(folder / path)
    return sorted(found)


@dataclass(frozen=True)
class Listed:
    """A file of a git revision, as listed in its tree."""

    mode: str
    blob: str
    size: int
    path: str


def list_revision(root: Path, tree: str, name: str) -> list[Listed] | None:
    """List every file below a tree of a git revision, without submodules; return None where git knows no such tree."""
    count = Count(name)
    found = []
    try:
        for line in _records(root, name, "ls-tree", "-r", "-l", "-z", "--full-tree", tree):
            facts, _, path = line.partition("\t")
            mode, kind, blob, size = facts.split()
            if kind == "blob":
                count.add_file(path, int(size))
                found.append(Listed(mode, blob, int(size), path))
    except subprocess.SubprocessError:
        return None
    return found


def list_names(root: Path, revision: str, name: str) -> list[str]:
    """List the names of all files of a revision, also those outside the submission; none where git knows no such
    revision."""
    found: list[str] = []
    try:
        for path in _records(root, name, "ls-tree", "-r", "-z", "--name-only", "--full-tree", revision):
            if len(found) >= MAX_LISTED_FILES:
                raise TooMuchHandedIn(name, f"it has more than {MAX_LISTED_FILES} files")
            if not LITTER.intersection(PurePosixPath(path).parts):
                found.append(path)
    except subprocess.SubprocessError:
        return []
    return found


def _records(root: Path, name: str, *arguments: str) -> Iterator[str]:
    try:
        yield from stream_records(root, *arguments, max_bytes=_MAX_RECORD_BYTES)
    except RecordTooLong:
        raise TooMuchHandedIn(name, "it has a file with a very long name") from None
