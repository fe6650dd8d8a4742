"""The files in a file: archives in archives, compressed files, encoded ones, and those of editors and of git.

What a file is follows from its bytes, not from its name. Each file as a whole has one budget of bytes, entries and
levels; what does not fit in, or cannot be opened, is named with its reason.
"""

from __future__ import annotations

import base64
import binascii
import bz2
import gzip
import io
import lzma
import re
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import IO

from goldsmith.courses.guard.public_file import PublicFile
from goldsmith.foundation.compressed import XzFile, open_entry

MAX_FILE_BYTES = 50 * 2**20
TOO_LARGE = f"it has more than {MAX_FILE_BYTES // 2**20} MiB"
_MAX_BYTES = 256 * 2**20
"""Bytes of all files in one file. Gold and other data of a course has tens of megabytes."""
_MAX_ENTRIES = 20_000
_MAX_LEVELS = 6
_MAX_ENCODED = 50
_SHORTEST_ENCODED = 200
_BASE64 = re.compile(
    rb"(?<![A-Za-z0-9+/\-_])[A-Za-z0-9+/\-_]{60,}"
    rb'(?:(?:\\n",\s{1,40}"|(?:\\r)?\\n|\r?\n[ \t>]{0,8})[A-Za-z0-9+/\-_]{1,100})*={0,2}'
)
"""Also over several lines, as they are, or as JSON writes them."""
_PLAIN_BASE64 = bytes.maketrans(b"-_", b"+/")
_SUFFIXES = re.compile(r"\.(gz|bz2|xz|lzma|z)$", re.IGNORECASE)
_TAR_SUFFIXES = re.compile(r"\.(tgz|tbz|tbz2|txz|tlz)$", re.IGNORECASE)
_ZIP_ENTRY = b"PK\x01\x02"
_CLOSED = {
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"Rar!\x1a\x07": "a RAR archive",
    b"\x28\xb5\x2f\xfd": "compressed with zstd",
    b"\x04\x22\x4d\x18": "compressed with lz4",
    b"LZIP": "compressed with lzip",
    b"\x1f\x9d": "compressed with compress",
    b"PACK\x00\x00\x00": "a pack of git's objects",
    b"# v2 git bundle": "a git bundle",
    b"# v3 git bundle": "a git bundle",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "an old Office document",
    b"%PDF-": "a PDF",
}
"""What is not opened: files begin so, and what they are."""
_CANNOT_BE_READ = (
    zipfile.BadZipFile, tarfile.TarError, lzma.LZMAError, zlib.error, struct.error, binascii.Error, OSError, EOFError,
    ValueError, OverflowError, NotImplementedError, RuntimeError, MemoryError, IndexError, KeyError,
)  # fmt: skip


class _TooMuch(Exception):
    """The text says of what."""


@dataclass
class _Budget:
    size: int = _MAX_BYTES
    entries: int = _MAX_ENTRIES

    def entry(self) -> None:
        self.entries -= 1
        if self.entries < 0:
            raise _TooMuch(f"it holds more than {_MAX_ENTRIES} files")

    def read(self, file: IO[bytes]) -> bytes:
        """Read a file to its end, however long it says that it is."""
        content = file.read(min(self.size, MAX_FILE_BYTES) + 1)
        self.size -= len(content)
        if self.size < 0:
            raise _TooMuch(f"it holds more than {_MAX_BYTES // 2**20} MiB")
        if len(content) > MAX_FILE_BYTES:
            raise _TooMuch(TOO_LARGE)
        return content


def unpacked(path: str, content: bytes) -> Iterator[PublicFile]:
    """Yield the file itself and everything in it, at any depth."""
    yield from _opened(path, content, _Budget(), 0)


def _opened(path: str, content: bytes, budget: _Budget, level: int) -> Iterator[PublicFile]:
    yield PublicFile(path, content)
    closed = next((what for begins, what in _CLOSED.items() if content.startswith(begins)), "")
    if path.endswith(".pyc") and content[2:4] == b"\r\n":
        closed = "compiled Python"
    if closed:
        yield PublicFile(path, b"", unseen=f"it is {closed}")
        return
    entries = _reader_for(path, content)
    if entries is None:
        return
    if level == _MAX_LEVELS:
        yield PublicFile(path, b"", unseen=f"it is packed more than {_MAX_LEVELS} times over")
        return
    try:
        for name, inner, unseen in entries(path, content, budget):
            if unseen:
                yield PublicFile(name, b"", unseen=unseen)
            else:
                yield from _opened(name, inner, budget, level + 1)
    except _TooMuch as problem:
        yield PublicFile(path, b"", unseen=str(problem))
    except _CANNOT_BE_READ as error:
        yield PublicFile(path, b"", unseen=f"it cannot be unpacked ({str(error) or type(error).__name__})")


_Entries = Iterator[tuple[str, bytes, str]]
_Reader = Callable[[str, bytes, _Budget], _Entries]
"""Yields what is in a file: name, content, and why it cannot be read, if so."""


def _reader_for(path: str, content: bytes) -> _Reader | None:
    if content[257:262] == b"ustar" or (path.lower().endswith(".tar") and _is_old_tar(content)):
        return _of_tar
    if _decompressor(path, content) is not None:
        return _of_compressed
    if zipfile.is_zipfile(io.BytesIO(content)):  # also what ends with a zip, as a tar of one does
        return _of_zip
    if _is_deflated_text(content):
        return _of_deflated
    if content.startswith(b"b0VIM"):
        return _of_swap_file
    return _of_encoded if len(content) >= _SHORTEST_ENCODED and _BASE64.search(content) else None


