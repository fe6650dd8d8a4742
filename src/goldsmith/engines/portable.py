"""Work that can be done on a machine that has none of its files: what travels, and what comes back.

What goes to a worker is sent as Dask sends things. What comes from one is data, whoever sent it: an `Answer`, encoded,
with content that the work itself decodes and checks.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

import msgspec

from goldsmith.workspace.snapshot import file_hash

PIECE_BYTES = 4 * 2**20
"""Bytes of files in one message: the scheduler, through which they go, keeps that much for each worker, and warns of
more than 10 MB."""
Piece = tuple[str, int, bytes]
"""Bytes of a file, by its hash and the offset at which they begin: large files travel in several."""
Result_co = TypeVar("Result_co", covariant=True)

Trouble = Literal["", "forgotten", "full", "machine", "failed"]
"""Why there is no answer: the worker has nothing of this run (any more); its disk is full; something else is wrong with
its machine; or goldsmith itself failed on this item."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker says to one request: `content`, or its `trouble` and a sentence on that."""

    content: bytes = b""
    trouble: Trouble = ""
    why: str = ""


class Survey(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker's process is: a token of its own, and what matters of its environment, by name."""

    process: str
    facts: dict[str, str]


class Place(Protocol):
    """Work that was opened on a worker, in the folder that the files are in."""

    def perform(self, order: Any, folder: Path) -> bytes:
        """Do what an item's order says, with a private folder for its files."""

    def stop(self) -> None:
        """End what is running, which then raises."""

    def close(self) -> None: ...


@dataclass(frozen=True)
class Parcel:
    """What each worker gets once: `files` by their paths in its folder, with where they are here. `open` is called
    there with that folder. `versions` names packages of which both sides must have the same."""

    run: str
    files: Mapping[str, Path]
    versions: tuple[str, ...]
    open: Callable[[Path], Place]

    @functools.cached_property
    def layout(self) -> dict[str, tuple[str, int]]:
        """Return, by path, the hash and the mode of each file."""
        return {
            inside: (file_hash(path), 0o700 if path.stat().st_mode & 0o100 else 0o600)
            for inside, path in self.files.items()
        }

    def pieces(self) -> Iterator[list[Piece]]:
        """Yield the files in messages, each content once."""
        batch: list[Piece] = []
        size = 0
        by_content = {self.layout[inside][0]: path for inside, path in self.files.items()}
        for name, path in by_content.items():
            for offset, content in _chunks(path):
                if batch and size + len(content) > PIECE_BYTES:
                    yield batch
                    batch, size = [], 0
                batch.append((name, offset, content))
                size += len(content)
        yield batch


def _chunks(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield a file in chunks; of an empty one, an empty chunk."""
    with path.open("rb") as file:
        yield 0, file.read(PIECE_BYTES)
        while content := file.read(PIECE_BYTES):
            yield file.tell() - len(content), content


class Sending(Protocol[Result_co]):
    """One item on its way: its `order` for a `Place`, about how many bytes that is, and what becomes of the answer."""

    order: Any
    size: int

    def received(self, content: bytes) -> Result_co:
        """Check and keep an answer; raise `msgspec.DecodeError` if it is none."""

    def failed(self, why: str) -> Result_co:
        """Return the result where goldsmith itself failed on the item."""


@runtime_checkable
class Portable(Protocol):
    """Work that can be sent to workers."""

    def parcel(self) -> Parcel: ...

    def sending(self, item: Any) -> AbstractContextManager[Any]:
        """Yield an item's `Sending`, or a `Known` result. The context lasts until the answer is here."""


@dataclass(frozen=True)
class Known:
    """A result that nobody has to be asked for."""

    result: Any


def encoded(answer: Answer | Survey) -> bytes:
    return msgspec.msgpack.encode(answer)
