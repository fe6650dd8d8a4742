"""Verdicts on an implementation, by module, part, case and overall. Plain data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

import msgspec

from goldsmith.comparison.results import LeafComparison
from goldsmith.foundation.struct_types import prepare_types
from goldsmith.runs.run import Failure

Outcome = Literal["agrees", "differs", "could-not-run", "inconclusive", "provided-changed", "error"]
AGREES: Outcome = "agrees"
DIFFERS: Outcome = "differs"
COULD_NOT_RUN: Outcome = "could-not-run"
INCONCLUSIVE: Outcome = "inconclusive"
"""Right and wrong cannot be told apart: rounding moves the reference itself as far. Never a pass, never a failure."""
PROVIDED_CHANGED: Outcome = "provided-changed"
ERROR: Outcome = "error"
"""Goldsmith itself failed: this says nothing for or against the submission."""
OWN_WEIGHTS = "own-weights"
"""The kind of a case that differs and in which each ran with weights of its own, since gold could not store them."""
CUT_OFF = ("timeout", "killed", "memory", "exit")
"""Kinds of failure after which it is unknown how far a case got."""
GRAVITY: tuple[Outcome, ...] = (ERROR, DIFFERS, COULD_NOT_RUN, INCONCLUSIVE, PROVIDED_CHANGED, AGREES)
"""All outcomes, the gravest first. What ran and could not be judged is less grave than what did not run, since nothing
in the submission has to change; it outweighs agreement, since doubt is never a pass."""
SILENT = (COULD_NOT_RUN, INCONCLUSIVE)
"""Outcomes that say nothing for or against the work."""


def gravest(outcomes: Iterable[str]) -> Outcome:
    """Return the outcome that counts overall; of no outcomes, that it could not run."""
    found = set(outcomes)
    return next((item for item in GRAVITY if item in found), COULD_NOT_RUN)


def exit_code(outcome: str) -> int:
    """Return what a command exits with for an outcome: 1 is a verdict against the work, 3 is none."""
    return 0 if outcome == AGREES else 1 if outcome in (DIFFERS, PROVIDED_CHANGED) else 3


class ModuleVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """One module, method or function of gold's in one case. With `alone` it was judged on gold's own inputs, because
    its inputs in the replay were wrong already. `relative` is the relative error of its output."""

    case: str
    """The case in which it was called."""
    model: str
    """The model that it belongs to."""
    name: str
    """Its name in the model, in gold's words."""
    kind: str
    """Its class, or the function."""
    function: str = ""
    """The method or function; empty for a module's `forward`."""
    outcome: Outcome
    """What is known of it."""
    own: bool = True
    """Whether the assignment has it, and not a library."""
    alone: bool = False
    """Whether it was judged on gold's own inputs, because what it was given was wrong already."""
    source: bool = False
    """Whether the difference begins here."""
    relative: float | None = None
    """How far its output is off, over the size of gold's."""
    theirs: str = ""
    """Its name in the submission."""
    their_kind: str = ""
    """Its class in the submission, where that is known."""
    why: str = ""
    """What was found, in words."""
    inferred: bool = False
    """Whether it is to blame by inference, not because its own answer was seen to be wrong."""
    shared: bool = False
    """Whether it is called with other arguments than gold's: then it, or what calls it, is to blame."""
    tells: bool = True
    """Whether a right answer takes any work: one that is its own input speaks for nobody."""
    unused: bool = False
    """Whether the submission does not use it, so that the case agrees although it is wrong."""
    methods: tuple[str, ...] = ()
    """The methods of its class of which one is wrong, where only the class is known to be."""
    said: str = ""
    """What it said after it had been given gold's own inputs: for staff, never for students."""

    @property
    def label(self) -> str:
        """Return its name in the model: `blocks.0.attention`, `scaler.fit`, `next_token_loss`."""
        if self.function == self.kind:
            return self.function
        where = self.name or self.kind
        return f"{where}.{self.function}" if self.function else where

    @property
    def their_label(self) -> str:
        """Return the label in the submission's own names."""
        return msgspec.structs.replace(self, name=self.theirs, kind=self.their_kind or self.kind).label

    @property
    def their_functions(self) -> tuple[str, ...]:
        """Return what may be wrong in the submission's own code: one method or function, or several methods."""
        own = msgspec.structs.replace(self, kind=self.their_kind or self.kind) if self.kind != self.function else self
        return tuple(f"{own.kind}.{name}" for name in self.methods) or (own.callable,)

    @property
    def callable(self) -> str:
        """Return its name as it is defined: `RMSNorm.forward`, `next_token_loss`."""
        return self.function if self.function == self.kind else f"{self.kind}.{self.function or 'forward'}"


