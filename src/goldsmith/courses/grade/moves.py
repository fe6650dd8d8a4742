"""Moves: from what to what a submission's points went since an earlier run, by which items and because of what, as
plain data and in words. All of it may be told to its author."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from goldsmith.courses.grade.scoring import number
from goldsmith.foundation.wording import count_of
from goldsmith.judge.words import joined

Cause = Literal[
    "submission",
    "rubric",
    "gold",
    "tolerances",
    "recipe",
    "solution",
    "starter",
    "adapter",
    "settings",
    "packages",
    "options",
    "goldsmith",
    "error",
    "kept",
    "run",
]
NOUNS: dict[Cause, str] = {
    "submission": "submission",
    "rubric": "rubric",
    "gold": "gold",
    "tolerances": "tolerances",
    "recipe": "recipe",
    "solution": "solution",
    "starter": "starter",
    "adapter": "adapter",
    "settings": "settings of the course",
    "packages": "installed packages",
    "options": "options of the command",
    "goldsmith": "goldsmith",
    "error": "an error",
    "kept": "points that were kept",
    "run": "another run",
}
"""What a table says; in a sentence, all but the last three `changed`."""
_SENTENCES: dict[Cause, str] = {
    "error": "the grading program or the course's own code failed, now or then",
    "kept": "better points of a run before that one are not kept any more",
    "run": "it was run again, and nothing that it follows from has changed",
}


_MAX_NAMES = 8


class ItemMove(msgspec.Struct, frozen=True, kw_only=True):
    """What one line of the rubric came to, then and now."""

    name: str
    """The case or part; `forbidden` for what forbidden uses cost."""
    kind: str
    """`case`, `part` or `forbidden`."""
    was: float | None
    """What it earned in the earlier run; null where it was not in the rubric."""
    now: float | None
    """What it earns in this one; null where it is not."""


class Because(msgspec.Struct, frozen=True, kw_only=True):
    """What moved points, and by how many."""

    causes: tuple[Cause, ...]
    """What changed; several could not be told apart, since no verdict is known for one without the other."""
    points: float
    """By how many points."""


class Moved(msgspec.Struct, frozen=True, kw_only=True):
    """How a submission's points moved since an earlier run."""

    was: float
    """What it had earned by the earlier run."""
    of: float
    """What could be earned then."""
    now: float
    """What this run gives."""
    score: float
    """What counts: the same or, with `--never-lower`, what it had if that is more."""
    kept: bool = False
    """Whether the better points of the earlier run are kept."""
    items: tuple[ItemMove, ...] = ()
    """The lines of the rubric that earn something else."""
    because: tuple[Because, ...] = ()
    """What moved the points: each change that does by itself, with its points."""


class Ledger(msgspec.Struct, frozen=True, kw_only=True):
    """What changed between two runs, and for how many. Each submission's own points are with it, under `moved`."""

    since: str
    """The folder of the earlier run."""
    changed: tuple[Cause, ...]
    """What changed for all: gold, rubric and so on."""
    points_were: float
    """What could be earned in the earlier run."""
    points: float
    """What can be earned in this one."""
    compared: int
    """How many submissions were in both runs."""
    moved: tuple[str, ...]
    """Whose points moved, and whose did not only because better ones are kept."""
    kept: tuple[str, ...]
    """Who keeps the better points of the earlier run."""
    joined: tuple[str, ...]
    """Who was not in the earlier run."""
    left: tuple[str, ...]
    """Who is not in this one any more."""
    renamed: tuple[tuple[str, ...], ...]
    """Who has another name now, by files that nobody else's are like: the present name and the earlier one."""
    not_kept: tuple[str, ...] = ()
    """Whose better points `--never-lower` does not keep, since what can be earned, or the name, is another now."""

    @property
    def is_news(self) -> bool:
        """Return whether anything is another than in the earlier run."""
        return bool(self.moved or self.changed or self.joined or self.left or self.renamed)


