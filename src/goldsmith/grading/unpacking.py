"""Archives that somebody handed in, unpacked with suspicion: nothing outside the folder, no links, no bombs."""

from __future__ import annotations

import stat
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from goldsmith.errors import BadArchive

SUFFIXES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
MOST_BYTES = 256 * 2**20
MOST_FILES = 5000
_CHUNK = 2**16


def is_archive(path: Path) -> bool:
    return path.is_file() and path.name.lower().endswith(SUFFIXES)


def unpack(archive: Path, folder: Path) -> None:
    """Every plain file of `archive` into `folder`; raises `BadArchive` at the first thing that is not decent.

    What an archive says about its sizes is not believed: bytes are counted as they come.
    """
    members = _of_zip(archive) if archive.name.lower().endswith(".zip") else _of_tar(archive)
    seen: set[Path] = set()
    room = MOST_BYTES
    try:
        for name, reader in members:
            target = _place(archive, name, folder)
            if target in seen:
                raise BadArchive(archive.name, f"it has {_shown(name)} twice")
            seen.add(target)
            if len(seen) > MOST_FILES:
                raise BadArchive(archive.name, f"it has more than {MOST_FILES} files")
            room = _write(archive, reader, target, room)
    except (zipfile.BadZipFile, tarfile.TarError, EOFError, ValueError, NotImplementedError, RuntimeError) as error:
        raise BadArchive(archive.name, f"it cannot be read ({error or type(error).__name__})") from None
    except OSError as error:
        raise BadArchive(archive.name, f"it cannot be unpacked ({error.strerror or error})") from None


def _of_zip(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    with zipfile.ZipFile(archive) as content:
        for item in content.infolist():
            if item.is_dir():
                continue
            kind = stat.S_IFMT(item.external_attr >> 16)
            if kind not in (0, stat.S_IFREG):
                raise BadArchive(archive.name, f"{_shown(item.filename)} is no plain file")
            with content.open(item) as reader:
                yield item.filename, reader


def _of_tar(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    with tarfile.open(archive) as content:
        for item in content:
            if item.isdir():
                continue
            reader = content.extractfile(item) if item.isreg() else None
            if reader is None:
                raise BadArchive(archive.name, f"{_shown(item.name)} is no plain file")
            with reader:
                yield item.name, reader


def _place(archive: Path, name: str, folder: Path) -> Path:
    inside = PurePosixPath(name.replace("\\", "/"))
    parts = [part for part in inside.parts if part != "."]
    if inside.is_absolute() or ".." in parts or not parts or "\0" in name or ":" in parts[0]:
        raise BadArchive(archive.name, f"{_shown(name)} would lie outside of it")
    return folder.joinpath(*parts)


def _write(archive: Path, reader: IO[bytes], target: Path, room: int) -> int:
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("xb") as writer:
        while chunk := reader.read(_CHUNK):
            room -= len(chunk)
            if room < 0:
                raise BadArchive(archive.name, f"it holds more than {MOST_BYTES // 2**20} MiB")
            writer.write(chunk)
    return room


def _shown(name: str) -> str:
    return ascii(name[:80])