def sources(modules: Sequence[ModuleVerdict]) -> Iterator[ModuleVerdict]:
    """Yield those where a difference begins."""
    return (item for item in modules if item.source)


class PartVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """A class or function of the assignment: the gravest of what was seen of it, and where."""

    name: str
    """The class or function."""
    outcome: Outcome
    """The gravest of what was seen of it."""
    seen: int = 0
    """How often it was seen."""
    alone: bool = False
    """Whether it was judged on gold's own inputs."""
    where: str = ""
    """Where it goes wrong: the module, or the method or function."""
    case: str = ""
    """The case that shows it."""
    own_dtype_only: bool = False
    """Whether a case that it is right by was judged in its own dtype alone."""
    unused: bool = False
    """Whether it is wrong on gold's own inputs and the submission does not use it: its cases agree all the same."""


class Cancellation(msgspec.Struct, frozen=True, kw_only=True):
    """Why nothing can be judged by a tensor: rounding alone moves it, as where large terms cancel."""

    tensor: str
    """The recorded value."""
    dtype: str
    """The dtype that it was judged in."""
    moved: float
    """How far the reference's own rounding moves it, over its size."""
    amplified: float
    """How many roundings of that dtype that is: about how much larger the terms are than what is left of them."""
    remedy: str
    """What to do, so that it can be judged."""


class ChoiceVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """What was chosen otherwise than by gold, by gold's scores."""

    path: str
    """Where the choice sits, such as `output.tokens`."""
    positions: int
    """How many choices there are."""
    close: int
    """At how many of them the gap is below the noise."""
    ties: int = 0
    """How many are others than gold's, and as right."""
    wrong: int = 0
    """In how many rows one is wrong; of a sequence that is the first, which others may follow from."""
    unjudged: int = 0
    """Of how many nothing can be said: they follow a tie, or noise decides them."""
    index: tuple[int, ...] = ()
    """Where the first wrong one is."""
    why: str = ""
    """Why that is wrong, or why nothing can be said."""


class CaseVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """One case. `judged_in` is the dtype that decided; `leaves` are the comparison there, `natural` in its own dtype.
    `first_divergence` names the module, or the function, that goes wrong first."""

    name: str
    """The case."""
    title: str
    """The first line of the case's docstring."""
    outcome: Outcome
    """The verdict on this case."""
    reason: str = ""
    """What is wrong, in words."""
    judged_in: str = ""
    """The dtype that decided, or `exact`."""
    own_dtype_only: bool = False
    """Whether it would not run in float64, in which gold was: its own dtype hides small mistakes."""
    close: bool = False
    """Whether it differs by little more than its tolerance, and no run in float64 decides: it needs review."""
    met: str = ""
    """The variant whose answer was met, where the case accepts several."""
    first_divergence: str = ""
    """The module or function that goes wrong first."""
    first_part: str = ""
    """Its class, or the function itself: the part that is to blame."""
    kind: str = ""
    """The kind of what is wrong, such as `values`, `stub`, `import` or `timeout`."""
    cancels: Cancellation | None = None
    """Why right and wrong cannot be told apart, where it is inconclusive."""
    failure: Failure | None = None
    """How it failed to run; null where it ran."""
    leaves: tuple[LeafComparison, ...] = ()
    """Every recorded value compared with gold, in the dtype that decided."""
    natural: tuple[LeafComparison, ...] = ()
    """The same in its own dtype."""
    modules: tuple[ModuleVerdict, ...] = ()
    """What is known of the modules in it."""
    notes: tuple[str, ...] = ()
    """Harmless differences."""
    unseen: tuple[str, ...] = ()
    """What gold runs in it and nobody has seen to be right there, where the case is not right; where it is, those of
    the parts that no case calls by itself."""
    corrected: tuple[str, ...] = ()
    """Parts with which the case agrees once they are the solution's: the others in it are right."""
    chosen: tuple[ChoiceVerdict, ...] = ()
    """Choices that are not gold's: ties, wrong ones, and those of which nothing can be said."""
    their_names: dict[str, str] = {}
    """What weights that are wrong are called in the submission, by gold's names, where that is another name."""

    def for_part(self, part: str) -> CaseVerdict:
        """Return the case as it counts for one part: it agrees if it does once others are the solution's."""
        if not self.corrected or part in self.corrected:
            return self
        unused = tuple(item for item in self.modules if item.unused)
        return msgspec.structs.replace(self, outcome=AGREES, modules=unused)

    @property
    def first_wrong(self) -> LeafComparison | None:
        """Return the worst leaf of the first wrong record: what was recorded later may follow from it."""
        found = [leaf for leaf in (*self.leaves, *self.natural) if not leaf.agrees]
        first = found[0].path.split(".")[:2] if found else []
        same = [leaf for leaf in found if leaf.path.split(".")[:2] == first]
        return max(same, key=lambda leaf: leaf.excess, default=None)

    @property
    def worst(self) -> LeafComparison | None:
        found = [leaf for leaf in (*self.leaves, *self.natural) if not leaf.agrees]
        return max(found, key=lambda leaf: leaf.excess, default=None)