def moved_words(moved: Moved) -> str:
    """Say in a cell what became of the points and why: `13 to 12: gold`."""
    change = f"{number(moved.score)} kept, not" if moved.kept else f"{number(moved.was)} to"
    return f"{change} {number(moved.now)}{': ' if moved.because else ''}{because_words(moved.because)}"


def because_words(because: Sequence[Because]) -> str:
    """Name what moved points: `gold`, `gold -2, rubric +1`; with a plus between what cannot be told apart."""
    names = [" + ".join(NOUNS[cause] for cause in item.causes) for item in because]
    if len(because) == 1:
        return names[0]
    return ", ".join(f"{name} {signed(item.points)}" for name, item in zip(names, because, strict=True))


def items_words(moved: Moved) -> str:
    """Name the items that moved, with what they earned and earn."""
    return ", ".join(f"{item.name} {_amount(item.was)} → {_amount(item.now)}" for item in moved.items)


def _few(names: Sequence[str]) -> str:
    more = len(names) - _MAX_NAMES
    return f"{', '.join(names[:_MAX_NAMES])}, and {more} more" if more > 0 else joined(names)


def _amount(value: float | None) -> str:
    return "·" if value is None else number(value)


def signed(points: float) -> str:
    """Format a difference of points: +1, -0.5."""
    return f"{'+' if points > 0 else ''}{number(points)}"


def moved_sentence(moved: Moved, points: float) -> str:
    """Tell the author of a submission what became of its points and why."""
    reasons = [f"{_clause(item)} ({signed(item.points)})" for item in moved.because]
    why, now = joined(reasons if len(reasons) > 1 else list(map(_clause, moved.because))), number(moved.now)
    since = f", since {why}" if why else ""
    if moved.kept:
        kept = f"{number(moved.score)} point{'' if moved.score == 1 else 's'}"
        return f"You keep {kept} of an earlier run: this one gives {now}{since}."
    then = "" if moved.of == points else f" of {number(moved.of)}"
    return f"Your points went from {number(moved.was)}{then} to {now} of {number(points)}{since}."


def _clause(because: Because) -> str:
    special = [_SENTENCES[cause] for cause in because.causes if cause in _SENTENCES]
    if special:
        return special[0]
    nouns = [NOUNS[cause] if cause == "goldsmith" else f"the {NOUNS[cause]}" for cause in because.causes]
    return f"{joined(nouns)} changed{', which cannot be told apart' if len(nouns) > 1 else ''}"


def moved_line(ledger: Ledger) -> str:
    """Say for how many points moved since when, and what changed."""
    changed = f"; changed: {', '.join(NOUNS[cause] for cause in ledger.changed)}" if ledger.changed else ""
    who = f"{len(ledger.moved)} of {count_of(ledger.compared, 'submission')}" if ledger.moved else "nobody's"
    return f"Since {ledger.since}/, {who} moved{changed}."


def ledger_lines(ledger: Ledger) -> list[str]:
    """Say what else is another in this run: what can be earned, who is in it, whose points are kept."""
    lines = []
    if ledger.points != ledger.points_were:
        lines.append(f"Points to be earned: {number(ledger.points)}; they were {number(ledger.points_were)}.")
    if ledger.kept:
        lines.append(f"Better points of the earlier run are kept (--never-lower): {_few(ledger.kept)}.")
    if ledger.not_kept:
        why = "what can be earned, or the name, is another now"
        lines.append(f"Better points are not kept, since {why} (--never-lower): {_few(ledger.not_kept)}.")
    if ledger.joined:
        lines.append(f"Not in the earlier run: {_few(ledger.joined)}.")
    if ledger.left:
        lines.append(f"Only in the earlier run: {_few(ledger.left)}.")
    if ledger.renamed:
        pairs = [f"{name} (was {before})" for name, before in ledger.renamed]
        lines.append(f"Under another name, by the same files: {joined(pairs)}.")
    return lines