def _is_old_tar(content: bytes) -> bool:
    """Say whether the first header of a tar without a mark has the right sum."""
    head = content[:512]
    if len(head) < 512:
        return False
    declared = head[148:156].strip(b"\0 ")
    return bool(re.fullmatch(rb"[0-7]{1,7}", declared)) and int(declared, 8) == (
        sum(head[:148]) + sum(head[156:]) + 8 * ord(" ")
    )


def _of_zip(path: str, content: bytes, budget: _Budget) -> _Entries:
    if content.count(_ZIP_ENTRY) > _MAX_ENTRIES:
        raise _TooMuch(f"it holds more than {_MAX_ENTRIES} files")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for item in archive.infolist():
            budget.entry()
            if item.filename.endswith("/"):  # `is_dir` raises where there is no name
                continue
            name = f"{path}/{item.filename}"
            if item.flag_bits & 1:
                yield name, b"", "it is encrypted"
                continue
            try:
                with open_entry(archive, item) as file:
                    inner = budget.read(file)
            except _CANNOT_BE_READ as error:
                yield name, b"", f"it cannot be unpacked ({str(error) or type(error).__name__})"
                continue
            yield name, inner, ""


def _of_tar(path: str, content: bytes, budget: _Budget) -> _Entries:
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
        while (item := archive.next()) is not None:
            budget.entry()
            archive.members.clear()  # type: ignore[attr-defined]
            if item.isreg() and not item.issparse() and (file := archive.extractfile(item)) is not None:
                yield f"{path}/{item.name}", budget.read(file), ""
            elif item.issparse():
                yield f"{path}/{item.name}", b"", "it is a sparse file"


def _decompressor(path: str, content: bytes) -> IO[bytes] | None:
    stream = io.BytesIO(content)
    if content.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=stream)  # type: ignore[return-value]
    if content.startswith(b"BZh"):
        return bz2.BZ2File(stream)
    if content.startswith(b"\xfd7zXZ\0") or path.lower().endswith((".lzma", ".tlz")):
        return io.BufferedReader(XzFile(stream))
    return None


def _of_compressed(path: str, content: bytes, budget: _Budget) -> _Entries:
    name = PurePosixPath(path).name
    plain = _TAR_SUFFIXES.sub(".tar", _SUFFIXES.sub("", name))
    stream = _decompressor(path, content)
    assert stream is not None
    budget.entry()
    yield f"{path}/{plain if plain != name else f'{name}.content'}", budget.read(stream), ""


def _inflated(content: bytes, length: int) -> bytes:
    try:
        return zlib.decompressobj().decompress(content, length)
    except zlib.error:
        return b""


def _is_deflated_text(content: bytes) -> bool:
    """Say whether this is text that zlib has compressed, as it lies in an object of git, in a log or in a string."""
    if content[:2] not in (b"x\x01", b"x\x5e", b"x\x9c", b"x\xda"):
        return False
    begins = _inflated(content, 4000)
    return begins.startswith(b"blob ") or _is_text(begins)


def _of_deflated(path: str, content: bytes, budget: _Budget) -> _Entries:
    budget.entry()
    with io.BytesIO(_inflated(content, MAX_FILE_BYTES + 1)) as stream:
        inner = budget.read(stream)
    yield f"{path}/blob", inner.partition(b"\0")[2] if inner.startswith(b"blob ") else inner, ""


def _of_swap_file(path: str, content: bytes, budget: _Budget) -> _Entries:
    """Yield the text that Vim keeps for a file that is open: pages of lines, in each the last one first."""
    page = struct.unpack_from("<I", content, 12)[0]
    if not 512 <= page <= 2**20:
        raise ValueError("not a swap file of Vim")
    texts = []
    for at in range(0, len(content) - 23, page):
        if content[at : at + 2] == b"ad":
            start, end = struct.unpack_from("<II", content, at + 8)
            lines = content[at + max(24, min(start, page)) : at + min(end, page)].split(b"\0")
            texts.append(b"\n".join(reversed(lines)))
    budget.entry()
    name = PurePosixPath(path).name.removeprefix(".")
    yield f"{path}/{re.sub(r'[.]sw[a-z]$', '', name)}", b"".join(texts).strip(b"\n"), ""


def _of_encoded(path: str, content: bytes, budget: _Budget) -> _Entries:
    """Yield what is text or an archive once it is decoded from base 64, as attachments and data URLs are."""
    number = 0
    for found in _BASE64.finditer(content):
        code = found[0].replace(b"\\r", b"").replace(b"\\n", b"").translate(_PLAIN_BASE64, b'\r\n\t >", ')
        if len(code) < _SHORTEST_ENCODED:
            continue
        try:
            inner = base64.b64decode(code + b"=" * (-len(code) % 4))
        except binascii.Error:
            continue  # no base 64 after all
        if not (_is_text(inner) or _begins_a_container(inner)):
            continue
        number += 1
        if number > _MAX_ENCODED:
            raise _TooMuch(f"more than {_MAX_ENCODED} files are encoded in it")
        budget.entry()
        with io.BytesIO(inner) as stream:
            yield f"{path}/base64-{number}", budget.read(stream), ""


def _is_text(content: bytes) -> bool:
    try:
        text = content[:4000].decode("utf-8", "ignore")
    except ValueError:
        return False
    plain = sum(letter.isprintable() or letter in "\n\r\t" for letter in text)
    return "\n" in text and len(text) > 0.9 * len(content[:4000]) and plain > 0.97 * len(text)


def _begins_a_container(content: bytes) -> bool:
    packed = content.startswith((b"PK\x03\x04", b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0")) or _is_deflated_text(content)
    return packed or content[257:262] == b"ustar"
