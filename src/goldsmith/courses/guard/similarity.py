"""How many statements of a solution's parts a submission has: a remark for staff that decides nothing.

Right answers are alike. What counts is code that would run, by its statements: not those that the starter has, nor
short ones, nor those that others in the class have who wrote the rest differently.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from goldsmith.courses.guard.code_fragments import Piece, pieces_in
from goldsmith.courses.guard.scan import belongs, guarded_by
from goldsmith.courses.layout.journal import journals
from goldsmith.courses.layout.layout import Assignment
from goldsmith.courses.layout.starter_modules import starter_modules
from goldsmith.errors.base import GoldsmithError

_LARGEST, _MAX_CPU_S = 256 * 2**10, 5.0
"""Bytes that are read of a file, and seconds of processor time after which no other file is read: a remark is not worth
more. A course's assignment has some ten thousand bytes, and takes a tenth of a second."""
_MIN_WORDS = 8
"""Words of the syntax tree below which a statement is not counted: everybody writes `x = self.norm(x)`, which has 6."""
_MIN_STATEMENTS, _MIN_SHARE = 5, 0.9
"""How many statements of a part are told of, and what share of those that count."""
_OTHERWISE_DIFFERENT, _FEW = 0.6, 2
"""A statement that so many others have does not count, if they have a smaller share than this of the part."""
_MANY, _LARGE_SHARE = 3, 0.25
"""Nor does one that so many others have, and so many of all."""


class Similarity(msgspec.Struct, frozen=True):
    """Statements of a part that are as in the solution."""

    statements: int
    """How many there are, of those that count."""
    of: int
    """How many of the solution's count: not what is short, in the starter, or shared by others in the class."""
    first: str
    """Where the first of them is, such as `ops.py:12`."""
    last: str
    """Where the last of them is."""

    @property
    def place(self) -> str:
        """Say where it is, for people."""
        file, _, line = self.first.rpartition(":")
        other, _, end = self.last.rpartition(":")
        if file != other:
            return f"{self.first} to {self.last}"
        return f"{file}, line {line}" if line == end else f"{file}, lines {line} to {end}"


@dataclass(frozen=True)
class SolutionPart:
    """A part that students write, by the digests of its statements that count."""

    part: str
    statements: frozenset[str]


class Matches(msgspec.Struct, frozen=True):
    """Where a submission has statements of one part: file and line, by digest; and which there are in the solution."""

    places: dict[str, str]
    statements: frozenset[str]

    @property
    def share(self) -> float:
        return len(self.places) / len(self.statements)


def parts_to_write(assignment: Assignment) -> list[SolutionPart]:
    """Return the parts that students write, without what any file of the starter shows, if long enough to be telling.

    Return none where the course has no solution at hand.
    """
    try:
        secrets = guarded_by(assignment.course, everything_public=False).secrets
    except GoldsmithError:
        return []
    shown = frozenset(_shown(assignment))
    own = {item.part: item.piece for item in secrets if belongs(item.piece.file, assignment)}
    found = [SolutionPart(part, frozenset(lines_of(piece)) - shown) for part, piece in own.items()]
    return [item for item in found if len(item.statements) >= _MIN_STATEMENTS]


def _shown(assignment: Assignment) -> Iterator[str]:
    """Yield the statements of all of the starter's code, none while the solution is injected there."""
    if any(journal.assignment == assignment.name for journal in journals(assignment.course)):
        return
    for item in starter_modules(assignment):
        for piece in pieces_in(item.target.name, item.read()) if item.source.is_file() else ():
            yield from lines_of(piece)


def lines_of(piece: Piece) -> dict[str, int]:
    """Return the line of each statement that is long enough to be telling, by its digest."""
    found: dict[str, int] = {}
    for item in piece.statements:
        if len(item.words) >= _MIN_WORDS:
            found.setdefault(hashlib.sha256(" ".join(item.words).encode()).hexdigest()[:16], item.line)
    return found


def matches(
    parts: Sequence[SolutionPart], files: Mapping[str, bytes], shown: Callable[[str], str] = str
) -> dict[str, Matches]:
    """Return by part the statements that one piece of `files` has of it, the most that any has; `shown` says where they
    are as people know it.

    After `_MAX_CPU_S` no further file is read; a file that cannot be parsed is skipped.
    """
    found: dict[str, Matches] = {}
    began = time.thread_time()
    for name, content in files.items() if parts else ():
        if time.thread_time() - began > _MAX_CPU_S:
            break
        with contextlib.suppress(RecursionError, MemoryError, ValueError):
            for piece in pieces_in(name, content[:_LARGEST]):
                lines = lines_of(piece)
                for part in parts:
                    places = {digest: f"{name}:{lines[digest]}" for digest in lines if digest in part.statements}
                    if places and (part.part not in found or len(places) > len(found[part.part].places)):
                        found[part.part] = Matches(places, part.statements)
    return {part: _placed(item, shown) if item.share >= _MIN_SHARE else item for part, item in found.items()}


def _placed(item: Matches, shown: Callable[[str], str]) -> Matches:
    return Matches({digest: shown(place) for digest, place in item.places.items()}, item.statements)


def similarities(everybody: Sequence[Mapping[str, Matches]]) -> list[dict[str, Similarity]]:
    """Return for each submission of a class the parts that are as in the solution, by what others do not have."""
    found: list[dict[str, Similarity]] = [{} for _ in everybody]
    for part in dict.fromkeys(name for item in everybody for name in item):
        theirs = [item.get(part) for item in everybody]
        holders = Counter(digest for item in theirs if item for digest in item.places)
        different = Counter(
            digest for item in theirs if item and item.share < _OTHERWISE_DIFFERENT for digest in item.places
        )
        for item, kept in zip(theirs, found, strict=True):
            if item is None or item.share < _MIN_SHARE:
                continue
            many = max(_MANY, _LARGE_SHARE * (len(everybody) - 1))
            common = {digest for digest in item.statements if different[digest] >= _FEW or holders[digest] - 1 >= many}
            similar = _similarity(item, common)
            if similar is not None:
                kept[part] = similar
    return found


def _similarity(item: Matches, common: Collection[str]) -> Similarity | None:
    places = [place for digest, place in item.places.items() if digest not in common]
    of = len(item.statements - set(common))
    if len(places) < _MIN_STATEMENTS or len(places) < _MIN_SHARE * of:
        return None
    return Similarity(len(places), of, places[0], places[-1])
