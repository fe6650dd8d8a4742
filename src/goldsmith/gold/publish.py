"""Publish gold completely or not at all: write it next to its place, then swap it in by one rename.

Meanwhile there is one marked folder next to it, `.<name>.<token>.staging/`, with the new gold in `new/` and, where the
file system cannot exchange two folders, the old one in `old/` for a moment. Nothing without that marker is ever
removed, and what is in the folder that is replaced is carried over, but for what goldsmith wrote there itself.
"""

from __future__ import annotations

import ctypes
import errno
import io
import os
import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from goldsmith.errors.gold import CannotWrite, LeadsElsewhere, NotOursToReplace
from goldsmith.foundation.beneath import first_link
from goldsmith.foundation.ownership import TOKEN, is_marked, make_marked, new_token, remove_made, remove_unfinished
from goldsmith.foundation.signals import uninterrupted
from goldsmith.gold.files import same_bytes
from goldsmith.gold.manifest import MANIFEST

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_NEW, _OLD = "new", "old"


class Staging:
    """A folder next to `target` that becomes it. The caller holds the lock, so there is one at a time.

    A person may have put a link in the place of `target`, so that gold lies on another disk: it is followed, but only
    to what is empty or holds the file `proof`, which goldsmith writes. With `beneath`, a folder above `target`, no link
    is followed from there on, and no folder is replaced without that file.
    """

    def __init__(
        self, target: Path, folder: Path | None = None, *, beneath: Path | None = None, proof: str = MANIFEST
    ) -> None:
        """Stage in `folder` if given: what will never be published may be anywhere."""
        self._place, self._beneath, self._proof = target, beneath, proof
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
            self._refuse_what_is_not_ours()
            self.target.parent.mkdir(parents=True, exist_ok=True)
            self._repair()
            self._refuse_what_is_not_ours()
            make_marked(self._around, _called(self._around.name))
            self._is_open = True
            self.folder.mkdir()
        except OSError as error:
            raise CannotWrite(self.folder, error.strerror or str(error)) from None

    def _refuse_what_is_not_ours(self) -> None:
        link = first_link(self._beneath, self._place) if self._beneath else None
        if link is not None:
            raise LeadsElsewhere(link)
        if self._beneath is None and not self._place.is_symlink():
            return
        if self.target.is_dir() and any(self.target.iterdir()):
            proof = self.target / self._proof
            if proof.is_symlink() or not proof.is_file():
                raise NotOursToReplace(self._place, self._proof)

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
            old = around / _OLD
            if old.is_dir() and not old.is_symlink() and not os.path.lexists(self.target):
                old.rename(self.target)
            remove_made(around)

    def write(self, name: str, content: bytes) -> None:
        self._copy(io.BytesIO(content), name)

    def _copy(self, source: IO[bytes], name: str) -> None:
        path = self.folder / name
        try:
            with path.open("wb") as file:
                shutil.copyfileobj(source, file)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise CannotWrite(self.target / name, error.strerror or str(error)) from None

    def take(self, source: Path) -> None:
        """Copy one finished file in."""
        try:
            content = source.open("rb")
        except OSError as error:
            raise CannotWrite(source, error.strerror or str(error)) from None
        with content:
            self._copy(content, source.name)

    def carry_over(self, own: Iterable[str]) -> list[str]:
        """Keep other people's files in the folder: everything but `own`, the names that goldsmith wrote before."""
        skip = {*own, *(path.name for path in self.folder.iterdir())}
        self._replaced = frozenset(skip)
        if not self.target.is_dir():
            return []
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
        return mine.keys() == theirs.keys() and all(same_bytes(path, theirs[name]) for name, path in mine.items())

    def file_changes(self) -> dict[str, str]:
        """Return what publishing would do to each file: leave it the `same`, replace it (`changed`), or add it
        (`new`)."""
        mine, theirs = _files(self.folder), _files(self.target)
        return {name: _change(path, theirs.get(name)) for name, path in mine.items()}

    def replaces(self) -> list[str]:
        """Return the names of files that exist already with other bytes."""
        return sorted(name for name, change in self.file_changes().items() if change == "changed")

    def publish(self) -> None:
        if self._replaced is None:
            self.carry_over(())
        with uninterrupted():
            try:
                if not os.path.lexists(self.target):
                    self.folder.rename(self.target)
                elif self.target.is_symlink() or not self.target.is_dir():
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
        assert self._replaced is not None
        for path in old.iterdir():
            goal = self.target / path.name
            if path.name in self._replaced:
                continue
            is_file = path.is_file() and not path.is_symlink() and goal.is_file()
            if not os.path.lexists(goal) or (is_file and not same_bytes(path, goal)):
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
    return "same" if same_bytes(staged, standing) else "changed"


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
