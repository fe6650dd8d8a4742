"""A run: what came out when an implementation ran a case under conditions."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from goldsmith.foundation.struct_types import prepare_types
from goldsmith.runs.notes import Note

FailureKind = Literal[
    "raised",
    "misuse",
    "exit",
    "memory",
    "package",
    "device",
    "stub",
    "import",
    "call",
    "none",
    "weights",
    "form",
    "timeout",
    "killed",
    "compiler",
]
OF_THE_PARENT: tuple[FailureKind, ...] = ("timeout", "killed")
"""What happened to a child's process, which it cannot know itself."""
Place = tuple[int, int]
"""A line of a file, and a column in it, counted in bytes."""


class Frame(msgspec.Struct, frozen=True):
    """One line of a traceback that lies in the workspace."""

    file: str
    """The file, as people in the course know it."""
    line: int
    """The line."""
    function: str
    """The function that it is in."""
    text: str
    """The line as it is written."""
    cell: int = 0
    """The cell that the line is counted in, where the file is a notebook."""

    @property
    def place(self) -> str:
        return f"{self.file}, cell {self.cell}, line {self.line}" if self.cell else f"{self.file}:{self.line}"


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """Why the recipe did not finish."""

    kind: FailureKind
    """A stable word for what happened."""
    message: str
    """What happened, in one line."""
    case: str | None = None
    """The case in which it did; null outside of all."""
    frames: tuple[Frame, ...] = ()
    """The traceback, trimmed to the course's code."""
    package: str = ""
    """The package that is missing, if that is it."""


class RunFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a run besides its values and its trace.

    `overwrote` are inputs that were changed; `pure` says that a run in float64 rounded to nothing coarser, `rounded_to`
    are the floating dtypes that results were rounded to, where they were noted; `applied` says whether the perturbation
    changed anything; `coverage` are the places that ran and those that did not, by file, where that was requested and
    could be seen.

    Of a recipe's case: `created` are tensors that the recipe itself makes of single numbers; `weight_map` pairs gold's
    weights with theirs, by model; `modules` are the names of their modules, `extra` of the weights that gold does not
    have, `used` of those that its results were seen to depend on, by model; `across` says that a model is written in
    another library than the recipe; `unfinished` says where modules raised an error while the recipe imported them.

    Of a model or function that was called directly: `returned` describes the container that came back, `skipped` names
    what in it is not a number, by its type; `drew` is the first module that drew random numbers; `cut_off` says why
    there are no gradients; `unused` are parameters that no output was computed from, where that is known; `shares` are
    inputs whose memory the output shares, `recycled` says that it took the place of what an earlier call returned, and
    `changed` which global settings and functions of libraries were changed, in words. `graphs` is how many pieces of
    the code were compiled, where that was asked for.
    """

    failure: Failure | None = None
    notes: tuple[Note, ...] = ()
    overwrote: tuple[str, ...] = ()
    pure: bool = True
    rounded_to: tuple[str, ...] = ()
    applied: bool = True
    coverage: dict[str, tuple[tuple[Place, ...], tuple[Place, ...]]] | None = None
    seconds: float = 0.0
    created: tuple[str, ...] = ()
    weight_map: dict[str, tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]] = {}
    modules: dict[str, tuple[str, ...]] = {}
    extra: dict[str, tuple[str, ...]] = {}
    used: dict[str, tuple[str, ...]] = {}
    across: bool = False
    unfinished: tuple[Failure, ...] = ()
    returned: str = ""
    skipped: dict[str, str] = {}
    drew: str = ""
    cut_off: str = ""
    unused: tuple[str, ...] = ()
    shares: tuple[str, ...] = ()
    recycled: bool = False
    changed: tuple[str, ...] = ()
    graphs: int = 0


@dataclass(frozen=True)
class Run:
    """The outcome of a run: facts, values by path in the order in which they were recorded, and a trace if that was
    requested, as a file of it or as one that has been read."""

    facts: RunFacts = field(default_factory=RunFacts)
    values: Mapping[str, Any] = field(default_factory=dict)
    trace: Any = None

    @property
    def failure(self) -> Failure | None:
        return self.facts.failure


@dataclass(frozen=True)
class CaseRuns:
    """The runs of one case, by the name of their conditions; a run that never ended has a failure and no values."""

    runs: Mapping[str, Run]

    @property
    def first(self) -> Run:
        return self.runs["plain"]

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what was noticed in the first run, and in the one that was traced, each once."""
        told = (self.first, self.runs.get("traced", self.first))
        return tuple(dict.fromkeys(note.words for run in told for note in run.facts.notes))

    @property
    def trace(self) -> Any:
        """Return the trace of the last run that has one."""
        return next((run.trace for run in reversed(list(self.runs.values())) if run.trace is not None), None)

    def joined(self, other: CaseRuns) -> CaseRuns:
        """Add other runs of the case."""
        return CaseRuns({**self.runs, **other.runs})

    def without_trace(self) -> CaseRuns:
        return CaseRuns({name: dataclasses.replace(run, trace=None) for name, run in self.runs.items()})

    def with_failure(self, traced: Run) -> CaseRuns:
        """Replace the failure of the first run by that of one that was traced."""
        return self.joined(CaseRuns({"plain": traced}))

    def in_float64(self, strict: CaseRuns) -> CaseRuns:
        """Replace the run in float64 by one in a fresh process, in which every operation was watched."""
        return self.joined(CaseRuns(dict.fromkeys(("float64", "float64_strict"), strict.runs["float64_strict"])))

    def values(self, run: str) -> Mapping[str, Any]:
        """Return everything that was recorded in a run, by path."""
        return self.runs[run].values


prepare_types(RunFacts)
