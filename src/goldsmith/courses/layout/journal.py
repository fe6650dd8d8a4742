"""The journal of an injection: each file before and after, and where its bytes are kept meanwhile.

It is in `.goldsmith/injected/<assignment>/`, readable by its owner only, next to the backups in `before/` and the files
to be put in place in `incoming/`. The folder appears, and disappears, by one rename.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from goldsmith.courses.layout.layout import Course
from goldsmith.errors.injection import JournalUnreadable
from goldsmith.foundation.atomic_files import sync_folder, write_durably
from goldsmith.foundation.ownership import (
    TOKEN,
    is_marked,
    is_unfinished,
    make_marked,
    new_token,
    remove_made,
    remove_unfinished,
)

JOURNAL, BEFORE, INCOMING = "journal.json", "before", "incoming"
_SCHEMA = 1
_ASIDE = re.compile(rf"\.(.+)\.{TOKEN.pattern}\.(?:preparing|done)")


class FileState(msgspec.Struct, frozen=True):
    """What is at a path: a file by the hash of its bytes, a link by its target, or something else."""

    kind: Literal["file", "link", "other"]
    mode: int
    digest: str

    def same_content(self, other: FileState | None) -> bool:
        return other is not None and (self.kind, self.digest) == (other.kind, other.digest)


class Change(msgspec.Struct, frozen=True):
    """The change of one path of the course. `before` or `after` is None where nothing is there."""

    path: str
    source: str | None
    before: FileState | None
    after: FileState | None


class Journal(msgspec.Struct, frozen=True, kw_only=True):
    """The journal of one injection.

    `released` are contents, by path, that may be replaced because their owner kept them elsewhere or discarded them.
    `restored` are paths that are back already: whatever is there now is the user's. `token` is in the names of
    temporary copies next to a file.
    """

    schema: int = _SCHEMA
    assignment: str
    state: Literal["injecting", "injected", "resetting"]
    since: str
    changes: tuple[Change, ...]
    folders: tuple[str, ...] = ()
    released: dict[str, str] = {}
    restored: tuple[str, ...] = ()
    token: str = ""


def state_of(path: Path) -> FileState | None:
    try:
        status = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    mode = stat.S_IMODE(status.st_mode)
    if stat.S_ISLNK(status.st_mode):
        return FileState("link", 0, os.readlink(path))
    if not stat.S_ISREG(status.st_mode):
        return FileState("other", mode, "")
    with path.open("rb") as file:
        return FileState("file", mode, hashlib.file_digest(file, "sha256").hexdigest())


def journals_folder(course: Course) -> Path:
    return course.state_folder / "injected"


def journal_folder(course: Course, assignment: str) -> Path:
    return journals_folder(course) / assignment


def read_journal(course: Course, assignment: str) -> Journal | None:
    path = journal_folder(course, assignment) / JOURNAL
    try:
        return msgspec.json.decode(path.read_bytes(), type=Journal)
    except FileNotFoundError:
        if path.parent.is_dir():
            raise JournalUnreadable(path, "it is gone") from None
        return None
    except (OSError, msgspec.DecodeError) as error:
        raise JournalUnreadable(path, str(error)) from None


def journals(course: Course) -> Iterator[Journal]:
    """Yield every injection of the course, finished or not."""
    folder = journals_folder(course)
    if not folder.is_dir():
        return
    for item in sorted(folder.iterdir()):
        journal = read_journal(course, item.name) if not item.name.startswith(".") else None
        if journal is not None:
            yield journal


def write_journal(folder: Path, journal: Journal) -> None:
    write_durably(folder / JOURNAL, msgspec.json.encode(journal), 0o600)


def aside(folder: Path, state: Literal["preparing", "done"]) -> Path:
    """Return the journal folder's temporary name, for before it gets its own or after it is done."""
    return folder.with_name(f".{folder.name}.{new_token()}.{state}")


def make_aside(folder: Path) -> Path:
    """Make a journal's folder under its temporary name."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    preparing = aside(folder, "preparing")
    make_marked(preparing, called(folder.name), 0o700)
    return preparing


def called(assignment: str) -> str:
    """Return the text in the mark of a journal's folder."""
    return f"what stood in the place of the solution of {assignment}"


def discard_journal(folder: Path) -> None:
    """Remove a journal by one rename; what remains is tidying that any later command can finish."""
    done = aside(folder, "done")
    os.rename(folder, done)
    sync_folder(folder.parent)
    remove_made(done)


def abandoned(course: Course) -> list[Path]:
    """Return folders that a killed process left while preparing or removing them, only those that carry our mark."""
    folder = journals_folder(course)
    if not folder.is_dir():
        return []
    found = []
    for item in folder.iterdir():
        name = _ASIDE.fullmatch(item.name)
        if name and not item.is_symlink() and (is_marked(item, called(name[1])) or is_unfinished(item)):
            found.append(item)
    return found


def needs_recovery(course: Course) -> bool:
    """Say whether there is anything but finished injections; quick when there is nothing."""
    if not journals_folder(course).is_dir():
        return False
    return bool(abandoned(course)) or any(journal.state != "injected" for journal in journals(course))


def tidy(course: Course) -> None:
    """Remove the folders that a killed process left while preparing or removing them."""
    for item in abandoned(course):
        name = _ASIDE.fullmatch(item.name)
        if name and is_marked(item, called(name[1])):
            remove_made(item)
        else:
            remove_unfinished(item)
    with contextlib.suppress(OSError):  # it does not exist, or is not empty
        journals_folder(course).rmdir()
