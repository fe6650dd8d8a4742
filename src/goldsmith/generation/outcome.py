"""What became of one assignment: the facts behind the summary box and behind `--json`."""

from __future__ import annotations

import msgspec

from goldsmith.gold import Advice, Check, TensorChange

PUBLISHED, UNCHANGED, REFUSED, FAILED = "published", "unchanged", "refused", "failed"


class MadeFile(msgspec.Struct, frozen=True):
    """A file of the gold folder, by its path in the course."""

    path: str
    ok: bool
    size: int | None = None
    sha256: str | None = None


class Trouble(msgspec.Struct, frozen=True):
    """Why there is no new gold. `trace` is the recipe's own traceback, trimmed to the course's code."""

    kind: str
    message: str
    problems: tuple[str, ...] = ()
    trace: tuple[str, ...] = ()
    prints: str = ""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    label: str
    outcome: str
    seed: int
    folder: str
    files: tuple[MadeFile, ...] = ()
    checks: tuple[Check, ...] = ()
    reset: bool = True
    notes: tuple[str, ...] = ()
    changes: tuple[TensorChange, ...] = ()
    advice: tuple[Advice, ...] = ()
    next: tuple[str, ...] = ()
    error: Trouble | None = None
    exit_code: int = 0
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        return self.outcome in (PUBLISHED, UNCHANGED) and self.reset
