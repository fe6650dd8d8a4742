"""The folder that a class's files are written to. It records what goldsmith wrote there, so that all files are of one
run, and nothing that a person has written is lost."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from goldsmith.errors.gold import CannotWrite, LeadsElsewhere
from goldsmith.foundation.atomic_files import write_durably
from goldsmith.foundation.beneath import first_link
from goldsmith.foundation.ignored_names import GRADES_MARK

EARLIER = "earlier"
_IGNORE = ".gitignore"
_LINE = re.compile(r"[0-9a-f]{64}  .+")
_LINK = "a link, which nobody but a person makes there"


class Folder:
    """A run's view of the folder: what it writes replaces what earlier runs wrote.

    Files that earlier runs wrote and this one does not, and files that a person has changed, are moved to `earlier/1/`,
    `earlier/2/` and so on, one for each run that moves any. A file that a person has changed stays in place as long as
    there is nothing new to write: `left` names those.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.left: list[str] = []
        self.earlier: Path | None = None
        self._known: dict[str, list[str]] = {}
        self._now: dict[str, str] = {}
        with self._writing():
            path.mkdir(parents=True, exist_ok=True)
            if not os.path.lexists(path / _IGNORE):  # for staff alone: git must not track it
                (path / _IGNORE).write_text("*\n", encoding="utf-8")
            if (path / GRADES_MARK).is_symlink():
                raise CannotWrite(path / GRADES_MARK, "it is a link")
            (path / GRADES_MARK).touch()  # before anything is written that submissions must not see
        with contextlib.suppress(FileNotFoundError):
            for line in (path / GRADES_MARK).read_text(encoding="utf-8", errors="replace").splitlines():
                if not _LINE.fullmatch(line):
                    raise CannotWrite(path / GRADES_MARK, "goldsmith did not write what it says; move it away")
                digest, _, name = line.partition("  ")
                self._known.setdefault(name, []).append(digest)

    def write(self, name: str, content: bytes) -> Path:
        """Write a file of this run. Its digest is recorded first, so that an interrupted run leaves no file that the
        next one would not know."""
        path, digest = self.path / name, hashlib.sha256(content).hexdigest()
        known = self._known.setdefault(name, [])
        self._refuse_links(path)
        with self._writing():
            standing = _standing(path)
            self._now[name] = digest
            if standing not in (None, digest, *known):
                if known[-1:] == [digest]:
                    self.left.append(name)
                    return path
                self._put_aside(name)
            if known[-1:] != [digest]:
                with (self.path / GRADES_MARK).open("a", encoding="utf-8") as file:
                    file.write(f"{digest}  {name}\n")
                known.append(digest)
            if standing != digest:
                path.parent.mkdir(parents=True, exist_ok=True)
                write_durably(path, content)
        return path

    def _refuse_links(self, path: Path) -> None:
        link = first_link(self.path, path.parent)
        if link is not None:
            raise LeadsElsewhere(link)

    def put_aside_the_rest(self, along: Iterable[str]) -> None:
        """Move away what earlier runs wrote and this one did not. The files `along` are moved only if there is any such
        file."""
        with self._writing():
            rest = [name for name in self._known if name not in (*self._now, *along) and (self.path / name).is_file()]
            for name in (*rest, *(along if rest else ())):
                if (self.path / name).is_file():
                    self._put_aside(name)

    def finish(self) -> None:
        """Record that only the files of this run are known from now on."""
        with self._writing():
            lines = [f"{digest}  {name}\n" for name, digest in sorted(self._now.items())]
            write_durably(self.path / GRADES_MARK, "".join(lines).encode())

    def _put_aside(self, name: str) -> None:
        if self.earlier is None:
            taken = [int(item.name) for item in (self.path / EARLIER).glob("*") if item.name.isdecimal()]
            self.earlier = self.path / EARLIER / str(max(taken, default=0) + 1)
        target = self.earlier / name
        for path in (target, self.path / name):
            self._refuse_links(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        (self.path / name).rename(target)
        for folder in (self.path / name).parents[: name.count("/")]:
            with contextlib.suppress(OSError):  # not empty
                folder.rmdir()

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise CannotWrite(Path(error.filename or self.path), error.strerror or str(error)) from None


def _standing(path: Path) -> str | None:
    """Return the digest of the file at `path`; None if there is none."""
    if path.is_symlink():
        return _LINK
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
