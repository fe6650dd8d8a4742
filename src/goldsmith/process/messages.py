"""Messages between goldsmith and the process that runs a recipe: JSON files, nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from goldsmith.foundation.struct_types import prepare_types
from goldsmith.gold.choices import Branch, Choice
from goldsmith.gold.facts import CaseFacts, Environment, WeightFacts
from goldsmith.gold.manifest import CaseEntry
from goldsmith.runs.conditions import Conditions
from goldsmith.runs.run import Failure
from goldsmith.sandbox.capabilities import Level
from goldsmith.sandbox.confinement import Confinement
from goldsmith.sandbox.limits import Limits
from goldsmith.source_code.compiled_parts import CompiledParts
from goldsmith.targets.target import Replacements

JOB, RESULT, EVENTS, LOG, ENDED = "job.json", "result.json", "events.jsonl", "output.log", "ended"
ASKED, ANSWERED = "asked", "answered"


GOLD = "gold"
"""The name, among a calibration's files, of the results that the trials are compared with."""
CALL_NOISE = "calls.json"
"""The name, among a calibration's files, of what noise does to submodules."""
CHOICES = "choices.json"
"""The name, among a calibration's files, of the choices that were found in calls, and of what follows after ties."""
NOTHING = "NothingToDisturb"
NO_RESULT, NOT_CONFINED = 74, 75
"""The exit codes of a child that finished but could not write its result, and of one that could not be sandboxed."""


class NotedChoices(msgspec.Struct, frozen=True):
    """What trials have noted of a case's choices."""

    found: tuple[Choice, ...] = ()
    branches: dict[str, tuple[Branch, ...]] = {}


class KeptCase(msgspec.Struct, frozen=True, kw_only=True):
    """Where a replay finds a case's inputs and weights, their names, and which inputs the case changes."""

    file: str
    inputs: tuple[str, ...]
    models: tuple[str, ...]
    weights: dict[str, WeightFacts] = {}
    overwrites: tuple[str, ...] = ()

    @classmethod
    def of(cls, case: CaseEntry | CaseFacts, file: Path) -> KeptCase:
        """Describe a case whose inputs and weights are in `file`."""
        return cls(
            file=str(file),
            inputs=case.inputs,
            models=case.models,
            weights=case.weights,
            overwrites=tuple(case.overwrites),
        )


class Draws(msgspec.Struct, frozen=True, kw_only=True):
    """The recorded inputs and weights of a case, to be reused.

    `same_sources` says that nothing has changed that the gold is made from, `other_reads` that files have changed that
    the recipe reads besides the solution; `environment` is where they were drawn.
    """

    kept: KeptCase
    same_sources: bool
    other_reads: bool
    environment: Environment


class DraftPart(msgspec.Struct, frozen=True):
    """Something that students write, for which a recipe should have a case.

    `name` is `function`, `Class` or `Class.method` of `module`, which can be imported with the folder `search` on the
    path. `explicit` are arguments that the course's adapter needs in every call, `doc` is the starter's docstring.
    """

    module: str
    name: str
    is_class: bool = False
    search: str = ""
    explicit: tuple[str, ...] = ()
    doc: str = ""


class Job(msgspec.Struct, frozen=True, kw_only=True, tag_field="task"):
    """What every child is told. `recipe`, `folder` and `root` are in its workspace.

    With a `confinement` it sandboxes itself before it runs anything, once the parent has moved it into its `cgroup`.
    `stand_ins` are packages that it replaces by stubs; `written` is what students write, as in the manifest.

    A job with a `search_path` runs in place, outside of any course: its modules are found there and in the environment,
    `replacements` before all others.
    """

    root: str
    folder: str
    recipe: str
    output: str
    scratch: str
    seed: int
    threads: int
    device: str
    parent: int
    written: tuple[str, ...] = ()
    environment: dict[str, str] = {}
    limits: Limits = Limits()
    confinement: Confinement | None = None
    level: Level | None = None
    cgroup: str = ""
    cgroup_hierarchies: int = 0
    stand_ins: tuple[str, ...] = ()
    search_path: tuple[str, ...] = ()
    replacements: Replacements = ()


