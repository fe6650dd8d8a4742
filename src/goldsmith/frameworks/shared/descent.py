"""An optimiser for models whose gradients are kept beside them: plain gradient descent, or a transformation of
gradients by name, which has `init` and `update`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from goldsmith.frameworks.framework import library_of, undisturbed
from goldsmith.frameworks.shared.gradients import made_like
from goldsmith.runs.implementation import PLAIN_LEARNING_RATE


class Descent:
    def __init__(self, model: Any, transformation: Any) -> None:
        library = library_of(model)
        assert library is not None
        self._model, self._models, self._transformation = model, library.models, transformation
        self._state = None if transformation is None else transformation.init(library.models.parameters(model))

    @classmethod
    def of(cls, model: Any, make: Callable[[Any], Any] | None) -> Descent:
        """Return an optimiser; `make` is a transformation, or returns one for a model's parameters."""
        made: Any = make
        if made is not None and not hasattr(made, "update"):
            library = library_of(model)
            assert library is not None
            try:
                made = made(library.models.parameters(model))
            except Exception as error:
                raise TypeError(f"its optimizer cannot be made of a dict of arrays ({error})") from error
            if not (hasattr(made, "init") and hasattr(made, "update")):
                raise TypeError("its optimizer must be a transformation of gradients, with init and update")
        return cls(model, made)

    def zero_grad(self) -> None:
        self._models.clear_gradients(self._model)

    def step(self) -> None:
        before, taken = self._models.parameters(self._model), self._models.gradients(self._model)
        slopes = {
            name: made_like(np.zeros(item.shape), item) if taken[name] is None else taken[name]
            for name, item in before.items()
        }
        if self._transformation is None:
            moves = {name: -PLAIN_LEARNING_RATE * item for name, item in slopes.items()}
        else:
            with undisturbed():  # it may count steps in float32 even in float64, which is no rounding of the model's
                moves, self._state = self._transformation.update(slopes, self._state, before)
        self._models.put_back(self._model, {name: item + moves[name] for name, item in before.items()})
