"""Archives with the same bytes for the same files, and writing them where nothing of anybody else's is."""

from __future__ import annotations

import io
import os
import tarfile
import zipfile
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from goldsmith.errors.gold import CannotWrite
from goldsmith.errors.usage import BadOption
from goldsmith.foundation.atomic_files import write_durably

MARK = b"Made by goldsmith, which replaces it."
_EPOCH = (1980, 1, 1, 0, 0, 0)
_PLAIN, _EXECUTABLE = 0o644, 0o755


def zipped(files: Mapping[str, bytes], executable: Collection[str] = (), comment: bytes = b"") -> bytes:
    """Return a zip file of these files."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.comment = comment
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix: only there do files have modes
            entry.external_attr = (0o100000 | (_EXECUTABLE if name in executable else _PLAIN)) << 16
            archive.writestr(entry, data)
    return content.getvalue()


def tarred(files: Mapping[str, bytes], executable: Collection[str] = ()) -> bytes:
    """Return a tar file of these files."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), _EXECUTABLE if name in executable else _PLAIN
            archive.addfile(entry, io.BytesIO(data))
    return content.getvalue()


def is_ours(path: Path) -> bool:
    """Return whether a file carries the mark that goldsmith gives to what it packs: in its first bytes or its last."""
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        first = file.read(4096)
        file.seek(max(0, path.stat().st_size - 4096))
        return MARK in first or file.read().endswith(MARK)


def refuse_others(paths: Iterable[Path]) -> None:
    """Raise if anything stands in one of these places that goldsmith did not pack."""
    for path in paths:
        if os.path.lexists(path) and not is_ours(path):
            raise BadOption("--output", path, "a place where nothing is yet, or something that goldsmith has packed")


def write_packs(contents: Mapping[Path, bytes]) -> None:
    """Write the files of a pack, if nothing stands in the place of any but what goldsmith packed before."""
    refuse_others(contents)
    for path, content in contents.items():
        try:
            path.parent.mkdir(exist_ok=True)
            write_durably(path, content)
        except OSError as error:
            raise CannotWrite(path, error.strerror or str(error)) from None
