"""Perturbations: cases run under conditions that their recipe does not have, to find out what would show a difference.

Gold's inputs smaller or larger, shifted, with ties, drawn again, with one row more, one row or none, plain numbers
changed; stressed weights; gradients of everything that is recorded; the other mode with dropout that drops all; more
batches; an earlier call on other inputs; the statistics of initial weights. Each run is in float64, so that a
difference is not rounding, except the one that looks for overflow. A condition reports whether it `applied`: one that
found nothing to change proves nothing.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import math
from collections import Counter
from collections.abc import Callable, Mapping
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from goldsmith.foundation.nested import leaves_in, map_tree
from goldsmith.frameworks.framework import arrays_of, is_module, modelling, models_of, without_gradients
from goldsmith.frameworks.randomness import random_state_kept
from goldsmith.gold.arrays import array_hash, dtype_name, is_array, is_floating, is_tensor
from goldsmith.instruments.own_calls import arguments_of
from goldsmith.recipe.initial_weights import statistics_of, telling_statistics
from goldsmith.runs.conditions import Perturbation
from goldsmith.weights.gold_inputs import GoldInputs

if TYPE_CHECKING:
    from goldsmith.frameworks.protocols import Models

T = TypeVar("T")
_FACTORS: dict[Perturbation, float] = {"large": 30.0, "overflow": 1e2, "huge": 1e4}
_MAX_MAGNITUDES: dict[Perturbation, float] = {"small": 1e-3, "tiny": 1e-6}
_LEVELS = 2
_DROPOUT_RATES = ("p", "dropout", "dropout_p", "dropout_rate", "drop")


@dataclasses.dataclass(frozen=True)
class PerturbedInputs(GoldInputs):
    """Gold's inputs as a condition changes them, with gold's weights unchanged."""

    condition: Perturbation = "stress"

    def input(self, name: str, made: Any) -> Any:
        kept = self.inputs[name]
        if self.condition == "draws":
            return self._fill_like(made, made)
        if self.condition in _FACTORS or self.condition in _MAX_MAGNITUDES:
            return dataclasses.replace(self, change=lambda array: self._resize(self.change(array)))._fill_like(
                made, kept
            )
        value = super().input(name, made)
        if self.condition == "longer":
            return [*value, *reversed(value)] if isinstance(value, list) else value
        if self.condition == "moved":
            return _each(value, _move)
        if self.condition == "ties":
            return _each(value, _tie)
        if self.condition in _ROWS:
            sizes = Counter(len(leaf) for item in self.inputs.values() for leaf in _arrays(item) if leaf.ndim)
            usual = sizes.most_common(1)[0][0] if sizes else -1
            return _each(value, lambda leaf: _with_rows(leaf, usual, _ROWS[self.condition]))
        return _each(value, _another_number) if self.condition == "numbers" else value

    def _resize(self, array: Any) -> Any:
        """Scale an array up by a factor; or down by one, and at least so far that no element exceeds it."""
        if self.condition in _FACTORS:
            return array * _FACTORS[self.condition]
        least = _MAX_MAGNITUDES[self.condition]
        size = float(abs(array).max()) if math.prod(array.shape) else 0.0
        return array * (min(least, least / size) if 0 < size < math.inf else least)


class ModelPerturbation:
    """The changes that a condition makes to the models and outputs of one case, and whether it changed anything."""

    def __init__(self, condition: Perturbation, seed: int, kept: dict[str, Any]) -> None:
        self.condition = condition
        self.applied = condition == "repeated"  # the session does that before the case begins
        self._seed = seed
        self._kept = kept
        self._sources: dict[str, Any] = {}
        self._recorded: list[Any] = []
        self._initial: dict[str, Any] = {}

    def initial(self, name: str, draws: Mapping[str, Any]) -> None:
        """Keep how a model initialises its weights: each statistic with its limit."""
        self.applied = True
        for path, item in draws.items():
            for kind, (value, limit) in statistics_of(item, telling_statistics(item)).items():
                self._initial[f"initial.{name}.{path}.{kind}"] = _with_limit(value, limit)

    def model(self, name: str, model: Any) -> Any:
        """Return the model as the condition changes it."""
        models = models_of(model)
        if models is None:
            if self.condition == "stress":
                self._stress_object(model)
            return model
        if self.condition == "stress":
            model = models.stress(model, self._seed)
            self.applied = True
        elif self.condition == "mode":
            model = self._other_mode(models, model)
        elif self.condition == "repeated":
            _call_before(model)
        learned, frozen = models.parameters(model).items(), models.frozen(model)
        self._sources |= {f"{name}.{path}": weight for path, weight in learned if path not in frozen}
        return model

    def input(self, name: str, value: T) -> T:
        """Note whether an input was changed; where there is no model, make it a source of gradients."""
        if self.condition in _OF_INPUTS:
            self.applied = self.applied or _digest(value) != _digest(self._kept.get(name))
        if self.condition != "gradients" or self._sources or not (is_array(value) and is_floating(value)):
            return value
        source = arrays_of(value).learning(value)
        if source is None:
            return value
        self._sources[name] = source
        return source * 1  # type: ignore[no-any-return]

    def record(self, name: str, value: Any) -> None:
        self._recorded += [leaf for leaf in leaves_in(value) if is_tensor(leaf)]

    def more(self) -> dict[str, Any]:
        """Return what is recorded in addition to the recipe's own records, by path."""
        return self._initial or self._gradients()

    def _gradients(self) -> dict[str, Any]:
        """Differentiate every differentiable record with respect to every source."""
        if self.condition != "gradients" or not self._sources:
            return {}
        library = modelling()
        assert library is not None
        found = library.numerics.gradients_of(self._recorded, self._sources)
        self.applied = bool(found)
        return {f"gradients.{name}": gradient for name, gradient in found.items()}

    def _stress_object(self, model: Any) -> None:
        for name, value in list(getattr(model, "__dict__", {}).items()):
            if is_array(value) and not is_tensor(value) and value.dtype.kind == "f" and value.size:
                setattr(model, name, _move(value))
                self.applied = True

    def _other_mode(self, models: Models, model: Any) -> Any:
        """Switch between train and eval mode, with all dropout at 1, which draws nothing."""
        model = models.set_training(model, not models.is_training(model))
        self.applied = True
        for part in models.modules(model).values():
            for name in _DROPOUT_RATES:
                rate = part.__dict__.get(name)
                if isinstance(rate, float) and 0 <= rate < 1:
                    with contextlib.suppress(AttributeError):  # of a model that cannot be changed
                        setattr(part, name, 1.0)
        return model


