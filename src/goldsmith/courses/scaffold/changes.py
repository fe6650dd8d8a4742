"""Changes to files: planned from what is there, written only if that has not changed, undone if a later one fails."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from goldsmith.courses.scaffold.layout_detection import Note
from goldsmith.errors.gold import CannotWrite
from goldsmith.errors.scaffold import ChangedMeanwhile
from goldsmith.foundation.atomic_files import write_durably
from goldsmith.foundation.signals import uninterrupted

Standing = Literal["create", "extend", "unchanged", "kept", "skipped", "by-hand"]


@dataclass(frozen=True)
class Change:
    """The planned change of one file.

    `reason` says in a word why it is left alone, `detail` what that refers to; `by_hand` is what the user should add.
    """

    part: str
    path: Path
    standing: Standing
    content: bytes = b""
    before: bytes | None = None
    mode: int = 0o644
    reason: str = ""
    detail: str = ""
    by_hand: str = ""

    @property
    def writes(self) -> bool:
        return self.standing in ("create", "extend")


@dataclass(frozen=True)
class Plan:
    """Everything that would be done in the folder `root`, in order, with notes."""

    root: Path
    changes: Sequence[Change]
    notes: Sequence[Note] = field(default=())

    @property
    def pending(self) -> list[Change]:
        return [change for change in self.changes if change.writes]


def whole_file(root: Path, part: str, path: Path, content: str, *, mode: int = 0o644) -> Change:
    """Plan a file of goldsmith's own: create it where there is none, leave any other as it is."""
    wanted = content.encode()
    obstacle = _obstacle(root, path)
    if obstacle:
        return Change(part, path, "skipped", reason=obstacle, detail=str(path))
    if not path.exists():
        return Change(part, path, "create", wanted, mode=mode)
    return Change(part, path, "unchanged" if path.read_bytes() == wanted else "kept", reason="yours")


def extended(root: Path, part: str, path: Path, content: str | None, by_hand: str, *, newline: str = "\n") -> Change:
    """Plan an addition to a file of the course; `content` is all of the new text, None where an edit is not safe."""
    if content is None:
        return Change(part, path, "by-hand", reason="unsafe", by_hand=by_hand)
    if path.is_symlink() or _obstacle(root, path):
        return Change(part, path, "by-hand", reason="link", by_hand=by_hand)
    wanted = content.replace("\n", newline).encode()
    if not path.exists():
        return Change(part, path, "create", wanted)
    before = path.read_bytes()
    standing: Standing = "unchanged" if before == wanted else "extend"
    return Change(part, path, standing, wanted, before, mode=path.stat().st_mode & 0o7777)


def _obstacle(root: Path, path: Path) -> str:
    """Return why nothing may be written there, "" if it may; never write through a link."""
    if path.is_symlink():
        return "link"
    if path.exists() and not path.is_file():
        return "no-file"
    nearest = next(folder for folder in path.parents if folder.exists() or folder.is_symlink())
    if not nearest.is_dir():
        return "no-folder"
    return "" if nearest.resolve().is_relative_to(root.resolve()) or root.is_relative_to(nearest) else "link"


def apply(changes: Iterable[Change]) -> None:
    """Write all changes. If one cannot be written, undo those before it; Ctrl-C waits for the end."""
    with uninterrupted():
        done: list[Change] = []
        made: list[Path] = []
        try:
            for change in changes:
                if change.writes:
                    _write(change, made)
                    done.append(change)
        except BaseException:
            for change in reversed(done):
                _undo(change)
            for folder in reversed(made):
                with contextlib.suppress(OSError):  # another program has put a file there meanwhile
                    folder.rmdir()
            raise


def _write(change: Change, made: list[Path]) -> None:
    try:
        for folder in reversed([folder for folder in change.path.parents if not folder.exists()]):
            folder.mkdir()
            made.append(folder)
        if change.path.is_symlink() or _bytes(change.path) != change.before:
            raise ChangedMeanwhile(change.path)
        write_durably(change.path, change.content, change.mode)
    except OSError as error:
        raise CannotWrite(change.path, error.strerror or str(error)) from None


def _undo(change: Change) -> None:
    """Undo what `_write` wrote, unless the file was changed since."""
    if change.path.is_symlink() or _bytes(change.path) != change.content:
        return
    if change.before is None:
        change.path.unlink()
    else:
        write_durably(change.path, change.before, change.mode)


def _bytes(path: Path) -> bytes | None:
    return path.read_bytes() if os.path.lexists(path) else None
