"""Read traces and compare their tensors."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from goldsmith.foundation.nested import leaves_in
from goldsmith.gold.arrays import as_numpy
from goldsmith.gold.call_forms import TENSOR, is_reference
from goldsmith.gold.safetensors_reader import Bfloat16, Mapped
from goldsmith.gold.sizes import quick_norm, relative_size
from goldsmith.gold.sketches.sketch import Sketch
from goldsmith.gold.trace_tensors import HASH, LEFT_OUT, NOT_KEPT, SKETCH, Hashed, LeftOut, is_whole, read_sketch
from goldsmith.judge.bounds import (
    MAX_NAME_CHARS,
    MAX_OP_OUTPUT_BYTES,
    MAX_STATES,
    MAX_STATES_SEARCHED,
    STEPS_PER_COMPARISON,
    refuse_absurd,
    spend,
)
from goldsmith.judge.policy import CLOSE
from goldsmith.runs.notes import is_name

INDEX = "goldsmith"
"""The metadata key of a trace's file that holds its calls."""


@dataclass(frozen=True)
class Call:
    """One call of a module, method or function. `end` is the position after the last call inside it.

    `kind` is its class, or the function itself; `function` is empty for a module's `forward`. `state` is what had
    changed in its module since it was built, None where that is not known; `after` is what the call changed there, by
    gold's names. Of a `partial` call, not all calls inside it are in the trace. `form` and `returned` describe the
    arguments and the result, including plain values; `learns` says which outputs require gradients, `overwrote` that
    the call changed its inputs; `gradients` holds projections of what it passes back. `bfloat16` names the inputs (`0`)
    and states (`state.mean`) of that dtype, which NumPy lacks. A `transformed` call was made inside one of torch.func's
    transformations, and its tensors are those of a whole batch. `handed_on` are the positions of outputs that gold only
    hands to other functions, such as a cache for the backward pass: others may have another.
    """

    position: int
    end: int
    model: str
    module: str
    kind: str
    own: bool
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]
    form: Any
    training: bool = False
    function: str = ""
    state: Mapping[str, Any] | None = None
    after: Mapping[str, Any] = field(default_factory=dict)
    returned: Any = None
    raised: bool = False
    drew: bool = False
    no_grad: bool = False
    inference: bool = False
    transformed: bool = False
    partial: bool = False
    learns: tuple[bool, ...] = ()
    overwrote: bool = False
    gradients: Mapping[str, Sequence[float]] = field(default_factory=dict)
    bfloat16: frozenset[str] = frozenset()
    handed_on: frozenset[int] = frozenset()

    @property
    def answers(self) -> tuple[Any, ...]:
        """Return its outputs without those that are only handed on."""
        return tuple(item for number, item in enumerate(self.outputs) if number not in self.handed_on)

    @property
    def label(self) -> str:
        """Return its name in the model: `blocks.0.attention`, `scaler.fit`, `next_token_loss`."""
        if self.is_function:
            return self.function
        where = self.module or self.kind
        return f"{where}.{self.function}" if self.function else where

    @property
    def name(self) -> str:
        """Return its name as it is defined: `RMSNorm.forward`, `next_token_loss`."""
        return self.function if self.is_function else f"{self.kind}.{self.function or 'forward'}"

    @property
    def is_function(self) -> bool:
        return self.function == self.kind

    @property
    def can_be_repeated(self) -> bool:
        """Return whether all that it was given was kept, so that another implementation can be given the same."""
        given = (*self.inputs, *(self.state or {}).values())
        return self.state is not None and not self.transformed and all(map(is_whole, given))

    @property
    def can_be_made_alone(self) -> bool:
        """Return whether gold's record says that another implementation's code can be called in the place of this."""
        belongs = self.is_function or bool(self.model)
        return self.own and belongs and self.form is not None and not self.drew and self.can_be_repeated

    @property
    def is_sketched(self) -> bool:
        """Return whether gold leaves out, or keeps only a sketch of, anything that it was given or returned."""
        known = (*self.inputs, *(self.state or {}).values(), *self.outputs)
        return any(isinstance(item, Sketch | LeftOut) for item in known)

    @functools.cached_property
    def tells(self) -> bool:
        """Return whether a right answer takes any work: something is returned or changed that is neither an input nor
        constant."""
        given = [*self.inputs, *(self.state or {}).values()]
        made = [*self.outputs, *self.after.values()]
        fresh = any(not is_constant(item) and not any(_is_same(item, other) for other in given) for item in made)
        return fresh or any(type(item) in (int, float, str) for item in leaves_in(self.returned, is_reference))

    def encloses(self, other: Call) -> bool:
        return self.position < other.position < self.end


