"""A file that students get."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PublicFile:
    """A file and its content. `past` is the blob of a file that is only in the revision's history; `unseen` says why
    nobody could look into it."""

    path: str
    content: bytes
    past: str = ""
    unseen: str = ""
