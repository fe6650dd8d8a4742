"""Files of data that one machine writes and another reads: compressed, with a version and a digest, so that what is cut
off, damaged or from another version is recognised before any of it is used."""

from __future__ import annotations

import hashlib
import re
import zlib
from pathlib import Path

_HEAD = re.compile(rb"goldsmith (?P<kind>[a-z ]+) (?P<version>\d{1,6}) (?P<digest>[0-9a-f]{64}) (?P<size>\d{1,12})\n")
_MAX_HEAD_BYTES = 200
MAX_BYTES = 2**31
"""A class of a thousand submissions has some ten million."""


class NotSealed(ValueError):
    """The file is not what it should be; the message says why, as the end of a sentence."""


def seal(kind: str, version: int, content: bytes) -> bytes:
    """Return `content` as such a file."""
    digest = hashlib.sha256(content).hexdigest()
    return f"goldsmith {kind} {version} {digest} {len(content)}\n".encode() + zlib.compress(content)


def unseal(path: Path, kind: str, version: int) -> bytes:
    """Return the content of such a file. Raise `NotSealed` if it is another, and `OSError` if it cannot be read."""
    with path.open("rb") as file:
        head = _HEAD.fullmatch(file.readline(_MAX_HEAD_BYTES))
        if head is None or head["kind"].decode() != kind:
            raise NotSealed(f"it is not a {kind} of goldsmith's")
        if int(head["version"]) != version:
            raise NotSealed(f"it is a {kind} of version {int(head['version'])}, and this goldsmith reads {version}")
        size = int(head["size"])
        if size > MAX_BYTES:
            raise NotSealed(f"it holds more than {MAX_BYTES // 2**20} MiB")
        unpacker = zlib.decompressobj()
        try:
            content = unpacker.decompress(file.read(MAX_BYTES), size + 1)
        except zlib.error:
            raise NotSealed("it is damaged") from None
    if not unpacker.eof or unpacker.unused_data or len(content) != size:
        raise NotSealed("it is cut off, or was changed")
    if hashlib.sha256(content).hexdigest() != head["digest"].decode():
        raise NotSealed("it was changed")
    return content
