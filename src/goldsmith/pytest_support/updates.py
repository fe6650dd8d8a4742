"""The end of a run with `--gold-update`: what was staged is put in its place, all of it or nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from goldsmith.errors.base import GoldsmithError
from goldsmith.foundation.wording import count_of
from goldsmith.pytest_support.kept_gold import publish_kept
from goldsmith.pytest_support.kept_report import RECORDED, UNCHANGED, UPDATED, Note
from goldsmith.pytest_support.obtained import forget_obtained

FEW = 10
"""Checks that may change at once whatever their share: so many lists of changes are read."""
SHARE = 0.5
"""Where more than this share of many checks changes, the cause is one for all of them: a dtype, a seed, a version. Then
somebody has to say what it was."""


def objections(notes: Sequence[Note]) -> list[str]:
    """Say why an update is not to be accepted without a reason."""
    moved = [item for item in notes if item.outcome == UPDATED]
    kept = len(moved) + sum(item.outcome == UNCHANGED for item in notes)
    found = [f"{item.shown}: {line}" for item in moved for line in item.lost]
    if len(moved) > FEW and len(moved) > SHARE * kept:
        found.insert(0, f"{len(moved)} of {count_of(kept, 'check')} change at once")
    return found


def publish_all(notes: Sequence[Note], shown_from: Path, obtained: Path | None) -> dict[str, str]:
    """Put every staged value in its place; return why not by the place where that failed."""
    problems = {}
    for item in notes:
        if item.staged:
            place = item.place(shown_from)
            try:
                publish_kept(place, Path(item.staged))
                forget_obtained(obtained, place)
            except GoldsmithError as error:
                problems[item.shown] = error.sentence()
    return problems


def change_report(notes: Sequence[Note], *, written: bool) -> Iterator[str]:
    """List what was written, or what would have been."""
    for item in notes:
        if item.outcome in (RECORDED, UPDATED):
            yield f"{item.outcome:9} {item.shown}" if written else f"not {item.outcome}: {item.shown}"
            yield from (f"    {line}" for line in item.details)
    unchanged = sum(item.outcome == UNCHANGED for item in notes)
    if unchanged:
        yield f"{UNCHANGED:9} {count_of(unchanged, 'check')}"


def refusal(found: Sequence[str]) -> Iterator[str]:
    yield "refused: nothing was written, because so much is not to change without a reason:"
    yield from (f"    {line}" for line in found)
    yield (
        "look at the changes above; if all are meant, run `pytest --gold-update --gold-reason TEXT`, which keeps the "
        "text with each of them"
    )
