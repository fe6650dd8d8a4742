"""The last line of every file that goldsmith writes for agents: the version that wrote it, and a digest of the text.

It tells a file that users edited from one that is merely outdated. Line ends, a byte order mark and trailing blank
space do not count as edits: git and editors change those by themselves.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from goldsmith._version import __version__

_MARK = re.compile(r"^<!-- Written by goldsmith (\S+), digest ([0-9a-f]{16})\..*-->[ \t]*$\n?", re.M)
_LINE = "<!-- Written by goldsmith {version}, digest {digest}. Edits are never overwritten unasked. -->\n"


@dataclass(frozen=True)
class Mark:
    """What a file's last line says, and whether the rest is still as written."""

    version: str
    digest: str
    intact: bool


def marked(body: str, version: str = __version__) -> str:
    body = _plain(body)
    return f"{body}\n{_LINE.format(version=version, digest=digest_of(body))}"


def read_mark(text: str) -> Mark | None:
    """Return the mark in `text`, or None where goldsmith never wrote it."""
    text = _plain(text)
    found = list(_MARK.finditer(text + "\n"))
    if not found:
        return None
    last = found[-1]
    rest = (text + "\n")[: last.start()] + (text + "\n")[last.end() :]
    return Mark(last[1], last[2], digest_of(rest) == last[2])


def digest_of(body: str) -> str:
    return hashlib.sha256(_plain(body).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _plain(text: str) -> str:
    return text.removeprefix("\ufeff").replace("\r\n", "\n").rstrip() + "\n"
