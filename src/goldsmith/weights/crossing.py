"""What crosses from one framework to another while a recipe runs on a submission that is written in the other one:
arrays, however nested, functions, and models. What cannot cross is told by name, and is no fault of the submission."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from types import BuiltinFunctionType, FunctionType
from typing import Any

from goldsmith.frameworks.framework import Framework, active, adopted, framework_of, library_of, models_of, source_name
from goldsmith.gold.facts import WeightFacts
from goldsmith.gold.safetensors_reader import Bfloat16
from goldsmith.weights.loaded import LoadedModel
from goldsmith.weights.placement import Placed

Function = Callable[[list[Any]], Any]
Call = Callable[[Framework, Function, Sequence[Any]], Any]
"""Calls a function of another framework with arrays of one's own, and returns its arrays as one's own, so that
gradients pass back (`frameworks/*/foreign.py`)."""


@dataclasses.dataclass(eq=False)
class ForeignWeights:
    """A model of another framework with gold's weights in it. `values` are these by gold's names; `loaded` says how its
    own are made of them. Of each that is `learned`, the name is given of the one that it is: of tied ones the first."""

    model: Any
    other: Framework
    values: Mapping[str, Any]
    learned: Mapping[str, str]
    loaded: LoadedModel

    def build(self, own: Framework, args: Any, kwargs: Any) -> None:
        """Build a model that is built in its first call, as that call of the recipe's does, and give it its weights."""
        if self.loaded.waits:
            given = mapped(
                lambda leaf: converted(leaf, self.other) if framework_of(leaf) is own else leaf, (args, kwargs)
            )
            self.other.models.build(self.model, *given)

    @property
    def state(self) -> Sequence[str]:
        """Return the weights of its own that are not learned, and may change in training."""
        return self.other.models.weight_facts(self.model).buffers  # type: ignore[no-any-return]

    def made(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the model's own weights by its own names, made of others by gold's names, in any framework. Those of
        which gold has none stay as they are."""
        firsts = {name: self.learned.get(name, name) for name in self.values}
        values = {name: values[first] for name, first in firsts.items() if first in values}
        own = self.other.models.weights(self.model)
        found = {name: item for name, item in values.items() if name in own and name not in self._gold}
        for item in self.loaded.placed:
            found |= zip(item.theirs, item.carry([values[name] for name in item.gold]), strict=True)
        for names in self.other.models.weight_facts(self.model).tied:
            same = next((found[name] for name in names if name in found), None)
            found |= {} if same is None else dict.fromkeys(names, same)
        return found

    @functools.cached_property
    def _gold(self) -> set[str]:
        """Return the names of gold's weights that are carried over to others, or have another meaning here."""
        return {name for item in self.loaded.placed for name in item.gold}

    def __deepcopy__(self, memo: Any) -> ForeignWeights:
        loaded = copy.deepcopy(self.loaded, memo) if self.loaded.waits else self.loaded
        return dataclasses.replace(self, model=copy.deepcopy(self.model, memo), loaded=loaded)

    def set_training(self, training: bool) -> None:
        self.model = self.other.models.set_training(self.model, training)


def foreign_of(model: Any) -> ForeignWeights | None:
    """Return what a model stands for that is written in another framework than the recipe; None for any other model."""
    found = inspect.getattr_static(model, "_foreign", None)
    return found if isinstance(found, ForeignWeights) else None


def modules_of(model: Any) -> dict[str, Any]:
    """Return a model and its modules by name; of one that stands for another framework's, those inside of that."""
    held, known = foreign_of(model), models_of(model)
    if held is not None:
        return {**held.other.models.modules(held.model), "": model}
    return {} if known is None else known.modules(model)


class PartAcross:
    """A module or method inside another framework's `model`, as a function of the recipe's framework, with the weights
    that the model has."""

    def __init__(self, loaded: LoadedAcross, name: str, method: str) -> None:
        self.model, self._loaded, self._place = loaded.model, loaded, (name, method)
        self._weights: Mapping[str, Any] = {}

    def with_weights(self, weights: Mapping[str, Any]) -> PartAcross:
        other = PartAcross(self._loaded, *self._place)
        other._weights = weights
        return other

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        held, own = self._loaded.held, self._loaded.library
        values = {**self._loaded.weights_in_use(), **self._weights}
        held.build(own, args, kwargs)
        function = held.other.models.functional(held.model, *self._place)
        return across(own.models.across, held.other, own, function)(held.made(values), *args, **kwargs)


class LoadedAcross(LoadedModel):
    """A model of another framework, into which that has put gold's weights, as one of the recipe's framework."""

    def __init__(self, inner: LoadedModel, facts: WeightFacts, other: Framework) -> None:
        self.inner = inner
        if inner.waits:
            other.models.when_built(inner.model, self._take_over)
        elif inner.unplaced is not None:
            inner.stop_waiting()
            raise inner.unplaced
        self._take_over()
        own, theirs = other.models.weights(inner.model), other.models.weight_facts(inner.model)
        values = inner.weights() | {name: own[name] for name in inner.extra if name not in theirs.buffers}
        tied = {name: names[0] for names in facts.tied for name in names[1:] if names[0] in values}
        learned = {name: tied.get(name, name) for name in values if name not in facts.buffers}
        self.held = ForeignWeights(inner.model, other, values, learned, inner)
        self.model = self._modelled(self.held)

    def _take_over(self) -> None:
        """Say of the model what is said of the one inside."""
        self.unplaced, self.idle, self.shared = self.inner.unplaced, self.inner.idle, self.inner.shared
        self.notes, self.rounded, self.waits = self.inner.notes, self.inner.rounded, self.inner.waits

    def _modelled(self, held: ForeignWeights) -> Any:
        """Return the model as one of the recipe's framework."""
        raise NotImplementedError

    @property
    def library(self) -> Framework:
        """Return the recipe's framework."""
        found = library_of(self.model)
        assert found is not None
        return found

    def weights(self, model: Any = None) -> dict[str, Any]:
        if model is not None and model is not self.model:
            return {name: converted(item, self.library) for name, item in self.inner.weights(model).items()}
        found = self.library.models.state(self.model)
        names = {name: self.held.learned.get(name, name) for name in self.held.values if name not in self.extra}
        return {name: found[first] for name, first in names.items()}

    def weights_in_use(self) -> dict[str, Any]:
        """Return the weights that the model computes with, by gold's names, as what gradients are recorded for."""
        return self.library.models.weights(self.model)

    def gradients(self) -> dict[str, Any]:
        return {
            name: item for name, item in self.library.models.gradients(self.model).items() if name not in self.extra
        }

    def frozen(self) -> set[str]:
        return self.library.models.frozen(self.model)

    def put(self, values: Mapping[str, Any]) -> None:
        self.model = self.library.models.put(
            self.model, {name: converted(item, self.library) for name, item in values.items()}
        )

    @property
    def placed(self) -> tuple[Placed, ...]:
        return self.inner.placed

    @property
    def extra(self) -> tuple[str, ...]:
        return self.inner.extra


_LIKE_USUAL = 0.02
"""How far the spread over 48 seeds may be from the usual one, relative to that: other usual ones differ by 73 %."""
_refused: ContextVar[str] = ContextVar("refused", default="")


@contextlib.contextmanager
def refusing(reason: str) -> Iterator[None]:
    """Let nothing cross within this context, if there is a reason."""
    token = _refused.set(reason)
    try:
        yield
    finally:
        _refused.reset(token)


class NeedsOwnForm(Exception):
    """Something that a recipe does with a submission cannot cross to the submission's framework: staff are to write the
    case in another way. The message says what."""


def refuse_usual_draws(loaded: Any, draws: Mapping[str, Any]) -> None:
    """Refuse to judge how weights are initialised that layers of another framework draw as they usually do, if those of
    the recipe's framework do it in another way: that is no choice of who wrote the submission."""
    if not isinstance(loaded, LoadedAcross):
        return
    other = loaded.held.other
    modules = other.models.modules(loaded.inner.model)
    own = next(item for item in active() if loaded.model is not None and isinstance(loaded.model, item.models.TYPES))
    for item in loaded.placed:
        layer = modules.get(item.theirs[0].rpartition(".")[0]) if len(item.theirs) == 1 else None
        usual = other.models.usual_draw(layer) if layer is not None else None
        drawn = draws.get(item.gold[0]) if len(item.gold) == 1 else None
        if usual is None or drawn is None or usual[0] == own.models.USUAL_GAIN or drawn[0].ndim < 2:
            continue
        gain, inputs = usual
        if abs(float(drawn.std()) / (gain / inputs) ** 0.5 - 1) < _LIKE_USUAL:
            kind, package = type(layer).__name__, type(layer).__module__.partition(".")[0]
            raise NeedsOwnForm(
                f"{item.theirs[0]} is initialised as {kind} of {package} does by default, which is not what layers of "
                f"{own.name} do: its initial weights are not judged"
            )


def mapped(function: Callable[[Any], Any], value: Any) -> Any:
    """Rebuild nested dicts, lists, tuples and dataclasses with `function` applied to every leaf."""
    found: Any
    if isinstance(value, dict):
        found = copy.copy(value)
        for key, item in value.items():
            found[key] = mapped(function, item)
        return found
    if isinstance(value, list | tuple):
        items = [mapped(function, item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if dataclasses.is_dataclass(value) and not isinstance(value, type) and models_of(value) is None:
        found = copy.copy(value)
        for field in dataclasses.fields(value):
            object.__setattr__(found, field.name, mapped(function, getattr(value, field.name)))
        return found
    return function(value)


def arrays_in(value: Any, library: Framework) -> list[Any]:
    """Return the arrays of a framework in a nested value, in order."""
    found: list[Any] = []
    mapped(lambda leaf: found.append(leaf) if framework_of(leaf) is library else None, value)
    return found


def with_arrays(value: Any, library: Framework, others: Sequence[Any]) -> Any:
    """Return a nested value with others in the place of its arrays of a framework, in order."""
    rest = iter(others)
    return mapped(lambda leaf: next(rest) if framework_of(leaf) is library else leaf, value)


def converted(array: Any, target: Framework, usual: str = "") -> Any:
    """Return a copy of an array as one of another framework; whole numbers of the `usual` dtype of its own get the
    usual one there."""
    source = framework_of(array)
    assert source is not None
    numbers: Any = source.arrays.to_numpy(source.arrays.detached(array))
    numbers = Bfloat16(numbers.bits.copy()) if isinstance(numbers, Bfloat16) else numbers.copy()
    if source.arrays.dtype(array) != (usual or source.arrays.WHOLE):
        return target.arrays.from_numpy(numbers)
    found = numbers.astype(target.arrays.WHOLE)
    if (found != numbers).any():
        raise NeedsOwnForm(f"it uses whole numbers that {target.arrays.WHOLE} of {target.name} cannot hold")
    return target.arrays.from_numpy(found)


def across(call: Call, other: Framework, own: Framework, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of another framework as one that takes and returns arrays of one's own."""

    @functools.wraps(function, updated=())
    def crossing(*args: Any, **kwargs: Any) -> Any:
        if _refused.get():
            raise NeedsOwnForm(_refused.get())
        if any(map(source_name, (*args, *kwargs.values()))):  # a key, of which a model is made, and nothing else here
            returned = construct(other, own, function, args, kwargs)
            if library_of(returned) is other:
                return returned
            raise NeedsOwnForm(f"a random key is given to a function that is written in {other.name}")
        given = mapped(functools.partial(_checked, own=own, other=other), (args, kwargs))

        def run(arrays: list[Any]) -> Any:
            positional, named = with_arrays(given, own, arrays)
            return construct(other, own, function, positional, named)

        returned = call(other, run, arrays_in(given, own))
        return mapped(lambda leaf: across(call, other, own, leaf) if isinstance(leaf, FunctionType) else leaf, returned)

    return crossing


def construct(other: Framework, own: Framework, part: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Call a class or function of another framework as it is called there; return a model as one."""
    return adopted(other.models.constructed(part, args, kwargs, (own.numerics.initial_seed() or 0) % 2**31))


def _checked(leaf: Any, own: Framework, other: Framework) -> Any:
    """Return what can be given to a function of the other framework: arrays and plain values."""
    kind = type(leaf)
    if models_of(leaf) is own.models:
        raise NeedsOwnForm(f"a model is given to a function that is written in {other.name}")
    if isinstance(leaf, FunctionType | BuiltinFunctionType | functools.partial):
        raise NeedsOwnForm(f"a function is given to one that is written in {other.name}")
    if framework_of(leaf) is None and kind.__module__.partition(".")[0] == own.name:
        raise NeedsOwnForm(f"{kind.__module__}.{kind.__qualname__} is given to code that is written in {other.name}")
    return leaf
