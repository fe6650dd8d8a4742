"""A few steps of an optimiser, computed in the same way in every library: sums and products of its own arrays.

The optimisers are torch's, with its settings and defaults, but for `lr`, which every recipe says.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from goldsmith.errors.recipe import RecipeMisuse
from goldsmith.frameworks.framework import arrays_of, models_of
from goldsmith.gold.arrays import is_array

Update = Callable[[Any, Any, dict[str, Any]], Any]
"""Makes a parameter's next value of its value, its gradient and what is kept for it from step to step."""


class Training:
    """What a case can do to train a model."""

    def steps(
        self, model: Any, loss: Callable[..., Any], batches: Sequence[Any], *, optimizer: str = "sgd", **settings: Any
    ) -> list[Any]:
        """Train `model` in place: for each batch, one step down the gradient of `loss(model, *batch)`. Return the
        losses.

        `optimizer` is `"sgd"` (with `lr`, `momentum`, `nesterov`, `weight_decay`), `"adam"` or `"adamw"` (with `lr`,
        `betas`, `eps`, `weight_decay`): torch's, with its defaults, whatever library the model is written in.
        """
        update, models = _update_of(optimizer, settings), models_of(model)
        if models is None:
            raise RecipeMisuse(f"case.steps trains models of a library that has gradients, not {type(model).__name__}")
        kept: dict[str, dict[str, Any]] = {}
        losses = []
        for batch in batches:
            call = functools.partial(_loss_of, loss, batch if isinstance(batch, tuple) else (batch,))
            total = models.take_gradients(model, call)
            passed, frozen = models.gradients(model), models.frozen(model)
            own = {name: item for name, item in models.state(model).items() if name not in frozen}
            learned = {name: item for name, item in own.items() if passed.get(name) is not None}
            moved = {name: update(item, passed[name], kept.setdefault(name, {})) for name, item in learned.items()}
            models.put_back(model, moved)
            losses.append(arrays_of(total).copy(total))
        return losses


def _loss_of(loss: Callable[..., Any], batch: tuple[Any, ...], model: Any) -> Any:
    return _number(loss(model, *batch))


def _number(total: Any) -> Any:
    if not is_array(total) or total.shape != ():
        kind = f"an array of shape {tuple(total.shape)}" if is_array(total) else type(total).__name__
        raise RecipeMisuse(f"case.steps: the loss must return one number, as an array without axes, not {kind}")
    return total


def _update_of(optimizer: str, settings: Mapping[str, Any]) -> Update:
    make = _OPTIMISERS.get(optimizer)
    if make is None:
        raise RecipeMisuse(f"case.steps knows no optimizer {optimizer!r}; there are {', '.join(_OPTIMISERS)}")
    known = inspect.signature(make).parameters
    odd = next((name for name in settings if name not in known), "")
    if odd or "lr" not in settings:
        wrong = f"has no setting {odd}" if odd else "needs lr"
        raise RecipeMisuse(f"case.steps: {optimizer} {wrong}; its settings are {', '.join(known)}")
    return make(**settings)


def _sgd(*, lr: float, momentum: float = 0.0, nesterov: bool = False, weight_decay: float = 0.0) -> Update:
    def update(value: Any, gradient: Any, kept: dict[str, Any]) -> Any:
        if weight_decay:
            gradient = gradient + weight_decay * value
        if momentum:
            kept["moved"] = momentum * kept["moved"] + gradient if "moved" in kept else gradient
            gradient = gradient + momentum * kept["moved"] if nesterov else kept["moved"]
        return value - lr * gradient

    return update


def _adam(
    *, lr: float, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0.0
) -> Update:
    one, two = betas

    def update(value: Any, gradient: Any, kept: dict[str, Any]) -> Any:
        if weight_decay:
            gradient = gradient + weight_decay * value
        kept["step"] = step = kept.get("step", 0) + 1
        kept["mean"] = one * kept.get("mean", 0.0) + (1 - one) * gradient
        kept["square"] = two * kept.get("square", 0.0) + (1 - two) * gradient * gradient
        root = (kept["square"] / (1 - two**step)) ** 0.5
        return value - lr * (kept["mean"] / (1 - one**step)) / (root + eps)

    return update


def _adamw(
    *, lr: float, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 1e-2
) -> Update:
    adam = _adam(lr=lr, betas=betas, eps=eps)
    return lambda value, gradient, kept: adam(value * (1 - lr * weight_decay), gradient, kept)


_OPTIMISERS: dict[str, Callable[..., Update]] = {"sgd": _sgd, "adam": _adam, "adamw": _adamw}