class ForbiddenUse(msgspec.Struct, frozen=True):
    """Where a submission uses what the assignment forbids."""

    name: str
    """What is forbidden."""
    place: str
    """The file and line."""
    in_code: bool
    """Whether it stands in the code; else it was seen as the code ran, which is evidence and no more."""

    @property
    def words(self) -> str:
        return f"{self.name} ({self.place}{'' if self.in_code else ', as it ran'})"


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """One implementation compared with the gold of one assignment. `unjudged` are parts that students write and that
    nothing is known about, `not_run` is the number of cases that were not requested, `stand_ins` are packages that it
    imports and that were replaced by stubs."""

    name: str
    """What was checked."""
    assignment: str
    """The assignment."""
    outcome: Outcome
    """The gravest of its cases; where they agree and a part that is not used is wrong, `differs`."""
    first_divergence: str = ""
    """The module or function that goes wrong first."""
    first_part: str = ""
    """Its class, or the function itself: the part that is to blame."""
    first_case: str = ""
    """The case that shows it: of those that do, the one that runs the least."""
    first_name: str = ""
    """What goes wrong first, in the submission's own names."""
    first_functions: tuple[str, ...] = ()
    """The method or function in which it goes wrong, as the submission defines it: `RMSNorm.forward`; several where it
    is one of them."""
    first_place: str = ""
    """Where that is defined, as file and line; of several methods, where their class is."""
    not_started: bool = False
    """Whether what is left to students still is as it was given to them."""
    cases: tuple[CaseVerdict, ...] = ()
    """Every case, in the order of the recipe."""
    parts: tuple[PartVerdict, ...] = ()
    """Classes and functions of the assignment."""
    missing: tuple[str, ...] = ()
    """Files that students write and that were not submitted: the starter's were used."""
    provided: tuple[str, ...] = ()
    """Provided code that was changed."""
    untried: tuple[str, ...] = ()
    """Provided code that was changed and that no case runs, where all cases are right."""
    unwritten: tuple[str, ...] = ()
    """Parts of which nothing is written: as they were given, or empty."""
    unjudged: tuple[str, ...] = ()
    """Parts that students write and that nothing is known about."""
    not_run: int = 0
    """How many cases were not asked for."""
    layout: str = ""
    """The adapter's layout by which it agrees, if any."""
    stand_ins: tuple[str, ...] = ()
    """Packages that it imports and that inert modules took the place of."""
    choices: tuple[str, ...] = ()
    """Which of several submitted files was used for one place, and which was not."""
    unfinished: tuple[str, ...] = ()
    """Files that raised an error while they were imported; what they had defined by then was used."""
    notes: tuple[str, ...] = ()
    """Harmless differences."""
    forbidden: tuple[ForbiddenUse, ...] = ()
    """Where it uses what the assignment forbids."""
    not_given: tuple[str, ...] = ()
    """Files of the course and installed packages that it asked for and that submissions do not get; for staff."""
    seconds: float = 0.0
    """How long it took."""

    @property
    def exit_code(self) -> int:
        return exit_code(self.outcome)

    def case(self, name: str) -> CaseVerdict:
        return next(item for item in self.cases if item.name == name)

    def plain(self) -> dict[str, Any]:
        """Return every field, as JSON can hold it."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        for case, verdict in zip(found["cases"], self.cases, strict=True):
            case["leaves"] = [leaf.plain() for leaf in verdict.leaves]
            case["natural"] = [leaf.plain() for leaf in verdict.natural]
        return found


prepare_types(Verdict)