def _call_before(model: Any) -> None:
    """Call a model on other inputs just before its first call."""
    models = models_of(model)
    assert models is not None

    def call(module: Any, args: Any, kwargs: Any) -> None:
        handle.remove()
        with random_state_kept(), without_gradients(), contextlib.suppress(Exception):
            getattr(module, "forward", module)(*_each(args, _move), **_each(kwargs, _move))

    handle = models.on_enter(model, call)


class CallsBefore:
    """A watcher that calls each method once on its object, with other inputs, before the recipe first calls it.

    A method also counts if the object itself calls it for the recipe, as `__call__` calls `forward`. Modules are left
    out: they have hooks.
    """

    def __init__(self, recipe: str) -> None:
        self._recipe = recipe
        self._called: dict[tuple[int, str], Any] = {}  # keeps the object, so that its id is not reused

    def enter_function(self, frame: FrameType, name: str, owner: Any) -> None:
        method = frame.f_code.co_name
        if owner is None or is_module(owner) or method == "__init__" or (id(owner), method) in self._called:
            return
        if _caller_of(frame, owner) != self._recipe:
            return
        self._called[id(owner), method] = owner
        args, kwargs = arguments_of(frame)
        with contextlib.suppress(Exception):
            getattr(owner, method)(*_each(args, _move_within), **_each(kwargs, _move_within))

    def leave_function(self, frame: FrameType, value: Any, *, raised: bool) -> None:
        """Do nothing."""


