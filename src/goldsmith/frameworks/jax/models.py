"""Models of JAX: Flax NNX and linen, Equinox, and functions with their parameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp

from goldsmith.frameworks.jax import arrays
from goldsmith.frameworks.jax.arrays import unobserved
from goldsmith.frameworks.jax.foreign import LoadedForeign as LoadedForeign
from goldsmith.frameworks.jax.foreign import across as across
from goldsmith.frameworks.jax.foreign import constructed as constructed
from goldsmith.frameworks.jax.gradients import WeightUse as WeightUse
from goldsmith.frameworks.jax.gradients import clear_gradients as clear_gradients
from goldsmith.frameworks.jax.gradients import gradients as gradients
from goldsmith.frameworks.jax.gradients import take_gradients as take_gradients
from goldsmith.frameworks.jax.hooks import Alone, is_heard
from goldsmith.frameworks.jax.hooks import ForwardCalls as ForwardCalls
from goldsmith.frameworks.jax.hooks import on_enter as on_enter
from goldsmith.frameworks.jax.hooks import on_leave as on_leave
from goldsmith.frameworks.jax.load import ConvertedModule as ConvertedModule
from goldsmith.frameworks.jax.load import LoadedModule as LoadedModule
from goldsmith.frameworks.jax.trees import (
    OWN,
    AnyModel,
    LinenModel,
    array_names,
    collections,
    is_equinox,
    is_nnx,
    modules_in,
    restored,
    variables,
    with_arrays,
    write,
)
from goldsmith.frameworks.jax.trees import adopted as adopted
from goldsmith.frameworks.jax.working_model import WorkingModel as WorkingModel
from goldsmith.gold.facts import WeightFacts
from goldsmith.runs.implementation import KERNEL, LINEAR, OTHER, PLAIN_LEARNING_RATE, TABLE
from goldsmith.weights.crossing import foreign_of

TYPES = (AnyModel,)
CALLED = "__call__"
IN_STEP = False
UNSEEN = "inside of jit, scan and the transformations of Flax"
OPTIMISERS: tuple[type, ...] = ()


def modules(model: Any) -> dict[str, Any]:
    return modules_in(model)


def alone(model: Any, name: str) -> Any:
    return Alone(model, name)


def is_library_class(kind: type) -> bool:
    return kind.__module__.partition(".")[0] in ("flax", "equinox", "jax")


# --- weights

USUAL_GAIN = 1.0


def usual_draw(module: Any) -> tuple[float, int] | None:
    """Flax draws kernels with a variance of one over the number of inputs, Equinox with a third of that, as torch."""
    package, kind = type(module).__module__.partition(".")[0], type(module).__name__
    if package == "flax" and kind in ("Linear", "Conv"):
        return USUAL_GAIN, math.prod(module.kernel.shape[:-1])
    if package == "equinox" and kind in ("Linear", "Conv", "Conv1d", "Conv2d", "Conv3d"):
        return USUAL_GAIN / 3, math.prod(module.weight.shape[1:])
    return None


def weights(model: Any) -> dict[str, Any]:
    return array_names(model)


def state(model: Any) -> dict[str, Any]:
    return array_names(model)


def unbuilt(model: Any) -> str:
    return ""


def put(model: Any, weights: Mapping[str, Any]) -> Any:
    """Return the model with these weights: one of NNX itself, of all others another one, unless it is nobody else's."""
    if not is_nnx(model) and not hasattr(model, OWN):
        return with_arrays(model, weights)
    write(model, weights)
    return model


def put_back(model: Any, before: Mapping[str, Any]) -> None:
    write(model, before)


def functional(model: Any, name: str = "", method: str = "") -> Callable[..., Any]:
    """Return a function of weights and arguments that is what the model returns with these, or a module of it; what it
    changes in itself is lost."""

    def call(weights: Mapping[str, Any], *args: Any, **kwargs: Any) -> Any:
        if name or method:
            return Alone(model, name, method).with_weights(weights)(*args, **kwargs)
        if not is_heard(model) or any(isinstance(item, jax.core.Tracer) for item in weights.values()):
            return with_arrays(model, weights)(*args, **kwargs)
        with restored(model):  # those who listen know the modules of this model, and not those of another
            write(model, weights)
            return model(*args, **kwargs)

    return call


def parameters(model: Any) -> dict[str, Any]:
    buffers, tied = set(weight_facts(model).buffers), weight_facts(model).tied
    left_out = buffers.union(*(names[1:] for names in tied))
    return {name: array for name, array in array_names(model).items() if name not in left_out}


def named_parameters(model: Any) -> dict[str, Any]:
    buffers = weight_facts(model).buffers
    return {name: array for name, array in array_names(model).items() if name not in buffers}


