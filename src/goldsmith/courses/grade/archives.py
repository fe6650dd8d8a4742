"""Unpack submitted archives safely: nothing outside the folder, no links, no decompression bombs.

Whatever is wrong with an archive is its submission's reason. Only a disk that is full, or the like, is ours.
"""

from __future__ import annotations

import bz2
import contextlib
import errno
import functools
import gzip
import io
import os
import stat
import tarfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any, TypeVar

from goldsmith.courses.submissions.size_limits import Count
from goldsmith.errors.base import GoldsmithError
from goldsmith.errors.check import TooMuchHandedIn
from goldsmith.errors.gold import CannotWrite
from goldsmith.errors.grade import BadArchive
from goldsmith.foundation.compressed import XzFile, open_entry
from goldsmith.judge.bounds import MAX_ARCHIVE_ENTRIES, MAX_BYTES, MAX_PATH_BYTES, UNPACKING_TIMEOUT_S

_Part = TypeVar("_Part")
SUFFIXES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
_CHUNK = 2**16
_MAX_PIECE_BYTES = 2**17
"""Bytes of a tar that are read at once: a chunk of a file; a long name or PAX header, which `tarfile` reads whole."""
_MAX_HEAD_BYTES = 2**18
"""Bytes of all headers that belong to one file of a tar."""
_MAX_INDEX_BYTES = 4 * 2**20
"""Bytes of a zip that are read at once: the list of files takes about a hundred for each."""
_MAX_TAR_BYTES = MAX_BYTES + 64 * 2**20
"""Bytes of an uncompressed tar: its files, and their headers, of which even a long one is a few KiB."""
_MACHINES = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EMFILE, errno.ENFILE, errno.ENOMEM)
"""System errors that no archive causes."""
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2)


def is_archive(path: Path) -> bool:
    return path.is_file() and path.name.lower().endswith(SUFFIXES)


def unpack(archive: Path, folder: Path) -> None:
    """Unpack every plain file of `archive` into `folder`; raise `BadArchive` at the first entry that is not acceptable.

    The sizes that an archive declares are not believed: bytes are counted as they are read.
    """
    members = _of_zip(archive) if archive.name.lower().endswith(".zip") else _of_tar(archive)
    seen: set[Path] = set()
    count = Count(archive.name)
    try:
        for number, (name, reader) in enumerate(_suspected(archive, members), start=1):
            if number > MAX_ARCHIVE_ENTRIES:
                raise BadArchive(archive.name, f"it lists more than {MAX_ARCHIVE_ENTRIES} files and folders")
            target = _place(archive, name, folder)
            if reader is None:
                count.add_folder(target.relative_to(folder).as_posix())
                continue
            if target == folder:
                raise BadArchive(archive.name, "it has a file without a name")
            if target in seen:
                raise BadArchive(archive.name, f"it has {_shown(name)} twice")
            seen.add(target)
            count.add_file(target.relative_to(folder).as_posix())
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb") as writer:
                for chunk in _suspected(archive, iter(functools.partial(reader.read, _CHUNK), b"")):
                    count.add_bytes(len(chunk))
                    writer.write(chunk)
    except TooMuchHandedIn as error:
        raise BadArchive(archive.name, error.problem) from None
    except OSError as error:
        if error.errno in _MACHINES:
            raise CannotWrite(folder, error.strerror or str(error)) from None
        raise BadArchive(archive.name, f"it cannot be unpacked ({error.strerror or error})") from None


def _suspected(archive: Path, parts: Iterator[_Part]) -> Iterator[_Part]:
    """Yield what is read of an archive. Whatever the libraries that read it raise is the archive's fault: they have no
    common class of errors, and let some through that they do not document, such as `zlib.error` and `IndexError`."""
    while True:
        try:
            part = next(parts)
        except StopIteration:
            return
        except (GoldsmithError, OSError):
            raise
        except Exception as error:
            raise BadArchive(archive.name, f"it cannot be read ({str(error) or type(error).__name__})") from None
        yield part