def _caller_of(frame: FrameType, owner: Any) -> str:
    """Return the file that a method is called from, skipping other methods of the same object."""
    back = frame.f_back
    while back is not None and back.f_locals.get("self") is owner:
        back = back.f_back
    return back.f_code.co_filename if back else ""


def _move_within(leaf: Any) -> Any:
    """Shift numbers; copy an object that holds arrays and shift those."""
    if is_array(leaf) or is_module(leaf) or isinstance(leaf, type) or not getattr(leaf, "__dict__", None):
        return _move(leaf)
    other = copy.copy(leaf)
    other.__dict__.update({name: _move(value) for name, value in vars(leaf).items()})
    return other


def _with_limit(value: Any, limit: float) -> Any:
    """Return a statistic followed by its limit, as numbers: a text by its bytes."""
    numbers = np.frombuffer(value.encode(), np.uint8) if isinstance(value, str) else np.ravel(value)
    return np.append(numbers.astype(np.float64), limit)


_ROWS: dict[Perturbation, int] = {"rows": 1, "single": 0, "empty": -1}
"""How many rows there are: one more than before, one, or none."""
_OF_INPUTS = (*_FACTORS, *_MAX_MAGNITUDES, *_ROWS, "moved", "ties", "numbers", "draws", "longer")


def _each(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return `value` with every leaf changed; only plain dicts, lists and tuples are entered."""
    return map_tree(change, value, is_leaf=lambda item: not isinstance(item, dict) and type(item) not in (list, tuple))


def _arrays(value: Any) -> list[Any]:
    return [leaf for leaf in leaves_in(value) if is_array(leaf)]


def _move(leaf: Any) -> Any:
    """Shift each number by a different amount, up to 0.3 of the largest; invert every third boolean."""
    if not is_array(leaf) or not math.prod(leaf.shape):
        return leaf
    kind = str(leaf.dtype)
    steps = np.arange(math.prod(leaf.shape)).reshape(tuple(leaf.shape))
    if "bool" in kind:
        turned: Any = steps % 3 == 0
        return leaf ^ arrays_of(leaf).like(turned, leaf)
    if "float" not in kind:
        return leaf
    size = float(abs(leaf).max()) or 1.0
    moves: Any = np.cos(steps * 1.7) * 0.3 * (size if math.isfinite(size) else 1.0)
    return arrays_of(leaf).shifted(leaf, moves)


def _tie(leaf: Any) -> Any:
    """Round numbers to a few levels, so that many are equal."""
    if not is_array(leaf) or "float" not in str(leaf.dtype) or not math.prod(leaf.shape):
        return leaf
    step = float(abs(leaf).max()) / _LEVELS
    if not 0 < step < math.inf:
        return leaf
    arrays = arrays_of(leaf)
    tied: Any = arrays.detached(leaf) / step
    return arrays.learning_as(arrays.cast(tied.round() * step, dtype_name(leaf)), leaf)


def _with_rows(leaf: Any, usual: int, more: int) -> Any:
    """Repeat the first row at the end, keep it alone, or drop all rows, in arrays with the most common number of
    rows."""
    if not is_array(leaf) or not leaf.ndim or len(leaf) != usual:
        return leaf
    arrays = arrays_of(leaf)
    own = arrays.detached(leaf)
    rows = arrays.copy(own[: 1 + more]) if more < 1 else arrays.concatenate([own, own[:1]])
    return arrays.learning_as(rows, leaf)


def _another_number(leaf: Any) -> Any:
    if type(leaf) is int:
        return leaf + 1
    return leaf * 1.3 + 0.1 if type(leaf) is float else leaf


def _digest(value: Any) -> list[Any]:
    return [
        array_hash(leaf) if is_array(leaf) else leaf
        for leaf in leaves_in(value)
        if is_array(leaf) or type(leaf) in (int, float)
    ]
