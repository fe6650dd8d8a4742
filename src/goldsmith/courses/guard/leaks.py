"""Leaks: code of a solution that is visible in what students get.

A solution's *secret* parts are those that students have to write: stubs in the starter, stubs at the time the gold was
made, and parts that only the solution has. Code that starter and solution share is not secret, whether in a provided
part or in a stub with most of its lines given. A piece of public code is a finding when it has most of those grams of a
secret part that the starter does not have.
"""

from __future__ import annotations

import fnmatch
import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

import msgspec

from goldsmith.courses.guard.code_fragments import Piece, pieces_in
from goldsmith.courses.guard.extract_code import decoded, json_texts, windows
from goldsmith.courses.guard.secrets import find_secrets
from goldsmith.source_code.parts import written_by_students

MIN_GRAMS, FEW_GRAMS, MANY_GRAMS = 14, 25, 40
"""Bounds on the number of grams that only a secret part has: below `MIN_GRAMS`, only the same code under the same name
is a finding; below `FEW_GRAMS`, the name or the file must be the same; from `MANY_GRAMS` on, scattered pieces are added
up."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """Something that students must not see, and where."""

    kind: str
    """`solution`, `marker`, `gold`, `private`, `secret`, `unreadable` or `injected`."""
    file: str
    """The file."""
    first: int = 0
    """The first line, 0 where it is about the whole file."""
    last: int = 0
    """The last line."""
    part: str = ""
    """The solution's part that it shows."""
    similarity: float = 1.0
    """The share of that part's own code."""
    why: str = ""
    """What was found, in words."""
    commit: str = ""
    """The commit since which it is in the history; empty where it is in the tree."""


@dataclass(frozen=True)
class Secret:
    """One part of a solution that students have to write; `own` are its grams that the starter does not show."""

    part: str
    piece: Piece
    own: frozenset[str]


Starter = tuple[str, bytes]
"""One of the starter's files, by name and content."""


@dataclass(frozen=True)
class Provided:
    """The pieces, by name and grams, that an assignment gives in a file of its starter; `solution` is the folder of its
    own solution."""

    solution: str
    pieces: frozenset[tuple[str, frozenset[str]]]

    def covers(self, piece: Piece, secret: Secret) -> bool:
        """Say whether a piece is given to students here, though another assignment's students write it."""
        other = not PurePosixPath(secret.piece.file).is_relative_to(self.solution)
        return other and (piece.name, piece.grams) in self.pieces


@dataclass(frozen=True)
class Guarded:
    """What must not be public: secret parts; private files, as kind and name, by the hash of their bytes; private
    folders.

    `handed_in` are folders of submissions, which are not looked at; `provided` is what starters give, by file. `stems`
    are the names of modules that have a solution; `blind` says of which assignments nothing is known.
    """

    secrets: Sequence[Secret]
    copies: Mapping[str, tuple[str, str]]
    private: Sequence[str]
    handed_in: Sequence[str]
    provided: Mapping[str, Provided]
    stems: frozenset[str]
    blind: Sequence[str]
    threshold: float
    allowed: Mapping[str, str]


def secrets_of(
    solution: str, content: bytes, starters: Sequence[Starter], written: Iterable[str], left: Collection[str] = ()
) -> list[Secret]:
    """Return the secret parts of one solution file: everything that no starter shows.

    `starters` are the starter's file as it is and as it was committed: one of them may contain a leak. `written` are
    names known from elsewhere to be for students to write, `left` those that the solution leaves to students, too.
    """
    stem = PurePosixPath(solution).stem.removesuffix("_solution")
    unfinished = [written_by_students(starter) for _, starter in starters]
    stubs = set(written).union(*unfinished)
    theirs = [{piece.name: piece for piece in pieces_in(*starter)} for starter in starters]
    pieces = pieces_in(solution, content)
    mine = {piece.name: piece.grams for piece in pieces}
    provided = [piece for standing in theirs for name, piece in standing.items() if name not in stubs]
    shown = frozenset(gram for piece in provided for gram in piece.grams)
    shared = frozenset(gram for piece in provided for gram in piece.grams & mine.get(piece.name, frozenset()))
    found = []
    for piece in pieces:
        if piece.name in left:
            continue
        standing = [
            (all_[piece.name], names) for all_, names in zip(theirs, unfinished, strict=True) if piece.name in all_
        ]
        if piece.name not in stubs and any(piece.grams <= item.grams | shown for item, _ in standing):
            continue
        seen = frozenset(gram for item, names in standing if _is_stub(item, piece, names) for gram in item.grams)
        seen |= shared if piece.name in stubs and standing else shown
        own = piece.grams - seen
        if own:
            found.append(Secret(f"{stem}.{piece.name}" if piece.name else stem, piece, own))
    return found


def _is_stub(standing: Piece, piece: Piece, unfinished: Collection[str]) -> bool:
    """Say whether the starter's piece is still a stub; the code of a leaked one must not count as shown."""
    return standing.name in unfinished and not piece.grams <= standing.grams


def leaks_in(file: str, content: bytes, guarded: Guarded) -> Iterator[Finding]:
    """Yield everything in one file that students must not see."""
    if private_folder(file, guarded.private) is not None:
        yield Finding(kind="private", file=file, why="it is in a folder that is not for students")
        return
    try:
        found = [*_by_name(file, content, guarded), *_in_text(file, content), *_in_code(file, content, guarded)]
    except Exception as error:  # an error in one file must not hide leaks in others
        yield Finding(kind="unreadable", file=file, why=f"it could not be scanned ({type(error).__name__})")
        return
    for finding in found:
        if not _is_allowed(finding, guarded.allowed):
            yield finding


