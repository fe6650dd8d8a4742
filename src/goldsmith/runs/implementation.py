"""What an implementation can be asked for, in this process or in one of its own, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

import msgspec

from goldsmith.gold.facts import WeightFacts
from goldsmith.runs.conditions import Conditions
from goldsmith.runs.requests import IsolatedCall, RunRequest
from goldsmith.runs.run import Failure, Run

OUTPUT, GRADIENTS, INPUT_GRADIENTS, WEIGHTS, LOSS = "output", "gradients", "input_gradients", "weights", "loss"
"""The first part of every value's path."""
LINEAR, KERNEL, TABLE, OTHER = "linear", "kernel", "table", "other"
"""Kinds of weights: a matrix whose rows are outputs, as that of `torch.nn.Linear`; one whose last axis are outputs, as
a kernel of Flax; one of an embedding; and any other."""

PLAIN_LEARNING_RATE = 0.01
"""That of plain gradient descent, where no optimiser is given."""


class Described(msgspec.Struct, frozen=True, kw_only=True):
    """An implementation before anything ran: its class or function, the floating dtype of its weights ("" if it has
    none), shapes and kinds of its weights, facts about them, the classes of its modules by name, and where each
    class has its `forward`, as file and line; of classes that are not a library's, where modules inside are `made`.
    One that `waits` has no weights before its first call. `settings` are how modules were made, by name, as far as they
    show it, `config` the entries of the configuration that it keeps, `arguments` those of constructors; `library` is
    the one that its model is of, `unseen` where that cannot see calls of modules, in words."""

    name: str
    is_module: bool = False
    library: str = ""
    unseen: str = ""
    waits: bool = False
    dtype: str = ""
    weights: dict[str, tuple[int, ...]] = {}
    kinds: dict[str, str] = {}
    facts: WeightFacts = WeightFacts()
    modules: dict[str, str] = {}
    places: dict[str, str] = {}
    made: dict[str, str] = {}
    settings: dict[str, str] = {}
    config: dict[str, str] = {}
    arguments: dict[str, str] = {}
    notes: tuple[str, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Return whether the modules that have weights are known: there are some only while a model is called."""
        return not self.waits and (len(self.modules) != 1 or not any("." in name for name in self.weights))


class OwnInputs(msgspec.Struct, frozen=True, kw_only=True):
    """The inputs of a candidate that takes others than the reference: for each set, its arrays by name that are the
    same as one of the reference's, with that one's name."""

    same: tuple[dict[str, str], ...] = ()


class GuessedRule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule for weights that is tried: names with stars, as in an adapter, which knows `axes`, too. Where one matrix
    holds several, `by_head` says that these alternate head by head."""

    gold: tuple[str, ...]
    theirs: tuple[str, ...]
    transpose: bool = False
    axes: str = ""
    by_head: bool = False


class LoadRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request to load the reference's weights. `turned` are matrices of the candidate's that are stored the other way
    round; `guessed` are rules that are tried before the adapter's, `missing` weights of the reference's that are left
    out. Unless `keep`, it is only said which weights correspond, by their numbers too, and they stay as they are."""

    facts: WeightFacts = WeightFacts()
    layout: str = ""
    guessed: tuple[GuessedRule, ...] = ()
    missing: tuple[str, ...] = ()
    turned: tuple[str, ...] = ()
    keep: bool = True


class IdleLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line of an adapter that places nothing, and why. Its patterns may name modules."""

    line: str
    why: str
    gold: str = ""
    theirs: str = ""


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """Which weights correspond, the reference's first; `assumed` were placed by a guess, `excused` need none.
    `unplaced` have none, `free` are the candidate's that are left, `reasons` come from rules; `layouts` are other
    arrangements of rows that could be tried; `renamed` are pairs of patterns from the adapter, which may name modules,
    too. `rows` are weights of the reference's whose rows are in another order in the candidate: for each row there,
    which of the reference's it is. `arranged` are weights of the candidate's that are taken to be stored otherwise than
    usual, and nothing but the result says so: in the `layout`, or the other way round. `idle` are lines of the
    adapter's that place nothing. `refusal` says why weights could not be converted; where the conversion is `opaque`,
    it is not known which weights correspond. Where the weights stay as they are, `other` are those of the reference's
    for which other numbers are held, `rounded` those that are held rounded to a dtype."""

    placed: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = ()
    assumed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    excused: tuple[str, ...] = ()
    layouts: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    unplaced: dict[str, tuple[int, ...]] = {}
    free: dict[str, tuple[int, ...]] = {}
    reasons: tuple[str, ...] = ()
    rows: dict[str, tuple[int, ...]] = {}
    layout: str = ""
    arranged: tuple[str, ...] = ()
    idle: tuple[IdleLine, ...] = ()
    refusal: str = ""
    opaque: bool = False
    other: tuple[str, ...] = ()
    rounded: dict[str, str] = {}


MODEL = "model"
"""The name of the only model, in its trace and in calls of its modules."""
GivenCall = tuple[IsolatedCall, Sequence[Any]]
"""A call of a module in isolation, and the tensors of its form."""


class Implementation(Protocol):
    """One implementation that can be asked. Values are arrays of any library, by name; a trace is a file's content."""

    def describe(self) -> Described:
        """Describe it."""

    def draw_inputs(self) -> Sequence[str]:
        """Make the inputs, and return for each set the structure that it was given, empty for those as they are."""

    def inputs(self, *, foreign: bool = False) -> Any:
        """Return the inputs in a form that `take_inputs` of another side accepts, also where its library is another."""

    def take_inputs(self, inputs: Any) -> None:
        """Use these inputs."""

    def make_own_inputs(self) -> OwnInputs | None:
        """Make inputs of its own, of those that it was given if need be; None if it uses those."""

    def weights(self) -> Any:
        """Return the weights in a form that `load` of another side accepts."""

    def load(self, weights: Any, request: LoadRequest) -> Loaded:
        """Put another implementation's weights into this one."""

    def round_weights(self, dtypes: Mapping[str, str]) -> None:
        """Round these weights of its own, each to a dtype, until it is closed."""

    def run(self, request: RunRequest) -> Run:
        """Run it once, on fresh copies of the inputs of a case, which is the number of a set of inputs."""

    def call(self, conditions: Conditions, calls: Sequence[GivenCall]) -> list[Run]:
        """Call modules one at a time, in this precision. Of what comes back, tensors are named by their position,
        gradients `gradient.<name>`."""

    def close(self) -> None:
        """Leave everything as it was before."""


# --- a side in a process of its own -----------------------------------------------------------------------------------


class SideJob(msgspec.Struct, frozen=True, kw_only=True):
    """What a process is to build and answer for. `target` is `file.py:Name` or `package.module:Name`; with `setup`, a
    file that defines functions of these roles, it is the function's name. Expressions in `init` and `inputs` are
    evaluated there and nowhere else; `convert` names a function. Results go into `folder`. In the form of kernel
    benchmarks, `init_from` and `inputs_from` name functions of the file `benchmark`, and a `kernel` is compared as
    kernels are: without gradients, and with what code changes in its libraries watched.

    A side of another `version` than is here runs in an `interpreter` of its own, which has these `packages`, or has the
    files in the folder `tree` instead of those in the folder `instead_of`."""

    role: str
    target: str
    setup: str = ""
    init: str | None = None
    inputs: tuple[str, ...] = ()
    adapter: str = ""
    convert: str = ""
    benchmark: str = ""
    init_from: str = ""
    inputs_from: str = ""
    kernel: bool = False
    device: str = "cpu"
    dtype: str = ""
    seed: int = 42
    threads: int = 1
    folder: str = ""
    root: str = ""
    version: str = ""
    interpreter: str = ""
    packages: tuple[str, ...] = ()
    tree: str = ""
    instead_of: str = ""
    parent: int = 0


class SideRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One method of `Implementation` that a process is asked for; `file` has the arrays that belong to it, `paths`
    their names in order, which weights are matched by and such a file does not keep; `foreign` ones are read by a
    process of another library. To `begin` is to be what it was before all requests, in a `role`."""

    method: str
    role: str = ""
    load: LoadRequest | None = None
    dtypes: dict[str, str] = {}
    runs: tuple[RunRequest, ...] = ()
    file: str = ""
    paths: tuple[str, ...] = ()
    foreign: bool = False


class SideProblem(msgspec.Struct, frozen=True, kw_only=True):
    """Why a process has no answer: its code `failed`, what was asked for makes no sense (`usage`), there is no such
    `device`, no room on the `disk`, or goldsmith failed (`internal`). `subject` is what is meant if not the target,
    `wanted` what would make sense; `available` are the devices that are there."""

    kind: Literal["failed", "usage", "device", "disk", "internal"] = "failed"
    message: str
    subject: str = ""
    wanted: str = ""
    hint: str = ""
    available: tuple[str, ...] = ()
    failure: Failure | None = None


class SideReply(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to one request. What does not fit into a line is in `file`: weights, with their names in order in
    `paths`, inputs, or a log of runs."""

    problem: SideProblem | None = None
    described: Described | None = None
    loaded: Loaded | None = None
    own: OwnInputs | None = None
    draws: tuple[str, ...] = ()
    file: str = ""
    paths: tuple[str, ...] = ()
