"""Inject or reset an assignment, and say what that did to the files of its course."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from goldsmith.courses.injection.edits import Kept, discard_edits, keep_edits, save_edits
from goldsmith.courses.injection.inject import edited_since, inject, reset
from goldsmith.courses.layout.journal import Change, read_journal
from goldsmith.courses.layout.layout import Assignment, Course
from goldsmith.courses.layout.solutions import placements


class InjectedFile(msgspec.Struct, frozen=True, kw_only=True, rename={"source": "from"}):
    """A file that the solution put in place."""

    path: str
    """Its path in the course."""
    source: str | None
    """The solution's file; null where the solution takes a file away."""
    was: Literal["there", "missing"]
    """Whether the starter has such a file."""


class InjectionResult(msgspec.Struct, frozen=True, kw_only=True):
    """A solution in place."""

    name: str
    """The assignment."""
    outcome: Literal["injected"] = "injected"
    """Always `injected`."""
    already: bool
    """Whether it was in place before."""
    since: str
    """Since when."""
    files: tuple[InjectedFile, ...]
    """The files in question."""
    uncommitted: tuple[str, ...]
    """Files with changes that git does not have, and that are kept safe."""
    edited: tuple[str, ...]
    """Files that were edited since."""


class ResetResult(msgspec.Struct, frozen=True, kw_only=True):
    """A solution that was in place, or was not."""

    name: str
    """The assignment."""
    outcome: Literal["reset", "unchanged"]
    """`unchanged` where nothing was in place."""
    files: tuple[str, ...] = ()
    """The files that are as before."""
    kept: tuple[str, ...] = ()
    """Where edits went."""


@dataclass(frozen=True)
class EditChoice:
    """What to do with edits to an injected solution; with none of these, they stop a reset."""

    keep: bool = False
    save: Path | None = None
    discard: bool = False


def inject_assignment(assignment: Assignment) -> InjectionResult:
    """Put the solution in place; where it already was, list the files edited since."""
    done = inject(assignment, placements(assignment))
    journal = done.journal
    return InjectionResult(
        name=assignment.name,
        already=done.already,
        since=journal.since,
        files=tuple(
            InjectedFile(path=item.path, source=item.source, was="there" if item.before else "missing")
            for item in journal.changes
        ),
        uncommitted=done.uncommitted,
        edited=tuple(item.path for item in edited_since(assignment.course, journal)) if done.already else (),
    )


def edits_of(course: Course, name: str) -> list[Change]:
    """Return the files of an injected solution that were edited; none where nothing is injected."""
    journal = read_journal(course, name)
    return edited_since(course, journal) if journal is not None else []


def reset_assignment(course: Course, name: str, choice: EditChoice) -> ResetResult:
    """Remove the solution, after its edits were kept, saved or discarded as `choice` says."""
    journal = read_journal(course, name)
    if journal is None:
        return ResetResult(name=name, outcome="unchanged")
    edited = edited_since(course, journal)
    kept = Kept([], {})
    if choice.keep:
        kept = keep_edits(course, edited)
    elif choice.save is not None:
        kept = save_edits(course, edited, choice.save)
    elif choice.discard:
        kept = discard_edits(course, edited)
    reset(course, name, release=kept.released)
    return ResetResult(
        name=name,
        outcome="reset",
        files=tuple(change.path for change in journal.changes),
        kept=tuple(str(course.relative(path)) for path in kept.paths),
    )