def private_folder(file: str, folders: Iterable[str]) -> str | None:
    """Return the private folder that `file` is in, even if it was copied to another place."""
    return next((folder for folder in folders if f"/{folder}/" in f"/{file}"), None)


def _is_allowed(finding: Finding, allowed: Mapping[str, str]) -> bool:
    """Say whether the course allows a finding; a pattern with a file's name alone covers only code in it."""
    names = [f"{finding.file}:{finding.part}", f"{finding.file}:{finding.kind}"]
    names += [finding.file] if finding.kind == "solution" else []
    return any(fnmatch.fnmatch(name, pattern) for name in names for pattern in allowed)


def _by_name(file: str, content: bytes, guarded: Guarded) -> Iterator[Finding]:
    path = PurePosixPath(file)
    if path.stem.endswith("_solution") and path.stem.removesuffix("_solution") in guarded.stems:
        yield Finding(kind="private", file=file, why="it is named like a solution")
    if path.suffix == ".pyc" and path.name.partition(".")[0].removesuffix("_solution") in guarded.stems:
        yield Finding(kind="private", file=file, why="it may be compiled from a solution")
    copied = guarded.copies.get(hashlib.sha256(content).hexdigest())
    if copied is not None:
        yield Finding(kind=copied[0], file=file, why=f"it is {copied[1]}, byte for byte")
    elif re.fullmatch(r"gold_(output|checkpoint)\.(pt|npz)|.+\.(trace|reference)\.safetensors", path.name):
        yield Finding(kind="gold", file=file, why="it is named like gold")


_MARKER = re.compile(
    r"(?:^\s*(?:#|//|<!--|%|\"\"\")[#\s]*|#\s*)((?:BEGIN|START|END) SOLUTION\b|SOLUTION:?\s*$|INSTRUCTORS? ONLY"
    r"|ANSWER KEY|STAFF ONLY|DO NOT (?:DISTRIBUTE|RELEASE) TO STUDENTS)",
    flags=re.M,
)
_HEADING = re.compile(r"\s*#+\s*SOLUTION:?\s*")


def _in_text(file: str, content: bytes) -> Iterator[Finding]:
    text = decoded(content)
    if text is None:
        return
    suffix = PurePosixPath(file).suffix
    for source, first in json_texts(text) if suffix == ".ipynb" else windows(text):
        for match in _MARKER.finditer(source):
            line = source.count("\n", 0, match.start(1))
            if suffix == ".md" and _HEADING.fullmatch(source.splitlines()[line]):
                continue  # a heading in a report that students fill in
            yield Finding(kind="marker", file=file, first=first + line, last=first + line, why=f"it says {match[1]!r}")
        for line, what in find_secrets(file, source):
            at = first + line - 1
            yield Finding(kind="secret", file=file, first=at, last=at, why=f"it looks like {what}")


def _in_code(file: str, content: bytes, guarded: Guarded) -> Iterator[Finding]:
    """Yield for each secret part the piece that has most of it, or the file as a whole where it was cut up."""
    pieces = pieces_in(file, content)
    if not pieces:
        return
    found: dict[Piece, Finding] = {}
    given = guarded.provided.get(file)
    for secret in guarded.secrets:
        candidates = [piece for piece in pieces if given is None or not given.covers(piece, secret)]
        if not candidates:
            continue
        best = max(candidates, key=lambda piece: share_of(secret, piece.grams))
        share = share_of(secret, best.grams)
        if len(secret.own) < MIN_GRAMS:
            if not any(_is_same(secret, piece) for piece in candidates):
                continue
            best, share = next(piece for piece in candidates if _is_same(secret, piece)), 1.0
        elif len(secret.own) < FEW_GRAMS and not _is_related(secret, best):
            continue
        elif share < guarded.threshold:
            everything = frozenset(gram for piece in candidates for gram in piece.grams)
            share = share_of(secret, everything) if len(secret.own) >= MANY_GRAMS else 0.0
            if share < _SCATTERED_SHARE:
                continue
        part = Finding(
            kind="solution",
            file=file,
            first=best.first,
            last=best.last,
            part=secret.part,
            similarity=round(share, 2),
            why=f"{share:.0%} of what students have to write in {secret.part} ({secret.piece.file}) is there",
        )
        if best not in found or found[best].similarity < part.similarity:
            found[best] = part
    yield from found.values()


_SCATTERED_SHARE = 0.85  # share of a part, in pieces all over a file, that is a finding
_COMMON_NAMES = ("forward", "__call__", "__init__", "step", "fit", "predict", "")


def share_of(secret: Secret, grams: frozenset[str]) -> float:
    return len(secret.own & grams) / len(secret.own) if secret.own else 0.0


def _is_related(secret: Secret, piece: Piece) -> bool:
    """Say whether the names are the same, with the class for common ones, or the file is named like the solution's."""
    mine, theirs = secret.piece.name, piece.name
    last = mine.rpartition(".")[2]
    same_name = mine == theirs or (last == theirs.rpartition(".")[2] and last not in _COMMON_NAMES)
    return same_name or secret.part.partition(".")[0] in PurePosixPath(piece.file).name


def _is_same(secret: Secret, piece: Piece) -> bool:
    """Say whether a small part is exactly the same code in the same place, and too long for a coincidence."""
    return bool(secret.own and piece.name and piece.size > 3 and piece.grams == secret.piece.grams) and _is_related(
        secret, piece
    )