def weight_facts(model: Any) -> WeightFacts:
    """Return which arrays are not learned, and which names of NNX's are of one variable."""
    found = array_names(model)
    learned = {name for name, array in found.items() if jnp.issubdtype(array.dtype, jnp.inexact)}
    groups: dict[int, list[str]] = {}
    if is_nnx(model):
        from flax import nnx

        for name, value, _ in variables(model):
            groups.setdefault(id(value), []).append(name)
            if not isinstance(value, nnx.Param):
                learned.discard(name)
    elif isinstance(model, LinenModel):
        learned &= {name for name, collection in collections(model).items() if collection == "params"}
    buffers = tuple(name for name in found if name not in learned)
    return WeightFacts(buffers, tuple(tuple(names) for names in groups.values() if len(names) > 1))


def kinds(model: Any) -> dict[str, str]:
    """Say which weights are matrices with a row for each output, kernels, or tables: by their names in Flax, by their
    modules in Equinox."""
    of_names = {"kernel": KERNEL, "embedding": TABLE}
    found = {name: of_names.get(name.rpartition(".")[2], OTHER) for name in named_parameters(model)}
    if is_equinox(model):
        import equinox

        of_classes = ((equinox.nn.Linear, LINEAR), (equinox.nn.Embedding, TABLE))
        for name, module in modules_in(model).items():
            weight = f"{name}.weight" if name else "weight"
            kind = next((kind for owner, kind in of_classes if isinstance(module, owner)), "")
            found |= {weight: kind} if kind and weight in found else {}
    return found


def frozen(model: Any) -> set[str]:
    return set()


def unused_parameters(model: Any, returned: Any) -> tuple[str, ...]:
    """Return none: what was returned does not say what it was computed from."""
    return ()


# --- a model as a whole


def stress(model: Any, seed: int) -> Any:
    fixed = {name for name in weight_facts(model).buffers if name.rpartition(".")[2] not in ("mean", "var")}
    found = {name: item for name, item in array_names(model).items() if name not in fixed}
    redrawn = {name: arrays.stressed(item, name, seed) for name, item in found.items()}
    return put(model, {name: item for name, item in redrawn.items() if item is not None})


def place(model: Any, device: str) -> Any:
    return put(model, {name: arrays.place(array, device) for name, array in array_names(model).items()})


def in_precision(model: Any, dtype: str) -> Any:
    floating = {name: array for name, array in array_names(model).items() if jnp.issubdtype(array.dtype, jnp.inexact)}
    return put(model, {name: arrays.cast(array, dtype) for name, array in floating.items()})


def is_training(module: Any) -> bool:
    """Say whether a module is in training, as far as it has a switch for that; one of linen is told with each call."""
    return any(getattr(module, name, None) is False for name in ("deterministic", "inference", "use_running_average"))


def set_training(model: Any, training: bool) -> Any:
    if isinstance(model, Alone):
        return model.set_training(training)
    if (held := foreign_of(model)) is not None:
        held.set_training(training)
    elif is_nnx(model):
        model.train() if training else model.eval()
    elif is_equinox(model):
        import equinox

        return equinox.nn.inference_mode(model, value=not training)
    return model


def device(model: Any) -> Any:
    held = (array for array in array_names(model).values() if hasattr(array, "sharding"))
    return next((array.sharding for array in held), None)


class _Descent:
    """An optimiser of a model: plain gradient descent, or a transformation of gradients as optax has them."""

    def __init__(self, model: Any, transformation: Any) -> None:
        self._model, self._transformation = model, transformation
        self._state = None if transformation is None else transformation.init(parameters(model))

    def zero_grad(self) -> None:
        clear_gradients(self._model)

    def step(self) -> None:
        before = parameters(self._model)
        taken = gradients(self._model)
        slopes = {name: jnp.zeros_like(item) if taken[name] is None else taken[name] for name, item in before.items()}
        if self._transformation is None:
            moves = {name: -PLAIN_LEARNING_RATE * item for name, item in slopes.items()}
        else:
            with unobserved():  # optax counts steps in float32 even in float64, which is no rounding of the model's
                moves, self._state = self._transformation.update(slopes, self._state, before)
        write(self._model, {name: item + moves[name] for name, item in before.items()})


def optimiser(model: Any, make: Callable[[Any], Any] | None = None) -> Any:
    """Return an optimiser; `make` is a transformation of gradients, or returns one for a model's parameters."""
    made: Any = make
    if made is not None and not hasattr(made, "update"):
        try:
            made = made(parameters(model))
        except Exception as error:
            raise TypeError(f"its optimizer cannot be made of a dict of arrays of JAX ({error})") from error
        if not (hasattr(made, "init") and hasattr(made, "update")):
            raise TypeError("its optimizer must be a transformation of gradients, as those of optax are")
    return _Descent(model, made)
