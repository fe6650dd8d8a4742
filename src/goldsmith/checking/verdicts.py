"""Verdicts: what is known about an implementation beside the gold, by module, by case and overall. Plain data."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from goldsmith.comparison import LeafComparison
from goldsmith.recording import Failure

Outcome = Literal["agrees", "differs", "could-not-run", "provided-changed"]
AGREES: Outcome = "agrees"
DIFFERS: Outcome = "differs"
COULD_NOT_RUN: Outcome = "could-not-run"
PROVIDED_CHANGED: Outcome = "provided-changed"
_GRAVITY: tuple[Outcome, ...] = (DIFFERS, COULD_NOT_RUN, PROVIDED_CHANGED, AGREES)


def gravest(outcomes: Iterable[str]) -> Outcome:
    """What counts overall; of nothing at all, that it could not run."""
    found = set(outcomes)
    return next((item for item in _GRAVITY if item in found), COULD_NOT_RUN)


class ModuleVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """One module of gold's in one case. `alone` says that it was judged on gold's own inputs, because what it was given
    in the replay was wrong already. `relative` is how far its output is off, over the size of gold's."""

    case: str
    model: str
    name: str
    kind: str
    outcome: Outcome
    own: bool = True
    alone: bool = False
    source: bool = False
    relative: float | None = None
    theirs: str = ""
    why: str = ""


class PartVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """A class or function of the assignment: the gravest of what was seen of it, and where."""

    name: str
    outcome: Outcome
    seen: int = 0
    alone: bool = False
    where: str = ""


class CaseVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """One case. `judged_in` is the dtype that decided; `leaves` are the comparison there, `natural` in its own dtype.
    `first_divergence` names the module, or the function, that goes wrong first."""

    name: str
    title: str
    outcome: Outcome
    reason: str = ""
    judged_in: str = ""
    met: str = ""
    first_divergence: str = ""
    kind: str = ""
    failure: Failure | None = None
    leaves: tuple[LeafComparison, ...] = ()
    natural: tuple[LeafComparison, ...] = ()
    modules: tuple[ModuleVerdict, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def worst(self) -> LeafComparison | None:
        found = [leaf for leaf in (*self.leaves, *self.natural) if not leaf.agrees]
        return max(found, key=lambda leaf: leaf.excess, default=None)


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """One implementation beside the gold of one assignment. `unjudged` are parts that students write and that nothing
    is known about, `not_run` is the number of cases that were not asked for, `stand_ins` are packages that it imports
    and that inert modules took the place of."""

    name: str
    assignment: str
    outcome: Outcome
    first_divergence: str = ""
    first_case: str = ""
    cases: tuple[CaseVerdict, ...] = ()
    parts: tuple[PartVerdict, ...] = ()
    provided: tuple[str, ...] = ()
    unjudged: tuple[str, ...] = ()
    not_run: int = 0
    layout: str = ""
    stand_ins: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def exit_code(self) -> int:
        return {AGREES: 0, DIFFERS: 1, PROVIDED_CHANGED: 1, COULD_NOT_RUN: 3}[self.outcome]

    def case(self, name: str) -> CaseVerdict:
        return next(item for item in self.cases if item.name == name)

    def plain(self) -> dict[str, Any]:
        """Every field, as JSON can hold it."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        for case, verdict in zip(found["cases"], self.cases, strict=True):
            case["leaves"] = [leaf.plain() for leaf in verdict.leaves]
            case["natural"] = [leaf.plain() for leaf in verdict.natural]
        return found
