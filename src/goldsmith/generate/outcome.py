"""The outcome of one assignment: the facts behind the summary box and behind `--json`."""

from __future__ import annotations

import msgspec

from goldsmith.generate.previous_gold import MachineNoise
from goldsmith.gold.advice import Advice
from goldsmith.gold.checks import Check
from goldsmith.gold.diff import TensorChange
from goldsmith.targets.target import Kind

PUBLISHED, UNCHANGED, REFUSED, FAILED = "published", "unchanged", "refused", "failed"


class MadeFile(msgspec.Struct, frozen=True):
    """A file of the gold folder, by its path in the course."""

    path: str
    """Its path in the course."""
    ok: bool
    """Whether it passed every check."""
    change: str = "same"
    """Compared with what was there: `same` bytes, `changed`, or `new`; with `--check`, what would become of it."""
    size: int | None = None
    """Its size in bytes."""
    sha256: str | None = None
    """Hash of its content."""


class Trouble(msgspec.Struct, frozen=True):
    """Why there is no new gold. `trace` is the recipe's own traceback, trimmed to the course's code."""

    kind: str
    """A stable word for what went wrong; see the [exit codes](exit-codes.md)."""
    message: str
    """The sentence that people get."""
    problems: tuple[str, ...] = ()
    """Each problem by itself."""
    trace: tuple[str, ...] = ()
    """The recipe's own traceback, trimmed to the course's code."""
    prints: str = ""
    """The end of what the recipe printed."""
    report: str = ""
    """What `goldsmith check` says of a copy of the solution that does not agree with the new gold."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the gold of one assignment, or of one recipe by itself."""

    name: str
    """The assignment, or the path of the recipe as it was given."""
    label: str
    """What it is called in menus."""
    kind: Kind = "assignment"
    """Whose gold it is: an `assignment` of a course's, or a `recipe`'s by itself."""
    outcome: str
    """`published`, `unchanged`, `refused` or `failed`; with `--check`, `stale` where gold would change."""
    seed: int
    """The seed that it ran with."""
    folder: str
    """Where the gold lies."""
    files: tuple[MadeFile, ...] = ()
    """The files of the gold folder."""
    checks: tuple[Check, ...] = ()
    """Every check, in order."""
    reset: bool = True
    """Whether starter and solution were found as they had been."""
    notes: tuple[str, ...] = ()
    """What is worth knowing, though nothing is wrong."""
    changes: tuple[TensorChange, ...] = ()
    """Tensors that are not what they were."""
    noise: MachineNoise | None = None
    """Tensors that came out in other bits here, within noise, so that the gold stays; null where none did."""
    environment: tuple[str, ...] = ()
    """What is different about this machine from the one that recorded the gold, as far as it is known."""
    redrawn: dict[str, str] = {}
    """Cases that drew inputs or weights again instead of using recorded ones, with the reason."""
    advice: tuple[Advice, ...] = ()
    """Where a case is blind by construction."""
    next: tuple[str, ...] = ()
    """Commands that make sense now."""
    error: Trouble | None = None
    """Why there is no new gold; null where there is."""
    exit_code: int = 0
    """The exit code of this assignment alone."""
    seconds: float = 0.0
    """How long it took."""

    @property
    def ok(self) -> bool:
        return self.outcome in (PUBLISHED, UNCHANGED) and self.reset
