"""Models of JAX: Flax NNX and linen, Equinox, and functions with their parameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp

from goldsmith.frameworks.jax.foreign import LoadedForeign as LoadedForeign
from goldsmith.frameworks.jax.foreign import across as across
from goldsmith.frameworks.jax.foreign import constructed as constructed
from goldsmith.frameworks.jax.gradients import WeightUse as WeightUse
from goldsmith.frameworks.jax.hooks import CALLS, Alone, is_heard
from goldsmith.frameworks.jax.trees import (
    OWN,
    AnyModel,
    LinenModel,
    array_names,
    collections,
    is_equinox,
    is_nnx,
    modules_in,
    overwrite,
    restored,
    variables,
    with_arrays,
    write,
)
from goldsmith.frameworks.jax.trees import adopted as adopted
from goldsmith.frameworks.jax.trees import copied as copied
from goldsmith.gold.facts import WeightFacts
from goldsmith.runs.implementation import KERNEL, LINEAR, OTHER, TABLE
from goldsmith.weights.crossing import foreign_of

TYPES = (AnyModel,)
UNSEEN = "inside of jit, scan and the transformations of Flax"


alone, modules, weights = Alone, modules_in, array_names
with_weights, put_back = with_arrays, write
on_enter, on_leave = CALLS.on_enter, CALLS.on_leave


def is_library_class(kind: type) -> bool:
    return kind.__module__.partition(".")[0] in ("flax", "equinox", "jax")


# --- weights


def usual_draw(module: Any) -> tuple[float, int] | None:
    """Flax draws kernels with a variance of one over the number of inputs, Equinox with a third of that, as torch."""
    package, kind = type(module).__module__.partition(".")[0], type(module).__name__
    if package == "flax" and kind in ("Linear", "Conv"):
        return 1.0, math.prod(module.kernel.shape[:-1])
    if package == "equinox" and kind in ("Linear", "Conv", "Conv1d", "Conv2d", "Conv3d"):
        return 1 / 3, math.prod(module.weight.shape[1:])
    return None


def unbuilt(model: Any) -> str:
    return type(model.module).__name__ if isinstance(model, LinenModel) and not model.is_built else ""


def when_built(model: Any, then: Callable[[], None]) -> None:
    model.then.append(then)


def build(model: Any, args: Any, kwargs: Any) -> None:
    model.build(args, kwargs)


def put(model: Any, weights: Mapping[str, Any]) -> Any:
    """Return the model with these weights: one of NNX itself, of all others another one, unless it is nobody else's."""
    if not is_nnx(model) and not hasattr(model, OWN):
        return with_arrays(model, weights)
    write(model, weights)
    return model


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
    buffers = weight_facts(model).buffers
    found = {name: of_names.get(name.rpartition(".")[2], OTHER) for name in array_names(model) if name not in buffers}
    if is_equinox(model):
        import equinox

        of_classes = ((equinox.nn.Linear, LINEAR), (equinox.nn.Embedding, TABLE))
        for name, module in modules_in(model).items():
            weight = f"{name}.weight" if name else "weight"
            kind = next((kind for owner, kind in of_classes if isinstance(module, owner)), "")
            found |= {weight: kind} if kind and weight in found else {}
    return found


# --- a model as a whole


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

        switched = equinox.nn.inference_mode(model, value=not training)
        return overwrite(model, switched) if hasattr(model, OWN) else switched
    return model


def device(model: Any) -> Any:
    held = (array for array in array_names(model).values() if hasattr(array, "sharding"))
    return next((array.sharding for array in held), None)