def calls_in(content: Mapped, *, suspicious: bool = False) -> list[Call]:
    """Read the calls of a trace. Raise ValueError if it is not a trace; with `suspicious`, also if no honest run wrote
    it."""
    try:
        index = json.loads(content.metadata[INDEX])
        if suspicious:
            refuse_absurd(index)
        ends, states = call_ends(index), _states(index, suspicious=suspicious)
        tensors: dict[str, Any] = {}

        def tensor(name: str) -> Any:
            if name.startswith(HASH):
                return Hashed(name)
            if suspicious and name.startswith((SKETCH, LEFT_OUT)):
                raise ValueError("it is not a trace: only gold may leave tensors out")
            if name == LEFT_OUT:
                return NOT_KEPT
            if name not in tensors:
                is_sketch = name.startswith(SKETCH)
                tensors[name] = read_sketch(name, content[name]) if is_sketch else as_numbers(content[name])
            return tensors[name]

        def defined(text: Any) -> str:
            if suspicious and text and not is_name(_name(text)):
                raise ValueError("it is not a trace: no class or function is called so")
            return _name(text)

        def is_narrow(name: str) -> bool:
            return name in content and isinstance(content[name], Bfloat16)

        def narrow(inputs: Any, state: Any) -> frozenset[str]:
            given = [str(number) for number, name in enumerate(inputs) if is_narrow(name)]
            return frozenset([*given, *(f"state.{name}" for name, item in (state or {}).items() if is_narrow(item))])

        def named(found: Any) -> dict[str, Any] | None:
            return None if found is None else {str(name): tensor(item) for name, item in found.items()}

        return [
            Call(
                position=number,
                end=ends[number],
                model=_name(entry["model"]),
                module=_name(entry["module"]),
                kind=defined(entry["class"]),
                own=bool(entry.get("own", True)),
                inputs=tuple(tensor(name) for name in entry["inputs"]),
                outputs=tuple(tensor(name) for name in entry.get("outputs", ())),
                form=entry.get("form"),
                training=entry.get("training", False),
                function=defined(entry.get("function", "")),
                state=named(states[number]),
                after=named(entry.get("after")) or {},
                returned=entry.get("returned"),
                raised=bool(entry.get("raised")) or "outputs" not in entry,
                drew=bool(entry.get("drew")),
                no_grad=bool(entry.get("no_grad")),
                inference=bool(entry.get("inference")),
                transformed=bool(entry.get("transformed")),
                partial=bool(entry.get("partial")),
                learns=tuple(map(bool, entry.get("learns", ()))),
                overwrote=bool(entry.get("overwrote")),
                gradients={str(name): list(map(float, item)) for name, item in entry.get("gradients", {}).items()},
                bfloat16=narrow(entry["inputs"], states[number]),
            )
            for number, entry in enumerate(index)
        ]
    except (KeyError, TypeError, AttributeError, json.JSONDecodeError) as error:
        raise ValueError(f"it is not a trace: {error!r}") from None


def _name(text: Any) -> str:
    """Refuse names that cannot be shown: a submission's process may write anything."""
    if not isinstance(text, str) or not text.isprintable() or len(text) > MAX_NAME_CHARS:
        raise ValueError("it is not a trace: a name in it is none")
    return text


