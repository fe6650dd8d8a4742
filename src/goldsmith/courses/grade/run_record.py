"""The record of a run of `grade`: what it was made of, and what it found, before anything is scored.

It lies next to the grades, for staff alone: verdicts have gold's values in them. A class can be scored and written
again from it without running anything, and a later run can say what has changed since.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from goldsmith.courses.grade.collection import LeftOut
from goldsmith.courses.grade.grader import Judged
from goldsmith.courses.grade.hints import StudentsNames
from goldsmith.courses.grade.ingredients import Ingredients
from goldsmith.courses.grade.moves import Moved
from goldsmith.courses.grade.redaction import Redaction
from goldsmith.courses.grade.rubric import Rubric
from goldsmith.courses.grade.submissions import SubmissionRef
from goldsmith.courses.guard.similarity import Matches
from goldsmith.foundation.ignored_names import RUN_RECORD
from goldsmith.foundation.nested import map_tree
from goldsmith.foundation.sealed_files import NotSealed, seal, unseal
from goldsmith.foundation.shares import Share
from goldsmith.foundation.struct_types import prepare_types
from goldsmith.judge.verdicts import Verdict

_KIND, _VERSION = "run record", 1
_MAX_VERDICT_BYTES = 2**26
"""Of a course's assignment, one has some two hundred thousand."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One submission of the class. Names and paths are bytes: those of files need not be text."""

    coded_name: bytes
    digest: str = ""
    """Of the files that were judged; empty where it could not be opened."""
    seen: str = ""
    """Of its files as this machine saw them when it took its share of the class, or where the name is new in it."""
    share: int = 0
    """Which share of the class it is in; 0 where that is not shared out."""
    coded_paths: tuple[bytes, ...] = ()
    """Paths of the machine that judged it, which feedback must not show."""
    verdict: bytes = b""
    """Its verdict, encoded and compressed, so that those of a large class can be held; empty where another share has
    it."""
    seconds: float = 0.0
    """How long it took."""
    sandbox: str = ""
    """How it was sandboxed."""
    alike: dict[str, dict[str, str]] = {}
    """Where it has statements of the solution, by part and the statement's digest."""
    moved: Moved | None = None
    """How its points moved since an earlier run, whose better ones may be kept; the verdict is this run's."""

    def __post_init__(self) -> None:
        """Refuse what no name or path is, also where it is read."""
        for coded in (self.coded_name, *self.coded_paths):
            _text(coded)

    @classmethod
    def waiting(cls, item: SubmissionRef, root: str) -> Entry:
        """Return the entry of what is not judged yet, in the course at `root`."""
        what = () if item.revision or "/" not in item.what else (item.what,)  # a bare name may be part of any word
        return cls(coded_name=as_bytes(item.name), coded_paths=tuple(map(as_bytes, (root, *what))))

    def in_share(self, share: int, seen: str) -> Entry:
        return replace(self, share=share, seen=seen)

    def with_result(self, judged: Judged) -> Entry:
        return replace(
            self,
            digest=judged.digest,
            verdict=_encoded(replace(judged.verdict, name="")),
            seconds=judged.verdict.seconds,
            sandbox=judged.sandbox,
            alike={part: item.places for part, item in judged.matches.items()},
        )

    @property
    def name(self) -> str:
        """Return what people call it."""
        return _text(self.coded_name)

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(map(_text, self.coded_paths))

    @property
    def is_judged(self) -> bool:
        return bool(self.verdict)


class RunRecord(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """What a run was made of and what it found, of one `share` of the class or, without one, of all of it.

    `entries` are all submissions of the class in their order, those of other shares without a verdict. `statements`
    are those of the solution's parts that submissions are compared with. `private_files` and `private_lines` are what
    feedback must not show of the course; `students_names` are what hints may name.
    """

    assignment: str
    ingredients: Ingredients
    rubric: Rubric
    forbidden_costs: float
    private_files: tuple[bytes, ...]
    private_lines: tuple[str, ...]
    entries: tuple[Entry, ...]
    students_names: StudentsNames = StudentsNames()
    statements: dict[str, tuple[str, ...]] = {}
    left_out: tuple[LeftOut, ...] = ()
    as_one: tuple[str, ...] = ()
    share: Share | None = None

    def __post_init__(self) -> None:
        for coded in self.private_files:
            _text(coded)

    @property
    def names(self) -> list[str]:
        return [entry.name for entry in self.entries]

    @property
    def seconds(self) -> dict[str, float]:
        """Return how long each submission took that was judged, by name."""
        return {entry.name: entry.seconds for entry in self.entries if entry.is_judged}

    @cached_property
    def veil(self) -> Redaction:
        """Return what feedback must not show, but for the paths of each machine."""
        return Redaction(files=tuple(map(_text, self.private_files)), lines=self.private_lines)

    @cached_property
    def _statements(self) -> dict[str, frozenset[str]]:
        return {part: frozenset(some) for part, some in self.statements.items()}

    def judged(self, entry: Entry) -> Judged:
        """Return what was found of a submission that has been judged."""
        verdict = _decoded(entry.verdict)
        return Judged(
            verdict=replace(verdict, name=entry.name),
            digest=entry.digest,
            sandbox=entry.sandbox,
            matches={part: Matches(places, self._statements[part]) for part, places in entry.alike.items()},
        )

    def with_results(self, entries: Sequence[Entry], alike: Sequence[Mapping[str, Matches]]) -> RunRecord:
        """Return the record of a run that has come to its end; `alike` is what submissions have of the solution."""
        statements = {part: tuple(sorted(item.statements)) for one in alike for part, item in one.items()}
        return replace(self, entries=tuple(entries), statements=dict(sorted(statements.items())))


def encode(record: RunRecord) -> bytes:
    """Return the record as it is written: msgpack, since JSON has no infinity, which is how far off a value can be."""
    return seal(_KIND, _VERSION, msgspec.msgpack.encode(record))


def read_record(folder: Path) -> RunRecord:
    """Read the record in a folder of grades, and see that all of it can be used. Raise `NotSealed` if it is none, and
    `OSError` if it cannot be read."""
    content = unseal(folder / RUN_RECORD, _KIND, _VERSION)
    try:
        record = msgspec.msgpack.decode(content, type=RunRecord)
        for entry in record.entries:
            if entry.is_judged:
                record.judged(entry)
    except (msgspec.DecodeError, UnicodeDecodeError, KeyError, zlib.error):
        raise NotSealed(f"it is not a {_KIND} of goldsmith's") from None
    return record


def _encoded(verdict: Verdict) -> bytes:
    """Encode a verdict. File names need not be text; what of them is in a verdict is escaped, as feedback does, too."""
    try:
        content = msgspec.msgpack.encode(verdict)
    except UnicodeEncodeError:
        content = msgspec.msgpack.encode(map_tree(_escaped, msgspec.to_builtins(verdict)))
    return zlib.compress(content)


def _decoded(coded: bytes) -> Verdict:
    unpacker = zlib.decompressobj()
    content = unpacker.decompress(coded, _MAX_VERDICT_BYTES)
    if not unpacker.eof:
        raise msgspec.DecodeError("a verdict is cut off, or too large")
    return msgspec.msgpack.decode(content, type=Verdict)


def _escaped(value: Any) -> Any:
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


def as_bytes(text: str) -> bytes:
    """Encode a name or path, which need not be text."""
    return text.encode("utf-8", "surrogatepass")


def _text(coded: bytes) -> str:
    return coded.decode("utf-8", "surrogatepass")


prepare_types(RunRecord)
