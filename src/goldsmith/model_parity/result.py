"""The result of a parity as plain data: what was compared, which modules correspond, where it first goes wrong."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from goldsmith.judge.references import OutcomeByAll
from goldsmith.judge.verdicts import CaseVerdict, exit_code
from goldsmith.runs.run import Failure

Role = Literal["", "source", "victim", "holds", "merged", "unpaired", "unknown"]
SOURCE: Role = "source"
VICTIM: Role = "victim"
HOLDS: Role = "holds"
MERGED: Role = "merged"
UNPAIRED: Role = "unpaired"
UNKNOWN: Role = "unknown"
How = Literal["", "seen", "inferred", "inside"]
SEEN: How = "seen"
INFERRED: How = "inferred"
INSIDE: How = "inside"


class ModuleParity(msgspec.Struct, frozen=True, kw_only=True):
    """A module of the reference compared with its partner."""

    name: str
    """Its name in the reference; empty for the model itself."""
    kind: str
    """Its class."""
    theirs: str = ""
    """Its partner's name in the candidate."""
    their_kind: str = ""
    """Its partner's class."""
    role: Role = ""
    """`source` if the difference begins here, `victim` if it is right when given the reference's inputs, `holds` if a
    source lies inside it, `merged` if its weights are part of a fused module, `unpaired` if it has no partner,
    `unknown` if nothing can be said; empty if it is right."""
    relative: float | None = None
    """How far its output is off where it stands, over the size of the reference's."""
    relative_alone: float | None = None
    """The same when it was given the reference's inputs."""
    why: str = ""
    """What was found, in words."""

    @property
    def label(self) -> str:
        """Return the name that the candidate's author knows, with its class."""
        name = self.theirs or self.name
        return f"{name} ({self.their_kind or self.kind})" if name else (self.their_kind or self.kind)


Sureness = Literal["proven", "likely", "unsure"]
PROVEN: Sureness = "proven"
LIKELY: Sureness = "likely"
UNSURE: Sureness = "unsure"


class WeightGuessReport(msgspec.Struct, frozen=True, kw_only=True):
    """A guess by which weights were placed."""

    sure: Sureness
    """`proven` if the two models agree by it, else `likely`, or `unsure` if as much speaks for another."""
    by: tuple[str, ...] = ()
    """What speaks for it: `names`, `shapes`, `order of calls`, `order`; what speaks for most weights first."""
    pairs: tuple[str, ...] = ()
    """What was taken for what, in words."""
    right: int = 0
    """Modules that agree by it, given the reference's inputs; 0 if they were not counted."""
    of: int = 0
    """All modules that were judged for it."""
    others: tuple[str, ...] = ()
    """What else it could be, in words."""


class CarriedWeights(msgspec.Struct, frozen=True, kw_only=True):
    """Where the reference's weights went."""

    placed: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = ()
    """Weights that correspond: the reference's, then the candidate's."""
    unplaced: dict[str, tuple[int, ...]] = {}
    """Weights of the reference's that have no place in the candidate, with their shapes."""
    free: dict[str, tuple[int, ...]] = {}
    """Weights of the candidate's that nothing was put into, with their shapes."""
    guess: WeightGuessReport | None = None
    """By which guess they were placed; null where names, rules or a conversion say where they go."""


