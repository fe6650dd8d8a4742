"""Is any of the solution visible in what students get?

A solution's *secret* parts are those that students have to write: what is a stub in the starter, what was one when gold
was made, and what only the solution has. Code that starter and solution share is no secret. A piece of public code is a
finding when it holds most of a secret part's grams that are not in the starter as well.
"""

from __future__ import annotations

import fnmatch
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

import msgspec

from goldsmith.course import written_by_students
from goldsmith.guard.pieces import Piece, pieces_in
from goldsmith.guard.secrets import find_secrets

FEWEST = 14
"""A part with fewer grams of its own says too little: only the very same code under the same name is a finding."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """`kind`: solution, marker, gold, private, secret, injected. `similarity` is the share of the part's own code."""

    kind: str
    file: str
    first: int = 0
    last: int = 0
    part: str = ""
    similarity: float = 1.0
    why: str = ""
    commit: str = ""


@dataclass(frozen=True)
class Secret:
    """One part of a solution that students have to write, without what the starter shows of it."""

    part: str
    piece: Piece
    own: frozenset[str]


@dataclass(frozen=True)
class Guarded:
    """What must not be seen: secret parts, the bytes of gold by hash, and names of folders that stay private."""

    secrets: Sequence[Secret]
    gold: Mapping[str, str]
    private: Sequence[str]
    threshold: float
    allowed: Mapping[str, str]


def secrets_of(solution: str, content: bytes, starter: bytes | None, written: Iterable[str]) -> list[Secret]:
    """The secret parts of one solution file; `written` are names known from elsewhere to be the students' to write."""
    stem = PurePosixPath(solution).name.removesuffix("_solution.py").removesuffix(".py")
    mine = pieces_in(solution, content)
    theirs = {piece.name: piece for piece in pieces_in("starter.py", starter)} if starter is not None else {}
    stubs = {*written_by_students(starter or b""), *written}
    shared = frozenset(gram for name, piece in theirs.items() if name not in stubs for gram in piece.grams)
    found = []
    for piece in mine:
        standing = theirs.get(piece.name)
        if standing is not None and piece.name not in stubs:
            continue
        seen = shared | (standing.grams if standing is not None and _is_stub(standing, piece) else frozenset())
        found.append(Secret(f"{stem}.{piece.name}" if piece.name else stem, piece, piece.grams - seen))
    return found


def _is_stub(standing: Piece, piece: Piece) -> bool:
    """Whether what stands in the starter is a stub still: of a leaked one nothing is to be subtracted."""
    return len(piece.grams & standing.grams) < 0.6 * len(piece.grams)


def leaks_in(file: str, content: bytes, guarded: Guarded) -> Iterator[Finding]:
    """Everything in one file that students must not see."""
    if any(PurePosixPath(file).is_relative_to(folder) for folder in guarded.private):
        yield Finding(kind="private", file=file, why="it lies in a folder that is not for students")
        return
    for finding in (*_by_name(file, content, guarded), *_in_text(file, content), *_in_code(file, content, guarded)):
        if not _is_allowed(finding, guarded.allowed):
            yield finding


def _is_allowed(finding: Finding, allowed: Mapping[str, str]) -> bool:
    names = (finding.file, f"{finding.file}:{finding.part}", f"{finding.file}:{finding.kind}")
    return any(fnmatch.fnmatch(name, pattern) for name in names for pattern in allowed)


def _by_name(file: str, content: bytes, guarded: Guarded) -> Iterator[Finding]:
    path = PurePosixPath(file)
    if path.stem.endswith("_solution") and path.suffix in (".py", ".ipynb", ".md"):
        yield Finding(kind="private", file=file, why="it is named like a solution")
    name = guarded.gold.get(hashlib.sha256(content).hexdigest())
    if name is not None:
        yield Finding(kind="gold", file=file, why=f"it is {name} of the gold, byte for byte")
    elif re.fullmatch(r"gold_(output|checkpoint)\.(pt|npz)|.+\.(trace|reference)\.safetensors", path.name):
        yield Finding(kind="gold", file=file, why="it is named like gold")


_MARKER = re.compile(
    r"^\s*(?:#|//|<!--|%|\"\"\")*\s*(?:#+\s*)?((?:BEGIN|END) SOLUTION|SOLUTION(?::|\b(?=\s*$))|INSTRUCTORS? ONLY"
    r"|ANSWER KEY|STAFF ONLY|DO NOT (?:DISTRIBUTE|RELEASE)(?: TO STUDENTS)?)",
    flags=re.M,
)


def _in_text(file: str, content: bytes) -> Iterator[Finding]:
    if b"\0" in content[:8000]:
        return
    text = content.decode("utf-8", "replace")
    for match in _MARKER.finditer(text):
        line = text.count("\n", 0, match.start(1)) + 1
        yield Finding(kind="marker", file=file, first=line, last=line, why=f"it says {match[1]!r}")
    for line, what in find_secrets(file, text):
        yield Finding(kind="secret", file=file, first=line, last=line, why=f"it looks like {what}")


def _in_code(file: str, content: bytes, guarded: Guarded) -> Iterator[Finding]:
    """For each secret part the piece that holds most of it, or the file as a whole where it was cut up."""
    pieces = pieces_in(file, content)
    if not pieces:
        return
    everything = frozenset(gram for piece in pieces for gram in piece.grams)
    found: dict[Piece, Finding] = {}
    for secret in guarded.secrets:
        best = max(pieces, key=lambda piece: _share(secret, piece.grams))
        share = _share(secret, best.grams)
        if len(secret.own) < FEWEST:
            if not any(_is_same(secret, piece) for piece in pieces):
                continue
            best, share = next(piece for piece in pieces if _is_same(secret, piece)), 1.0
        elif share < guarded.threshold:
            share = _share(secret, everything)
            if share < _CUT_UP:
                continue
        part = Finding(
            kind="solution",
            file=file,
            first=best.first,
            last=best.last,
            part=secret.part,
            similarity=round(share, 2),
            why=f"{share:.0%} of what students have to write in {secret.part} ({secret.piece.file}) stands there",
        )
        if best not in found or found[best].similarity < part.similarity:
            found[best] = part
    yield from found.values()


_CUT_UP = 0.85


def _share(secret: Secret, grams: frozenset[str]) -> float:
    return len(secret.own & grams) / len(secret.own) if secret.own else 0.0


def _is_same(secret: Secret, piece: Piece) -> bool:
    """Small parts: the very same code under the same name, and enough of it to be no accident."""
    same_name = piece.name.rpartition(".")[2] == secret.piece.name.rpartition(".")[2]
    return bool(same_name and piece.name and secret.own and piece.size > 3 and piece.grams == secret.piece.grams)
