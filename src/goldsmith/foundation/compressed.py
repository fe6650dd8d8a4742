"""Read what strangers compressed within bounds of memory: a kilobyte may hold gigabytes, or ask for them."""

from __future__ import annotations

import bz2
import copy
import io
import lzma
import struct
import zipfile
from typing import IO

_CHUNK_BYTES = 2**16
_MAX_MEMORY_BYTES = 128 * 2**20
"""Memory that unpacking xz may take: twice what its highest level needs."""
_HAS_END_MARK, _UNKNOWN_SIZE = 0x02, 2**64 - 1


class XzFile(io.RawIOBase):
    """The content of an xz or lzma file, with a limit on memory. `begins` is the head of a stream that has none."""

    def __init__(self, file: IO[bytes], begins: bytes = b"") -> None:
        self._file, self._place = file, 0
        kind = lzma.FORMAT_ALONE if begins else lzma.FORMAT_AUTO
        self._unpacker = lzma.LZMADecompressor(kind, memlimit=_MAX_MEMORY_BYTES)
        if begins:
            self._unpacker.decompress(begins)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        content = b""
        while not content:
            if self._unpacker.eof:
                rest = self._unpacker.unused_data.lstrip(b"\0") or self._file.read(_CHUNK_BYTES).lstrip(b"\0")
                if not rest:
                    return 0
                self._unpacker = lzma.LZMADecompressor(memlimit=_MAX_MEMORY_BYTES)
                content = self._unpacker.decompress(rest, len(buffer))
                continue
            more = self._file.read(_CHUNK_BYTES) if self._unpacker.needs_input else b""
            if self._unpacker.needs_input and not more:
                raise EOFError("it is cut off")
            content = self._unpacker.decompress(more, len(buffer))
        buffer[: len(content)] = content
        self._place += len(content)
        return len(content)

    def tell(self) -> int:
        return self._place

    def seek(self, place: int, whence: int = io.SEEK_SET) -> int:
        """Seek forwards, by reading what lies between."""
        if whence != io.SEEK_SET or place < self._place:
            raise ValueError("it can only be read from its beginning to its end")
        skipped = bytearray(_CHUNK_BYTES)
        while self._place < place and self.readinto(memoryview(skipped)[: place - self._place]):
            continue
        return self._place


def open_entry(archive: zipfile.ZipFile, item: zipfile.ZipInfo) -> IO[bytes]:
    """Open a file in a zip. `zipfile` itself unpacks all that 64 KiB of bzip2 or LZMA hold at once, which may be 80 GB,
    whatever was asked for; so only the packed bytes are read through it."""
    if item.compress_type not in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        return archive.open(item)
    packed = copy.copy(item)
    packed.compress_type, packed.file_size = zipfile.ZIP_STORED, item.compress_size
    del packed.CRC  # it is that of the content; both formats have sums of their own, or a length
    stream = archive.open(packed)
    if item.compress_type == zipfile.ZIP_BZIP2:
        return bz2.BZ2File(stream)
    properties = stream.read(9)[4:]
    size = _UNKNOWN_SIZE if item.flag_bits & _HAS_END_MARK else item.file_size
    return io.BufferedReader(XzFile(stream, properties + struct.pack("<Q", size)), _CHUNK_BYTES)
