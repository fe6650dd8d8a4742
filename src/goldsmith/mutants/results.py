"""Findings about mutants, and the score that follows from them. Plain data."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from goldsmith.mutants.mutants import Mutant

Outcome = Literal["killed", "crashed", "survived", "not-told-apart", "equivalent", "could-not-run"]
KILLED: Outcome = "killed"
CRASHED: Outcome = "crashed"
SURVIVED: Outcome = "survived"
NOT_TOLD_APART: Outcome = "not-told-apart"
EQUIVALENT: Outcome = "equivalent"
COULD_NOT_RUN: Outcome = "could-not-run"
UNREACHED = "no case runs it"
"""The reason why a mutant survived that no case runs."""
OUTCOMES: tuple[Outcome, ...] = (KILLED, CRASHED, SURVIVED, NOT_TOLD_APART, EQUIVALENT, COULD_NOT_RUN)


class Baselines(msgspec.Struct, frozen=True):
    """What other ways of testing make of the same mutant: the internal tests, and `gold_output` alone at a plain
    tolerance. Whether each catches it, None where that is not known."""

    tests: bool | None = None
    """Whether the internal tests catch it; null where that is not known."""
    plain: bool | None = None
    """Whether a plain comparison of outputs at rtol 1e-4, atol 1e-5 does; null where that is not known."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One mutant and what became of it.

    `case` and `tensor` saw it first. `reason` is how, or why none did; `advice` is what to add to the recipe, found by
    trying it. `deviation` is how far off it was in float64, over the size of the solution's, where that was measured.
    `explained` is the course's reason why it is not a mistake; `cut_off` says that it was ended from outside,
    by its time limit or a signal.
    """

    name: str
    """`<part>/<operator>`, as `--only` takes it."""
    outcome: Outcome
    """What became of it."""
    operator: str
    """The operator that made it."""
    family: str
    """The family of that operator."""
    description: str
    """What is wrong with it."""
    part: str
    """The function or method that it is in."""
    file: str
    """The file of the solution, as it is called in the starter's place."""
    line: int
    """The line."""
    before: str
    """The line as the solution has it."""
    after: str
    """The line as the mutant has it."""
    case: str = ""
    """The case that saw it first."""
    tensor: str = ""
    """The tensor that did."""
    reason: str = ""
    """How it was seen, or why it was not."""
    advice: str = ""
    """What to add to the recipe, found by trying it."""
    deviation: float | None = None
    """How far off it was in float64, over the size of the solution's; null where that was not measured."""
    seconds: float = 0.0
    """How long it took."""
    beside: Baselines = Baselines()
    """What other ways of testing make of it."""
    explained: str = ""
    """The course's own word on why it is not a mistake."""
    cut_off: bool = False
    """Whether it was ended from outside, by its time limit or a signal."""
    same_formula: bool = False
    """Whether it changes a formula, and drawn numbers came out of it as out of the solution's: no survivor."""

    @property
    def counts(self) -> bool:
        """Say whether it is part of the score: what was caught, and what may be a mistake that was not."""
        missed = self.outcome == SURVIVED or (self.outcome == NOT_TOLD_APART and not self.same_formula)
        return self.caught or (missed and not self.explained)

    @property
    def caught(self) -> bool:
        return self.outcome in (KILLED, CRASHED)


def finding(mutant: Mutant, outcome: Outcome, **facts: Any) -> Finding:
    return Finding(
        name=mutant.name,
        outcome=outcome,
        operator=mutant.operator,
        family=mutant.family,
        description=mutant.description,
        part=mutant.part,
        file=mutant.place[0],
        line=mutant.place[1],
        before=mutant.before,
        after=mutant.after,
        **facts,
    )


class Rigor(msgspec.Struct, frozen=True, kw_only=True):
    """The result for one assignment.

    `made` is how many mutants it has, of which only some may have been selected; `kept` is how many findings come from
    the cache; `customary` is the case that the plain comparison looks at. `variants` are right variants of the
    solution: those that a case caught are false failures.
    """

    assignment: str
    findings: tuple[Finding, ...]
    made: int
    kept: int = 0
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    customary: str = ""
    variants: tuple[Finding, ...] = ()

    @property
    def counts(self) -> dict[Outcome, int]:
        return {outcome: len(self.of(outcome)) for outcome in OUTCOMES}

    @property
    def score(self) -> float | None:
        """Return what is killed over that and what survived or was not told apart, None where there is nothing of that;
        a mutant that crashes is killed."""
        counted = [item.caught for item in self.findings if item.counts]
        return sum(counted) / len(counted) if counted else None

    @property
    def judged_variants(self) -> list[Finding]:
        """Return the right variants that could be tried."""
        return [item for item in self.variants if item.outcome != COULD_NOT_RUN]

    @property
    def refused(self) -> list[Finding]:
        """Return the right variants that this gold would fail."""
        return [item for item in self.variants if item.caught]

    @property
    def explained(self) -> list[Finding]:
        return [item for item in self.findings if item.explained]

    def of(self, outcome: Outcome) -> list[Finding]:
        """Return the findings with this outcome, without those that the course has explained."""
        return [item for item in self.findings if item.outcome == outcome and not item.explained]
