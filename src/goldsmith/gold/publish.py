"""Publish gold completely or not at all: write it next to its place, then swap it in by one rename.

Meanwhile there is one marked folder next to it, `.<name>.<token>.staging/`, with the new gold in `new/` and, where the
file system cannot exchange two folders, the old one in `old/` for a moment. Nothing without that marker is ever
removed.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from goldsmith.errors.gold import CannotWrite
from goldsmith.foundation.ownership import TOKEN, is_marked, make_marked, new_token, remove_made, remove_unfinished
from goldsmith.foundation.signals import uninterrupted

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_NEW, _OLD = "new", "old"


class Staging:
    """A folder next to `target` that becomes it. The caller holds the lock, so there is one at a time."""

    def __init__(self, target: Path, folder: Path | None = None) -> None:
        """Stage in `folder` if given: what will never be published may be anywhere."""
        self.target = target.resolve()
        self._around = self.target.with_name(f".{self.target.name}.{new_token()}.staging")
        self.folder = folder or self._around / _NEW
        self._is_dry = folder is not None
        self._is_open = False
        self._replaced: frozenset[str] | None = None

    def open(self) -> None:
        """Repair what a killed run left, then make the empty staging folder."""
        try:
            if self._is_dry:
                self.folder.mkdir(parents=True)
                return
            self.target.parent.mkdir(parents=True, exist_ok=True)
            self._repair()
            make_marked(self._around, _called(self._around.name))
            self._is_open = True
            self.folder.mkdir()
        except OSError as error:
            raise CannotWrite(self.folder, error.strerror or str(error)) from None

    def _repair(self) -> None:
        """Put gold back that a killed run had moved aside, and remove its other marked folders."""
        pattern = re.compile(rf"\.{re.escape(self.target.name)}\.{TOKEN.pattern}\.staging")
        for name in os.listdir(self.target.parent):
            around = self.target.parent / name
            if not pattern.fullmatch(name) or around.is_symlink():
                continue
            if not is_marked(around, _called(name)):
                remove_unfinished(around)
                continue
            if (around / _OLD).is_dir() and not self.target.exists():
                (around / _OLD).rename(self.target)
            remove_made(around)

    def write(self, name: str, content: bytes) -> None:
        path = self.folder / name
        try:
            with path.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise CannotWrite(self.target / name, error.strerror or str(error)) from None

    def take(self, source: Path) -> None:
        """Copy one finished file in."""
        try:
            content = source.read_bytes()
        except OSError as error:
            raise CannotWrite(source, error.strerror or str(error)) from None
        self.write(source.name, content)

    def carry_over(self, own: Iterable[str]) -> list[str]:
        """Keep other people's files in the folder: everything but `own`, the names that goldsmith wrote before."""
        if not self.target.is_dir():
            return []
        skip = {*own, *(path.name for path in self.folder.iterdir())}
        self._replaced = frozenset(skip)
        kept = sorted(path for path in self.target.iterdir() if path.name not in skip)
        try:
            for path in kept:
                goal = self.folder / path.name
                if path.is_dir() and not path.is_symlink():
                    shutil.copytree(path, goal, symlinks=True)
                else:
                    shutil.copy2(path, goal, follow_symlinks=False)
        except (OSError, shutil.Error) as error:
            raise CannotWrite(self.folder, str(error)) from None
        return [path.name for path in kept]

    def equals_target(self) -> bool:
        """Say whether publishing would change no byte."""
        if not self.target.is_dir():
            return False
        mine, theirs = _files(self.folder), _files(self.target)
        return mine.keys() == theirs.keys() and all(
            path.read_bytes() == theirs[name].read_bytes() for name, path in mine.items()
        )

    def file_changes(self) -> dict[str, str]:
        """Return what publishing would do to each file: leave it the `same`, replace it (`changed`), or add it
        (`new`)."""
        mine, theirs = _files(self.folder), _files(self.target)
        return {name: _change(path, theirs.get(name)) for name, path in mine.items()}

    def replaces(self) -> list[str]:
        """Return the names of files that exist already with other bytes."""
        return sorted(name for name, change in self.file_changes().items() if change == "changed")

    def publish(self) -> None:
        with uninterrupted():
            try:
                if not self.target.exists():
                    self.folder.rename(self.target)
                elif not self.target.is_dir():
                    raise NotADirectoryError(errno.ENOTDIR, "a file stands in the place of the gold folder")
                else:
                    old = self.folder if _exchange(self.folder, self.target) else self._replace_in_two_steps()
                    self._take_what_came_meanwhile(old)
            except OSError as error:
                raise CannotWrite(self.target, error.strerror or str(error)) from None
            self.discard()

    def _replace_in_two_steps(self) -> Path:
        old = self._around / _OLD
        self.target.rename(old)
        try:
            self.folder.rename(self.target)
        except OSError:
            old.rename(self.target)
            raise
        return old

    def _take_what_came_meanwhile(self, old: Path) -> None:
        """Move files that other people added to the folder, or changed there, after `carry_over` copied theirs."""
        for path in old.iterdir() if self._replaced is not None else ():
            goal = self.target / path.name
            if path.name in (self._replaced or ()):
                continue
            is_file = path.is_file() and not path.is_symlink() and goal.is_file()
            if not os.path.lexists(goal) or (is_file and path.read_bytes() != goal.read_bytes()):
                os.replace(path, goal)

    def discard(self) -> None:
        """Remove the staging folder that this run has made, and the old gold in it once the new one is in place."""
        with uninterrupted():
            if self._is_open and (self.target.exists() or not (self._around / _OLD).exists()):
                remove_made(self._around)


def _called(name: str) -> str:
    return f"{name}, gold that is not published yet"


def _change(staged: Path, standing: Path | None) -> str:
    if standing is None:
        return "new"
    return "same" if staged.read_bytes() == standing.read_bytes() else "changed"


def _files(folder: Path) -> dict[str, Path]:
    return {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}


def _exchange(one: Path, other: Path) -> bool:
    """Swap two folders atomically; return False where the system or file system cannot."""
    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if renameat2 is None:
        return False
    if renameat2(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
        return False
    raise OSError(code, os.strerror(code), str(other))