class FirstWrong(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The module that goes wrong first, with what leads to the line."""

    name: str
    """Its name in the candidate; empty for the model itself."""
    kind: str
    """Its class in the candidate."""
    how: How = ""
    """How it is known, as in `first_how`."""
    place: str = ""
    """File and line of its `forward`; where that is a library's, of the `__init__` that makes it."""
    reference: str = ""
    """Its name in the reference; empty for the model itself."""
    reference_place: str = ""
    """The same of the reference's."""
    settings: str = ""
    """How the reference's was made, where the candidate's was made otherwise."""
    their_settings: str = ""
    """How the candidate's was made."""
    inputs: tuple[str, ...] = ()
    """Shapes of what the reference's takes."""
    their_inputs: tuple[str, ...] = ()
    """Shapes of what the candidate's takes."""
    outputs: tuple[str, ...] = ()
    """Shapes of what the reference's returns."""
    their_outputs: tuple[str, ...] = ()
    """Shapes of what the candidate's returns."""
    relative: float | None = None
    """How far its output is off, over the size of the reference's."""
    where: str = ""
    """Where what it returns differs, given the same inputs, and what that looks like."""
    why: str = ""
    """What else is known, such as which modules inside could not be judged."""
    unused: tuple[str, ...] = ()
    """Its weights on which nothing that the candidate returns depends."""


class JudgedReference(msgspec.Struct, frozen=True, kw_only=True):
    """One of several references."""

    name: str
    """What it is called."""
    singled_out: bool = False
    """Whether it is far from all others, and so was not judged by."""
    outcome: OutcomeByAll
    """What the candidate is found to be by this one alone."""
    relative: float | None = None
    """How far the candidate is off, over the size of this one's value: the farthest in the first case that differs."""
    excess: float | None = None
    """The same in units of the tolerance."""
    first: str = ""
    """The candidate's module that goes wrong first."""


class ReferencePair(msgspec.Struct, frozen=True, kw_only=True):
    """Two references compared with each other."""

    one: str
    """The first."""
    other: str
    """The second."""
    outcome: OutcomeByAll
    """Whether the second agrees with the first, or the first with the second."""
    relative: float | None = None
    """How far one is off, over the size of the other's value: the farthest in the first case that differs."""
    excess: float | None = None
    """The same in units of the tolerance."""
    what: str = ""
    """The value that is off so far."""
    first: str = ""
    """The second's module that goes wrong first."""
    reason: str = ""
    """What kept them from being compared, in words."""


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """How far references are from each other in one place, and how far the candidate is from them."""

    name: str
    """A module, by its name in the first reference; empty for the model itself."""
    kind: str
    """Its class; of models without modules, what was compared, such as `forward`."""
    relative: float | None = None
    """The farthest that any two references are from each other, over their size; null where that is not known."""
    candidate: float | None = None
    """How far the candidate is from the nearest reference."""

    @property
    def label(self) -> str:
        return f"{self.name} ({self.kind})" if self.name else self.kind


Moved = Literal["", "nothing", "reference", "candidate", "both"]


class SeveralReferences(msgspec.Struct, frozen=True, kw_only=True):
    """What several references say of each other and of the candidate. Those that are singled out count in nothing but
    their own rows."""

    references: tuple[JudgedReference, ...] = ()
    """Every reference, as they were given."""
    pairs: tuple[ReferencePair, ...] = ()
    """Every two of them."""
    spread: tuple[Spread, ...] = ()
    """How far they are from each other, module by module."""
    moved: Moved = ""
    """Of versions of one reference: what moved between them; empty where they are no versions of one."""

    @property
    def singled_out(self) -> list[str]:
        return [item.name for item in self.references if item.singled_out]


class BriefReferences(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Several references, in brief."""

    outcomes: dict[str, OutcomeByAll] = {}
    """What the candidate is found to be by each reference alone."""
    singled_out: tuple[str, ...] = ()
    """References that are far from all others."""
    differ: tuple[str, ...] = ()
    """Which references differ from each other, by how much and where, in words; at most five."""
    moved: Moved = ""
    """Of versions of one reference: what moved between them."""


class BriefParity(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A candidate compared with its reference, in brief."""

    name: str
    """The candidate."""
    reference: str
    """The reference."""
    outcome: OutcomeByAll
    """`agrees`, `differs`, `could-not-run`, `inconclusive` or `references-differ`."""
    kind: str = ""
    """What kept it from being judged."""
    reason: str = ""
    """What is wrong, or kept it from being judged, in words."""
    built_with: tuple[str, ...] = ()
    """What the two were built with where that differs; at most five."""
    references: BriefReferences | None = None
    """What several references say; left out where there is one."""
    first: FirstWrong | None = None
    """The module that goes wrong first."""
    also: tuple[str, ...] = ()
    """Other modules that are wrong by themselves."""
    unknown: dict[str, str] = {}
    """Modules of which nothing is known, with the reason; at most ten, those inside the first wrong one first."""
    unplaced: tuple[str, ...] = ()
    """Weights of the reference's that have no place in the candidate; at most ten."""
    guess: str = ""
    """How sure the guess is by which weights were placed, if there was one."""
    adapter_lines: tuple[str, ...] = ()
    """Lines of an adapter that say where weights go, where that is in doubt; at most ten."""
    notes: tuple[str, ...] = ()
    """Harmless differences, and what was assumed; at most five."""


class ParityReport(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate compared with its reference."""

    name: str
    """The candidate."""
    reference: str
    """The reference, or those of several that are spoken of."""
    outcome: OutcomeByAll
    """`agrees`, `differs`, `could-not-run`, `inconclusive`, or `references-differ` where several references differ more
    from each other than the candidate from the nearest."""
    kind: str = ""
    """What kept it from being judged, such as `weights`, `inputs`, `outputs`, `random`, `memory`, `references` or
    `inconclusive`."""
    reason: str = ""
    """The same in words."""
    built_with: tuple[str, ...] = ()
    """What the two were built with where that differs, such as `rope_theta 10000 and 500000`, the reference's first."""
    references: SeveralReferences | None = None
    """What several references say of each other, and of the candidate; null where there is one."""
    first_divergence: str = ""
    """The module that goes wrong first, by its name in the reference."""
    first_name: str = ""
    """The same by its name in the candidate."""
    first_kind: str = ""
    """Its class in the candidate."""
    first_how: How = ""
    """How that is known: `seen` if its own output was, `inferred` if it may also be what calls it, `inside` if it may
    also be what it calls."""
    first: FirstWrong | None = None
    """More about it; null where nothing is known to be wrong."""
    cases: tuple[CaseVerdict, ...] = ()
    """What was compared: the forward pass, gradients and optimiser steps, of each set of inputs."""
    modules: tuple[ModuleParity, ...] = ()
    """The reference's modules, in the order in which they ended."""
    weights: CarriedWeights = CarriedWeights()
    """Where the reference's weights went."""
    condition: str = ""
    """How weights must be stored for the two to agree, where they agree only so: is that how they are stored?"""
    adapter_lines: tuple[str, ...] = ()
    """Lines of an adapter that say where weights were put by a guess, and what may correspond."""
    failure: Failure | None = None
    """How a side failed to run; null where both ran."""
    notes: tuple[str, ...] = ()
    """Harmless differences, and what was assumed."""
    seconds: float = 0.0
    """How long it took."""

    @property
    def exit_code(self) -> int:
        return exit_code(self.outcome)

    def plain(self) -> dict[str, Any]:
        """Return every field, as JSON can hold it."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        for case, verdict in zip(found["cases"], self.cases, strict=True):
            case["leaves"] = [leaf.plain() for leaf in verdict.leaves]
            case["natural"] = [leaf.plain() for leaf in verdict.natural]
            case["modules"] = [_finite(item) for item in case["modules"]]
        found["modules"] = [_finite(item) for item in found["modules"]]
        return found


def _finite(item: dict[str, Any]) -> dict[str, Any]:
    """Replace numbers that JSON cannot hold."""
    odd = {key: str(value) for key, value in item.items() if isinstance(value, float) and not abs(value) < float("inf")}
    return item | odd
