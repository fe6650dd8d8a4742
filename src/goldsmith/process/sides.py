"""What an implementation can be asked for, in this process or in one of its own, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import msgspec

from goldsmith.gold.facts import WeightFacts
from goldsmith.gold.safetensors_reader import Mapped
from goldsmith.process.messages import Failure

OWN, FLOAT64 = "own", "float64"
OUTPUT, GRADIENTS, INPUT_GRADIENTS, WEIGHTS, LOSS = "output", "gradients", "input_gradients", "weights", "loss"
"""The first part of every value's path."""
LINEAR, TABLE, OTHER = "linear", "table", "other"
"""Kinds of weights: a matrix of `torch.nn.Linear` (rows are outputs), of an embedding, and any other."""


class Described(msgspec.Struct, frozen=True, kw_only=True):
    """An implementation before anything ran: its class or function, the floating dtype of its weights ("" if it has
    none), shapes and kinds of its weights, facts about them, the classes of its modules by name, and where each
    class has its `forward`, as file and line; of classes that are not a library's, where modules inside are `made`.
    `settings` are how modules were made, by name, as far as they show it."""

    name: str
    is_module: bool = False
    dtype: str = ""
    weights: dict[str, tuple[int, ...]] = {}
    kinds: dict[str, str] = {}
    facts: WeightFacts = WeightFacts()
    modules: dict[str, str] = {}
    places: dict[str, str] = {}
    made: dict[str, str] = {}
    settings: dict[str, str] = {}
    notes: tuple[str, ...] = ()


class OwnInputs(msgspec.Struct, frozen=True, kw_only=True):
    """The inputs of a candidate that takes others than the reference: for each set, its arrays by name that are the
    same as one of the reference's, with that one's name."""

    same: tuple[dict[str, str], ...] = ()


class GuessedRule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule for weights that is tried: names with stars, as in an adapter. Where one matrix holds several, `by_head`
    says that these alternate head by head."""

    gold: tuple[str, ...]
    theirs: tuple[str, ...]
    transpose: bool = False
    by_head: bool = False


class LoadAsk(msgspec.Struct, frozen=True, kw_only=True):
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


class RunAsk(msgspec.Struct, frozen=True, kw_only=True):
    """A request for one run on one set of inputs.

    `precision` is `own`, `float64` or a dtype; `inputs_as` a dtype for floating inputs. `outputs` are the values, in
    order, that the gradients are taken of. `noise` seeds disturbed rounding; `constants` are then disturbed, too, in
    the last place of float32: buffers and other tensors that the model has computed once. With a `unit`, inputs and
    weights are moved by that share of their size, for code that rounds away what is smaller. `reseeded` runs draw other
    random numbers than all others do.
    """

    inputs: int = 0
    precision: str = OWN
    inputs_as: str = ""
    outputs: tuple[str, ...] = ()
    gradients: bool = False
    steps: int = 0
    train: bool = False
    noise: int | None = None
    constants: bool = False
    reseeded: bool = False
    unit: float = 0.0
    traced: bool = False


class RunFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a run besides its values. `returned` describes the container that came back, `skipped` names
    what in it is not a number, by its type; `overwrote` are inputs that were changed, `drew` is the first module that
    drew random numbers; `pure` says that a run in float64 rounded to nothing coarser; `cut_off` says why there are no
    gradients. `unused` are parameters that no output was computed from, where that is known."""

    failure: Failure | None = None
    returned: str = ""
    skipped: dict[str, str] = {}
    overwrote: tuple[str, ...] = ()
    drew: str = ""
    pure: bool = True
    cut_off: str = ""
    unused: tuple[str, ...] = ()


@dataclass(frozen=True)
class Ran:
    """The outcome of a run: values by path, and a trace if that was requested."""

    facts: RunFacts = field(default_factory=RunFacts)
    values: Mapping[str, Any] = field(default_factory=dict)
    trace: Mapped | None = None


class AloneAsk(msgspec.Struct, frozen=True, kw_only=True):
    """A request for one call of one module, with the tensors of its form next to it by `number` and position."""

    number: int
    module: str
    form: Any
    training: bool = False
    bfloat16: tuple[int, ...] = ()
    gradients: bool = False


class AloneRan(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of such a call: how many tensors it returned, the names of its gradients, or why it failed."""

    number: int
    outputs: int = 0
    gradients: tuple[str, ...] = ()
    failure: Failure | None = None


class Side(Protocol):
    """One implementation that can be asked. Values are arrays of any library, by name; a trace is a file's content."""

    def describe(self) -> Described:
        """Describe it."""

    def draw_inputs(self) -> int:
        """Make the inputs, and return how many sets there are."""

    def inputs(self) -> Any:
        """Return the inputs in a form that `take_inputs` of another side accepts."""

    def take_inputs(self, inputs: Any) -> None:
        """Use these inputs."""

    def make_own_inputs(self) -> OwnInputs | None:
        """Make inputs of its own, of those that it was given if need be; None if it uses those."""

    def weights(self) -> Any:
        """Return the weights in a form that `load` of another side accepts."""

    def load(self, weights: Any, ask: LoadAsk) -> Loaded:
        """Put another implementation's weights into this one."""

    def round_weights(self, dtypes: Mapping[str, str]) -> None:
        """Round these weights of its own, each to a dtype, until it is closed."""

    def run(self, ask: RunAsk) -> Ran:
        """Run it once on fresh copies of the inputs."""

    def run_alone(
        self, ask: RunAsk, calls: Sequence[AloneAsk], tensors: Mapping[str, Any]
    ) -> tuple[Sequence[AloneRan], Mapping[str, Any]]:
        """Run modules one at a time, in the precision of `ask`; `tensors` are named `<number>.<position>`, results
        `<number>.<position>` and `<number>.gradient.<name>`."""

    def close(self) -> None:
        """Leave everything as it was before."""


# --- a side in a process of its own -----------------------------------------------------------------------------------


class SideJob(msgspec.Struct, frozen=True, kw_only=True):
    """What a process is to build and answer for. `target` is `file.py:Name` or `package.module:Name`; with `setup`, a
    file that defines functions of these roles, it is the function's name. Expressions in `init` and `inputs` are
    evaluated there and nowhere else; `convert` names a function. Results go into `folder`."""

    role: str
    target: str
    setup: str = ""
    init: str | None = None
    inputs: tuple[str, ...] = ()
    adapter: str = ""
    convert: str = ""
    device: str = "cpu"
    dtype: str = ""
    seed: int = 42
    threads: int = 1
    folder: str = ""
    root: str = ""
    parent: int = 0


class SideRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One method of `Side` that a process is asked for; `file` has the arrays that belong to it, `paths` their names in
    order, which weights are matched by and such a file does not keep."""

    method: str
    load: LoadAsk | None = None
    dtypes: dict[str, str] = {}
    run: RunAsk | None = None
    calls: tuple[AloneAsk, ...] = ()
    file: str = ""
    paths: tuple[str, ...] = ()


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
    """The answer to one request; arrays are in `file`, complex ones as `pairs` of numbers, a trace in `trace`. `paths`
    are the weights, or the values of a run, in their order, `plain` those that are no arrays; a float is a list of one
    hexadecimal number, since JSON has no NaN."""

    problem: SideProblem | None = None
    described: Described | None = None
    loaded: Loaded | None = None
    facts: RunFacts | None = None
    own: OwnInputs | None = None
    alone: tuple[AloneRan, ...] = ()
    count: int = 0
    file: str = ""
    pairs: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    plain: dict[str, Any] = {}
    trace: str = ""