def call_ends(entries: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return, for each call, the position of the next that does not lie inside it."""
    found = [len(entries)] * len(entries)
    around: list[int] = []
    for position, entry in enumerate(entries):
        while around and entries[around[-1]]["depth"] >= entry["depth"]:
            found[around.pop()] = position
        around.append(position)
    return found


def _states(entries: Sequence[Mapping[str, Any]], *, suspicious: bool) -> list[Mapping[str, str] | None]:
    """Return the state of each call's module; where a call has none, the relevant part of the enclosing call's."""
    found: list[Mapping[str, str] | None] = []
    around: list[int] = []
    seen = kept = 0
    for position, entry in enumerate(entries):
        while around and entries[around[-1]]["depth"] >= entry["depth"]:
            around.pop()
        outer = next((number for number in reversed(around) if entries[number]["model"] == entry["model"]), None)
        state = entry.get("state", found[outer] if outer is not None and entry["model"] else {})
        prefix = f"{entry['module']}." if entry["module"] and entry["model"] else ""
        seen += len(state or ())
        found.append(state and {name: item for name, item in state.items() if name.startswith(prefix)})
        kept += len(found[-1] or ())
        if suspicious and (seen > MAX_STATES_SEARCHED or kept > MAX_STATES):
            raise ValueError(f"its calls have changed more than {MAX_STATES} weights")
        around.append(position)
    return found


def as_numbers(value: Any) -> Any:
    """Return an array that NumPy can compute with."""
    return as_numpy(value) if isinstance(value, Bfloat16) else value


def in_order_of_return(calls: Iterable[Call]) -> Iterator[Call]:
    """Yield calls in the order in which they ended: what is inside a module comes before it."""
    yield from sorted(calls, key=lambda call: (call.end, -call.position))


# --- comparing tensors ----------------------------------------------------------------------------------------------


def distance(actual: Any, gold: Any) -> float:
    """Return the relative error of `actual`; infinite where the two cannot be compared."""
    if isinstance(gold, LeftOut):
        return 0.0
    if isinstance(actual, Hashed) or isinstance(gold, Hashed):
        spend(STEPS_PER_COMPARISON)
        return 0.0 if actual == gold else np.inf
    if isinstance(gold, Sketch):
        spend(STEPS_PER_COMPARISON + (gold.count * gold.size if actual.shape == gold.shape else 0))
        return gold.error_of(actual)
    same_shape = _is_same_shape(actual.shape, gold.shape)
    spend(STEPS_PER_COMPARISON + (gold.size if same_shape else 0))
    if not same_shape:
        return np.inf
    actual = actual.reshape(gold.shape)
    if gold.dtype.kind in "iub" or actual.dtype.kind in "iub":
        return 0.0 if np.array_equal(actual, gold) else np.inf
    wide = _wide((actual, gold))
    one, two = np.asarray(actual, dtype=wide), np.asarray(gold, dtype=wide)
    finite = np.isfinite(two)
    if not np.array_equal(finite, np.isfinite(one)) or not np.array_equal(one[~finite], two[~finite], equal_nan=True):
        return np.inf
    with np.errstate(over="ignore"):
        return relative_size(one[finite] - two[finite], two[finite])


def _is_same_shape(one: Sequence[int], two: Sequence[int]) -> bool:
    """Return whether two shapes are the same up to dimensions of size 1. Whether those matter is for cases to say: a
    recipe may reshape what a call returns, and its callers know what they get."""
    return [size for size in one if size != 1] == [size for size in two if size != 1]


def is_constant(array: Any) -> bool:
    """Return whether an array is one number repeated, or empty, or left out; false where its hash or a sketch is
    known."""
    if not is_whole(array):
        return isinstance(array, LeftOut)
    return array.size == 0 or (array.size > 1 and bool((array == array.flat[0]).all()))


def _is_same(one: Any, two: Any) -> bool:
    if isinstance(one, Sketch):
        return one.is_same(two)
    if not is_whole(one) or not is_whole(two):
        return type(one) is type(two) and bool(one == two)
    return one.shape == two.shape and bool(np.array_equal(one, two))


def farthest(actual: Sequence[Any], gold: Sequence[Any]) -> float:
    """Return the largest distance of any of gold's tensors from its nearest counterpart; extra tensors are not a
    mistake."""
    if not gold:
        return 0.0
    rest = list(actual)
    worst = 0.0
    for tensor in gold:
        near = sorted((distance(item, tensor), number) for number, item in enumerate(rest))
        if not near:
            return float("inf")
        worst = max(worst, near[0][0])
        del rest[near[0][1]]
    return worst


def input_error(actual: Sequence[Any], gold: Sequence[Any], *, in_order: bool, close: float = CLOSE) -> float:
    """Return how far a call's inputs are from those of gold's call.

    Inputs are compared one by one if the shapes are the same, or if they must be `in_order`. Signatures may differ (cos
    and sin instead of frequencies, a mask or none): then the inputs that both have count, and one of them must be
    floating.
    """
    if not gold:
        return 0.0
    one_by_one = [distance(one, two) for one, two in zip(actual, gold, strict=False)]
    if len(actual) == len(gold) and (in_order or max(one_by_one) < float("inf")):
        return max(one_by_one)
    rest = list(actual)
    near, alone = [], 0
    for tensor in gold:
        found = sorted((distance(item, tensor), number) for number, item in enumerate(rest))
        if found and found[0][0] < float("inf"):
            near.append((found[0][0], tensor))
            del rest[found[0][1]]
        else:
            alone += 1
    floating = [far for far, tensor in near if not is_whole(tensor) or tensor.dtype.kind in "fc"]
    other_signature = alone and len(actual) != len(gold) and floating and max(floating) <= close
    return float("inf") if alone and not other_signature else max(far for far, _ in near)


def same_plain(one: Any, two: Any) -> bool:
    """Return whether the plain values in two forms are the same, as far as both have the same structure."""
    if isinstance(one, dict) and isinstance(two, dict) and one.keys() == two.keys():
        return all(same_plain(one[key], two[key]) for key in one if key != TENSOR)
    if isinstance(one, list) and isinstance(two, list) and len(one) == len(two):
        return all(same_plain(a, b) for a, b in zip(one, two, strict=True))
    if isinstance(one, dict | list) or isinstance(two, dict | list):
        return True
    if isinstance(one, float | int) and isinstance(two, float | int):
        return _same_number(one, two)
    return bool(one == two)


def _same_number(one: float, two: float) -> bool:
    try:
        return one == two or math.isclose(one, two, rel_tol=CLOSE) or (one != one and two != two)
    except OverflowError:  # an integer that no float can hold
        return False


class ValueIndex:
    """The numbers of many tensors, found in any order and shape. Norms are compared first, as they depend on neither:
    of thousands of tensors only a few need to be sorted."""

    def __init__(self, tensors: Iterable[Any]) -> None:
        self._by_size: dict[int, list[tuple[float | None, Any]]] = {}
        held = 0
        for tensor in tensors:
            held += tensor.nbytes
            if tensor.dtype.kind in "fc" and held <= MAX_OP_OUTPUT_BYTES:
                numbers = tensor.reshape(-1).astype(_wide([tensor]), copy=False)
                self._by_size.setdefault(tensor.size, []).append((quick_norm(numbers), numbers))

    def holds(self, gold: Any) -> bool:
        """Return whether one of them has the numbers of `gold`; of a sketch, in the same order."""
        if isinstance(gold, Sketch):
            size, same = gold.rms * math.sqrt(gold.size), self._by_size.get(gold.size, ())
            near_ones = [numbers for norm, numbers in same if norm is None or abs(norm - size) <= 2 * CLOSE * size]
            return any(distance(numbers.reshape(gold.shape), gold) <= CLOSE for numbers in near_ones)
        if gold.dtype.kind not in "fc":
            return False
        wanted = np.sort(gold, axis=None).astype(_wide([gold]), copy=False)
        own = quick_norm(wanted)
        return any(
            distance(np.sort(numbers), wanted) <= CLOSE
            for norm, numbers in self._by_size.get(gold.size, ())
            if norm is None or own is None or abs(norm - own) <= CLOSE * own
        )


def _wide(arrays: Iterable[Any]) -> str:
    return "complex128" if any(item.dtype.kind == "c" for item in arrays) else "float64"