def _of_zip(archive: Path) -> Iterator[tuple[str, IO[bytes] | None]]:
    """Yield files by name with a reader, and folders with None."""
    with archive.open("rb") as file, zipfile.ZipFile(_Bounded(file, _MAX_INDEX_BYTES)) as content:
        for item in content.infolist():
            if item.filename.endswith("/"):  # `is_dir` raises where there is no name
                yield item.filename, None
                continue
            kind = stat.S_IFMT(item.external_attr >> 16)
            if kind not in (0, stat.S_IFREG):
                raise BadArchive(archive.name, f"{_shown(item.filename)} is no plain file")
            if item.compress_type not in _METHODS:
                raise BadArchive(archive.name, f"{_shown(item.filename)} is compressed in an unusual way")
            with open_entry(content, item) as reader:
                yield item.filename, reader


def _of_tar(archive: Path) -> Iterator[tuple[str, IO[bytes] | None]]:
    """Yield files by name with a reader, and folders with None. `tarfile` keeps the headers of all files: they are
    dropped to bound memory."""
    with _decompress(archive) as stream:
        bounded = _Bounded(stream, _MAX_PIECE_BYTES, _MAX_TAR_BYTES)
        bounded.begin(_MAX_HEAD_BYTES)
        with tarfile.open(fileobj=bounded, mode="r:") as content:
            while (item := content.next()) is not None:
                bounded.begin(None)
                reader = content.extractfile(item) if item.isreg() and not item.issparse() else None
                if reader is None and not item.isdir():
                    raise BadArchive(archive.name, f"{_shown(item.name)} is no plain file")
                yield item.name, reader
                content.members.clear()  # type: ignore[attr-defined]
                content.pax_headers.clear()  # type: ignore[attr-defined]
                bounded.begin(_MAX_HEAD_BYTES)


@contextlib.contextmanager
def _decompress(archive: Path) -> Iterator[IO[bytes]]:
    """Open a tar by its compression, whatever its name says."""
    with archive.open("rb") as plain:
        file: Any = _Timed(plain)
        begins = file.read(6)
        file.seek(0)
        if begins.startswith(b"\x1f\x8b"):
            yield gzip.GzipFile(fileobj=file)  # type: ignore[misc]
        elif begins.startswith(b"BZh"):
            yield bz2.BZ2File(file)
        elif begins.startswith((b"\xfd7zXZ\0", b"]\0\0")):
            yield io.BufferedReader(XzFile(file), _CHUNK)
        else:
            yield file


class _Timed(io.RawIOBase):
    """A file that can be read only for so long: to read what says little many times over takes hours."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._end = file, time.thread_time() + UNPACKING_TIMEOUT_S

    def read(self, size: int = -1) -> bytes:
        if time.thread_time() > self._end:
            raise ValueError(f"unpacking it takes longer than {UNPACKING_TIMEOUT_S:.0f} s")
        return self._file.read(size)

    def seek(self, place: int, whence: int = io.SEEK_SET) -> int:
        return self._file.seek(place, whence)

    def tell(self) -> int:
        return self._file.tell()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True


class _Bounded(_Timed):
    """A file with limits on how much is read at once and in all; and, until the next `begin`, in headers."""

    def __init__(self, file: IO[bytes], most: int, whole: float = float("inf")) -> None:
        super().__init__(file)
        self._most, self._whole = most, whole
        self._left: float = float("inf")

    def begin(self, most: int | None) -> None:
        self._left = float("inf") if most is None else most

    def read(self, size: int = -1) -> bytes:
        most = min(self._most, self._left)
        content = super().read(self._most + 1) if size < 0 else super().read(size) if size <= most else b""
        if size > most or len(content) > most:
            raise ValueError("it has a header that is larger than any honest one")
        self._left -= len(content)
        return content

    def seek(self, place: int, whence: int = io.SEEK_SET) -> int:
        if whence == io.SEEK_SET and place > self._whole:
            raise ValueError(f"it holds more than {MAX_BYTES // 2**20} MiB")
        return super().seek(place, whence)


def _place(archive: Path, name: str, folder: Path) -> Path:
    if len(name) > MAX_PATH_BYTES:
        raise BadArchive(archive.name, f"{_shown(name)} is a very long name")
    inside = PurePosixPath(name.replace("\\", "/"))
    parts = [part for part in inside.parts if part != "."]
    if inside.is_absolute() or ".." in parts or "\0" in name or (parts and ":" in parts[0]):
        raise BadArchive(archive.name, f"{_shown(name)} would lie outside of it")
    with contextlib.suppress(UnicodeEncodeError):
        os.fsencode(name)
        return folder.joinpath(*parts)
    raise BadArchive(archive.name, f"{_shown(name)} is no name for a file")


def _shown(name: str) -> str:
    return ascii(name[:80])