class RecordJob(Job, frozen=True, kw_only=True, tag="record"):
    """Run the recipe and record its cases: those that are `kept` again on what went in, of a `variant` of the solution
    if that is named. `draws` are reused; traces of more bytes than `sketch_above` keep sketches."""

    variant: str = ""
    kept: dict[str, KeptCase] = {}
    draws: dict[str, Draws] = {}
    sketch_above: int | None = None


class BuildJob(Job, frozen=True, kw_only=True, tag="build"):
    """Build the models of all cases, and run nothing."""


class ProposeJob(Job, frozen=True, kw_only=True, tag="propose"):
    """Draft a recipe for `assignment` and about `parts`, whose use `public_tests` may show."""

    kind: str
    assignment: str
    parts: tuple[DraftPart, ...]
    public_tests: tuple[str, ...] = ()


class ReplayJob(Job, frozen=True, kw_only=True, tag="replay"):
    """Replay cases: the solution under the conditions of `trials`, or else another implementation, as requests ask that
    come through the folder `requests_dir`, with `coverage` recorded from the start.

    The recipe is one for models of `library`, whatever a submission is written in. Calls of anything `forbidden` are
    noted, too. Of a submission, the parts in `corrections` are replaced by the
    solution's.
    """

    kept: dict[str, KeptCase]
    trials: tuple[Conditions, ...] = ()
    requests_dir: str = ""
    coverage: bool = False
    adapter: str = ""
    library: str = ""
    forbidden: tuple[str, ...] = ()
    corrections: tuple[CompiledParts, ...] = ()


class TestsJob(Job, frozen=True, kw_only=True, tag="tests"):
    """Run pytest with these `arguments`."""

    arguments: tuple[str, ...] = ()


AnyJob = RecordJob | BuildJob | ProposeJob | ReplayJob | TestsJob
"""A child's task."""


class Proposal(msgspec.Struct, frozen=True):
    """A recipe to start from: its text, how many of its cases run, the parts that they cover, and why others have
    none."""

    source: str = ""
    cases: int = 0
    parts: tuple[str, ...] = ()
    left_out: dict[str, str] = {}


class TrialFailure(msgspec.Struct, frozen=True):
    """A trial in which one case failed, and why."""

    case: str
    trial: str
    message: str


class Built(msgspec.Struct, frozen=True):
    """A model as constructed: shapes of its weights by name, and classes of its modules by path, where they are the
    course's own; that of the model itself is under `""`."""

    shapes: dict[str, tuple[int, ...]]
    classes: dict[str, str]


class ImportedCode(msgspec.Struct, frozen=True, kw_only=True):
    """What a recipe that ran in place imported: the files of modules that are installed nowhere, the parts of them that
    its cases called (`module.function`, `module.Class.method`), and installed packages that it imports itself, with
    their versions. `looks` are times and sizes of all files that were read, when they were."""

    files: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    packages: dict[str, str] = {}
    looks: dict[str, tuple[int, int]] = {}


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """A child's report when it finishes; without one, it did not.

    `peak` is the most address space it had, where that can be known; `packages` are those that its code has imported;
    `forbidden` lists the forbidden calls that were seen, with their places. Where a job ran in place, `implementation`
    says on what.
    """

    mode: Literal["cases", "script", "proposal"] = "cases"
    process: int = 0
    reads: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    cases: tuple[CaseFacts, ...] = ()
    environment: Environment | None = None
    failure: Failure | None = None
    proposal: Proposal | None = None
    built: dict[str, dict[str, Built]] = {}
    failed_trials: tuple[TrialFailure, ...] = ()
    peak: int = 0
    packages: tuple[str, ...] = ()
    stand_ins: tuple[str, ...] = ()
    forbidden: tuple[tuple[str, str], ...] = ()
    implementation: ImportedCode | None = None


class Event(msgspec.Struct, frozen=True):
    """The start of a case, or of a trial of all cases; without a name, the end of request `number`: 0 says that the
    machine has done its part: what follows is the course's and the submission's."""

    case: str
    number: int
    of: int


prepare_types(AnyJob, Result, Event)
