"""Rigor as JSON: every mutant, and the numbers of each assignment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

import msgspec

from goldsmith.foundation.shares import Share
from goldsmith.mutants.mutants import Mutant
from goldsmith.mutants.results import (
    COULD_NOT_RUN,
    CRASHED,
    EQUIVALENT,
    KILLED,
    NOT_TOLD_APART,
    SURVIVED,
    Finding,
    Rigor,
)


class MutantResult(Finding, frozen=True, kw_only=True):
    """A mutant of the solution, and what became of it."""

    json_first: ClassVar[tuple[str, ...]] = ("assignment",)

    assignment: str
    """The assignment."""


class ListedMutant(msgspec.Struct, frozen=True, kw_only=True):
    """A mutant that was only listed."""

    assignment: str
    """The assignment."""
    name: str
    """`<part>/<operator>`, as `--only` takes it."""
    outcome: Literal["untried"] = "untried"
    """Always `untried`."""
    operator: str
    """The operator that made it."""
    part: str
    """The function or method that it is in."""
    file: str
    """The file."""
    line: int
    """The line."""
    before: str
    """The line as the solution has it."""
    after: str
    """The line as the mutant has it."""


class RigorScore(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """How sharp the gold of one assignment is."""

    name: str
    """The assignment."""
    outcome: Literal["measured"] = "measured"
    """Always `measured`."""
    score: float | None
    """Killed over killed, survived and not told apart; null where there is nothing of that."""
    made: int
    """How many mutants there are, of which `--only` and `--max` may have chosen some."""
    killed: int
    """How many were killed."""
    crashed: int
    """How many crashed, which counts as killed."""
    survived: int
    """How many survived and are not explained."""
    not_told_apart: int
    """How many no run told from the solution, and are not explained. But for other formulas, they count."""
    equivalent: int
    """How many were shown to be right: the same program, or what the recipe accepts."""
    could_not_run: int
    """How many could not be tried."""
    explained: int
    """How many survivors the course has explained."""
    variants: int
    """How many right variants of the solution were tried: the same, written in another way."""
    accepted: int
    """How many of these the gold accepts; the others are false failures."""
    refused: tuple[str, ...]
    """Which it does not accept."""
    seconds: float
    """How long it took."""
    notes: tuple[str, ...]
    """What is worth knowing."""


class RigorSummary(msgspec.Struct, frozen=True, kw_only=True):
    """What `rigor` says besides its mutants."""

    assignments: tuple[RigorScore, ...]
    """How sharp the gold of each is."""
    share: str | None
    """The share of the mutants that these are, such as `3/16`; null where they are all."""


def mutant_results(measured: Sequence[Rigor]) -> list[MutantResult]:
    """List the mutants of all assignments, each with its assignment."""
    return [
        MutantResult(assignment=rigor.assignment, **msgspec.structs.asdict(item))
        for rigor in measured
        for item in rigor.findings
    ]


def summarise_rigor(measured: Sequence[Rigor], share: Share | None = None) -> RigorSummary:
    """Score each assignment, and count what became of its mutants."""
    return RigorSummary(assignments=tuple(map(_score, measured)), share=str(share) if share else None)


def _score(rigor: Rigor) -> RigorScore:
    counts = rigor.counts
    return RigorScore(
        name=rigor.assignment,
        score=rigor.score,
        made=rigor.made,
        killed=counts[KILLED],
        crashed=counts[CRASHED],
        survived=counts[SURVIVED],
        not_told_apart=counts[NOT_TOLD_APART],
        equivalent=counts[EQUIVALENT],
        could_not_run=counts[COULD_NOT_RUN],
        explained=len(rigor.explained),
        variants=len(rigor.judged_variants),
        accepted=len(rigor.judged_variants) - len(rigor.refused),
        refused=tuple(item.name for item in rigor.refused),
        seconds=rigor.seconds,
        notes=rigor.notes,
    )


def listed_mutants(mutants: Mapping[str, Sequence[Mutant]]) -> list[ListedMutant]:
    """List mutants by assignment, before any was tried."""
    return [
        ListedMutant(
            assignment=assignment,
            name=item.name,
            operator=item.operator,
            part=item.part,
            file=item.place[0],
            line=item.place[1],
            before=item.before,
            after=item.after,
        )
        for assignment, some in mutants.items()
        for item in some
    ]
