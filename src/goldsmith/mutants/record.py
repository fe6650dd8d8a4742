"""The record of a measurement: what it was made of and what became of each mutant. What people are told follows from it
alone, so that shares that several machines have tried can be merged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from goldsmith._version import __version__
from goldsmith.errors.shares import PartUnreadable
from goldsmith.foundation.ignored_names import RIGOR_RECORD
from goldsmith.foundation.sealed_files import NotSealed, seal, unseal
from goldsmith.foundation.shares import Part, Share, read_part, require_whole
from goldsmith.foundation.struct_types import prepare_types
from goldsmith.mutants.cache import METHOD
from goldsmith.mutants.results import NOT_TOLD_APART, SURVIVED, Finding, Rigor

_KIND, _VERSION = "rigor record", 1
VERSION = f"{__version__}, method {METHOD}"


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """A mutant, or a right variant of the solution, with the digest of its code, and what became of it."""

    name: str
    digest: str
    is_variant: bool = False
    share: int = 0
    """Which share it is in; 0 where they are not shared out."""
    finding: Finding | None = None
    """Null where another share has it."""


class RigorRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One assignment's measurement, or a `share` of it.

    `base` and `cases` are the keys of what all findings and each case's depend on, `tests` that of the internal tests;
    `options` say which mutants were tried, and how. `made` are the names of all mutants that there are, `survivors`
    those that the course has explained; `unreadable` files were left alone.
    """

    assignment: str
    goldsmith: str
    base: str
    cases: dict[str, str]
    tests: str
    options: dict[str, str]
    made: tuple[str, ...]
    survivors: dict[str, str]
    unreadable: tuple[str, ...]
    customary: str
    pieces: tuple[Piece, ...]
    kept: int = 0
    seconds: float = 0.0
    share: Share | None = None

    @property
    def times(self) -> dict[str, float]:
        """Return how long each mutant took that was tried, by the digest of its code."""
        return {item.digest: item.finding.seconds for item in self.pieces if item.finding is not None}

    def conclusion(self) -> Rigor:
        """Return what people are told."""
        done = {item.name: item for item in self.pieces if item.finding is not None}
        findings = {name: item.finding for name, item in done.items() if item.finding is not None}
        chosen = [item for name, item in findings.items() if not done[name].is_variant]
        return Rigor(
            assignment=self.assignment,
            findings=tuple(_explain(item, self.survivors) for item in chosen),
            variants=tuple(item for name, item in findings.items() if done[name].is_variant),
            made=len(self.made),
            kept=self.kept,
            customary=self.customary,
            seconds=self.seconds,
            notes=(
                *(f"{file} cannot be read as Python in UTF-8, and was left alone" for file in self.unreadable),
                *_obsolete(self.survivors, self.made, findings),
                *_without_tests(self.options.get("baselines") == "yes", list(findings.values())),
            ),
        )


def encode(records: Sequence[RigorRecord]) -> bytes:
    """Return the records of several assignments as they are written."""
    return seal(_KIND, _VERSION, msgspec.msgpack.encode(list(records)))


def read_records(folder: Path) -> dict[str, RigorRecord]:
    """Read what a measurement has left in a folder, by assignment. Raise `NotSealed` if it is none, and `OSError` if it
    cannot be read."""
    content = unseal(folder / RIGOR_RECORD, _KIND, _VERSION)
    try:
        found = msgspec.msgpack.decode(content, type=list[RigorRecord])
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise NotSealed(f"it is not a {_KIND} of goldsmith's") from None
    return {item.assignment: item for item in found}


def merged(folders: Sequence[Path]) -> list[RigorRecord]:
    """Return the records that one machine would have written. Raise unless the folders hold all shares of one
    measurement, each once."""
    read = [(str(folder), read_part(folder, RIGOR_RECORD, read_records)) for folder in folders]
    names = list(dict.fromkeys(name for _, records in read for name in records))
    for place, records in read:
        lacking = [name for name in names if name not in records]
        if lacking:
            raise PartUnreadable(place, f"it has no mutants of {', '.join(lacking)}, which others have")
    return [_merged([(place, records[name]) for place, records in read]) for name in names]


def _merged(found: Sequence[tuple[str, RigorRecord]]) -> RigorRecord:
    by_place = dict(found)
    in_order = [by_place[part.place] for part in require_whole([_part(*item) for item in found])]
    first = in_order[0]
    if first.goldsmith != VERSION:
        made = f"it was made by goldsmith {first.goldsmith}, and this is {VERSION}"
        raise PartUnreadable(found[0][0], f"{made}, which may say something else")
    pieces = [replace(in_order[item.share - 1].pieces[place], share=0) for place, item in enumerate(first.pieces)]
    return replace(
        first,
        pieces=tuple(pieces),
        kept=sum(item.kept for item in in_order),
        seconds=max(item.seconds for item in in_order),
        share=None,
    )


def _part(place: str, record: RigorRecord) -> Part:
    if record.share is None:
        raise PartUnreadable(place, "it holds a whole measurement, and no share of one")
    pieces = record.pieces
    facts: dict[str, Any] = {
        "another goldsmith": record.goldsmith,
        "another number of shares": record.share.of,
        **{f"another value of {name}": value for name, value in record.options.items()},
        "another solution, starter, setting or package": record.base,
        "another recipe or gold": record.cases,
        "other internal tests": record.tests,
        "other mutants": [record.made, [(item.name, item.digest, item.is_variant) for item in pieces]],
        "other explanations of survivors": record.survivors,
        "other times of an earlier run, by which shares are made even": [item.share for item in pieces],
    }
    shares, done = [item.share for item in pieces], [item.finding is not None for item in pieces]
    return Part(place, record.share, facts, shares, done)


# --- what follows from findings -------------------------------------------------------------------------------------


def _without_tests(wanted: bool, findings: Sequence[Finding]) -> list[str]:
    if not wanted or any(item.beside.tests is not None for item in findings):
        return []
    return ["the internal tests are not compared: there are none, or the solution itself does not pass them"]


def _explain(found: Finding, survivors: Mapping[str, str]) -> Finding:
    """Add the course's explanation to a survivor or a mutant that was not told apart; never to any other."""
    if found.outcome not in (SURVIVED, NOT_TOLD_APART) or found.name not in survivors:
        return found
    return replace(found, explained=survivors[found.name])


def _obsolete(survivors: Mapping[str, str], made: Sequence[str], findings: Mapping[str, Finding]) -> Iterator[str]:
    """Yield a note for each explanation that no longer explains anything."""
    for name in survivors:
        found = findings.get(name)
        if found is not None and found.outcome not in (SURVIVED, NOT_TOLD_APART):
            yield f"{name} is explained in the configuration as a survivor, but it is {found.outcome}; remove that"
        elif name not in made:
            yield f"{name} is explained in the configuration as a survivor, but there is no such mutant; remove that"


prepare_types(RigorRecord, list[RigorRecord])
