"""Messages between goldsmith and the process that runs a recipe: JSON files, nothing else."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec

from goldsmith.foundation.struct_types import prepare_types
from goldsmith.gold.facts import CaseFacts, Environment, WeightFacts
from goldsmith.gold.manifest import CaseEntry
from goldsmith.process.notes import Note
from goldsmith.sandbox.capabilities import Level
from goldsmith.sandbox.confinement import Confinement
from goldsmith.sandbox.limits import Limits
from goldsmith.source_code.compiled_parts import CompiledParts
from goldsmith.targets.target import Replacements

JOB, RESULT, EVENTS, LOG, ENDED = "job.json", "result.json", "events.jsonl", "output.log", "ended"
ASKED, ANSWERED = "asked", "answered"


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
    "timeout",
    "killed",
]
OF_THE_PARENT: tuple[FailureKind, ...] = ("timeout", "killed")
"""What happened to a child's process, which it cannot know itself."""
GOLD = "gold"
"""The name, among a calibration's files, of the results that the trials are compared with."""
CALL_NOISE = "calls.json"
"""The name, among a calibration's files, of what noise does to submodules."""
NOTHING = "NothingToDisturb"
NO_RESULT, NOT_CONFINED = 74, 75
"""The exit codes of a child that finished but could not write its result, and of one that could not be sandboxed."""


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """One replay of the solution on its own gold, with one thing changed that must not matter.

    `noise` seeds perturbed rounding; with `narrowed`, float64 values inside a float32 case are perturbed as if they
    were float32, and what goes in by a unit of the dtype that is really computed in, where no other noise moved what
    comes out. `precision` is another floating dtype for all inputs and weights; `columns` passes NumPy arrays in column
    order; `seed` is one other than the gold was drawn with.
    """

    name: str
    noise: int | None = None
    narrowed: bool = False
    precision: Literal["float32", "float64"] | None = None
    columns: bool = False
    threads: int | None = None
    seed: int | None = None


class KeptCase(msgspec.Struct, frozen=True, kw_only=True):
    """Where a replay finds a case's inputs and weights, and their names."""

    file: str
    inputs: tuple[str, ...]
    models: tuple[str, ...]
    weights: dict[str, WeightFacts] = {}

    @classmethod
    def of(cls, case: CaseEntry | CaseFacts, file: Path) -> KeptCase:
        """Describe a case whose inputs and weights are in `file`."""
        return cls(file=str(file), inputs=case.inputs, models=case.models, weights=case.weights)


class Draws(msgspec.Struct, frozen=True, kw_only=True):
    """The recorded inputs and weights of a case, to be reused.

    `same_sources` says that nothing has changed that the gold is made from, `other_reads` that files have changed that
    the recipe reads besides the solution; `environment` is where they were drawn.
    """

    kept: KeptCase
    same_sources: bool
    other_reads: bool
    environment: Environment


ALONE = "alone"
Perturbation = Literal[
    "stress", "gradients", "small", "longer", "mode", "moved", "rows", "numbers", "draws", "large", "repeated",
    "single", "ties", "overflow", "tiny", "huge", "empty", "initial",
]  # fmt: skip
PERTURBATIONS: tuple[Perturbation, ...] = get_args(Perturbation)
NATURAL: tuple[Perturbation, ...] = ("overflow",)
"""Perturbations that run in a case's own dtype: what overflows in float32 does not in float64."""
RunName = Literal[
    "plain", "traced", "repeat", "float64", "float64_strict", "dtypes", "op_outputs", "coverage", Perturbation
]
"""The ways a case is replayed: `plain`, as it is, with uninitialised memory marked; `traced`, the same with its modules
traced; `repeat`, again without marking memory; `float64`; `float64_strict`, which watches every operation for
rounding; `dtypes`, in its own dtype, noting every dtype that it rounds to; `op_outputs`, keeping every tensor that it
produces; `coverage`, noting every place that runs; and under conditions that its recipe does not have."""


class IsolatedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A module, method or function to run alone, on the arguments and in the mode that gold's own was called with.

    `file` has the tensors, with `bfloat16` ones widened, `form` the call, `state` what has changed in the model since
    it was built. With `gradients`, the gradients that it passes back are requested, too.
    """

    model: str
    module: str
    form: Any
    function: str = ""
    state: tuple[str, ...] = ()
    bfloat16: tuple[str, ...] = ()
    gradients: bool = False
    file: str = ""
    training: bool = False


class RunRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request to a child for one run of one case, its weights in a `layout`; or of one module of it, `alone`."""

    case: str
    run: RunName = "plain"
    layout: str = ""
    alone: IsolatedCall | None = None


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


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A child's task. `recipe`, `folder` and `root` are in its workspace; `arguments` are pytest's.

    With a `confinement` it sandboxes itself before it runs anything, once the parent has moved it into its
    `cgroup`. `stand_ins` are packages that it replaces by stubs. `draws` are reused in a recording; `written` is
    what students write, as in the manifest. Traces of more bytes than `sketch_above` keep sketches. Requests for
    replays come through the folder `requests_dir`; `coverage` is recorded from the start. Calls of anything
    `forbidden` are noted, too. A proposed recipe is for `assignment` and about `parts`, whose use `public_tests`
    may show.

    Of a submission, the parts in `corrections` are replaced by the solution's.

    A job with a `search_path` runs in place, outside of any course: its modules are found there and in the environment,
    `replacements` before all others.
    """

    task: Literal["record", "build", "propose", "calibrate", "replay", "tests"] = "record"
    root: str
    folder: str
    recipe: str
    output: str
    scratch: str
    seed: int
    threads: int
    device: str
    parent: int
    kind: str = ""
    assignment: str = ""
    parts: tuple[DraftPart, ...] = ()
    public_tests: tuple[str, ...] = ()
    variant: str = ""
    kept: dict[str, KeptCase] = {}
    draws: dict[str, Draws] = {}
    written: tuple[str, ...] = ()
    sketch_above: int | None = None
    trials: tuple[Trial, ...] = ()
    requests_dir: str = ""
    coverage: bool = False
    adapter: str = ""
    arguments: tuple[str, ...] = ()
    environment: dict[str, str] = {}
    limits: Limits = Limits()
    confinement: Confinement | None = None
    level: Level | None = None
    cgroup: str = ""
    cgroup_hierarchies: int = 0
    stand_ins: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    search_path: tuple[str, ...] = ()
    replacements: Replacements = ()
    corrections: tuple[CompiledParts, ...] = ()

    @property
    def in_place(self) -> bool:
        return bool(self.search_path)


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


class Implementation(msgspec.Struct, frozen=True, kw_only=True):
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
    implementation: Implementation | None = None


class Event(msgspec.Struct, frozen=True):
    """The start of a case, or of a trial of all cases; without a name, the end of request `number`."""

    case: str
    number: int
    of: int


# --- replaying another implementation -----------------------------------------------------------------------------


Place = tuple[int, int]
"""A line of a file, and a column in it, counted in bytes."""


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one run of one case. Arrays are next to it, `complex` ones as pairs; `plain` has the rest, by
    path; `paths` is the order in which it all was recorded.

    `made` are tensors that the recipe itself made of single numbers; `placed` pairs gold's weights with theirs, by
    model; `modules` are the names of their modules, `extra` of the weights that gold does not have, `used` of those
    that its results were seen to depend on, by model; `places` are those that ran and those that did not, by file,
    where that was requested and could be seen; `applied` says whether the condition it ran under has changed anything;
    `rounded_to` are the floating dtypes that results were rounded to, where they were noted; `unfinished` says where
    modules raised an error while the recipe imported them.
    """

    failure: Failure | None = None
    paths: tuple[str, ...] = ()
    plain: dict[str, Any] = {}
    complex: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    overwrote: tuple[str, ...] = ()
    made: tuple[str, ...] = ()
    placed: dict[str, tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]] = {}
    modules: dict[str, tuple[str, ...]] = {}
    extra: dict[str, tuple[str, ...]] = {}
    used: dict[str, tuple[str, ...]] = {}
    places: dict[str, tuple[tuple[Place, ...], tuple[Place, ...]]] | None = None
    applied: bool = True
    pure: bool = True
    rounded_to: tuple[str, ...] = ()
    unfinished: tuple[Failure, ...] = ()
    seconds: float = 0.0

    def __post_init__(self) -> None:
        """Decode bytes, which JSON lacks, from the form that `attempt_as_json` wrote."""
        coded = {path: item for path, item in self.plain.items() if isinstance(item, dict)}
        if coded:
            found = {path: base64.b64decode(item[_BYTES], validate=True) for path, item in coded.items()}
            msgspec.structs.force_setattr(self, "plain", self.plain | found)


_BYTES = "bytes"


def attempt_as_json(attempt: Attempt) -> bytes:
    """Return an attempt as JSON. A plain value is never a dict, so a dict can represent bytes."""
    content = msgspec.to_builtins(attempt, builtin_types=(bytes,))
    for path, item in attempt.plain.items():
        if isinstance(item, bytes):
            content["plain"][path] = {_BYTES: base64.b64encode(item).decode()}
    return msgspec.json.encode(content)


prepare_types(Job, Result, Event, Attempt, tuple[RunRequest, ...])
