"""A model that can run in any precision, with other weights, and is what it was afterwards.

It is always a copy, where the library can make one: `models.copied`; `models.restored` puts back what a call changes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from goldsmith.errors.parity import BadWeights
from goldsmith.frameworks.framework import arrays_of, library_of
from goldsmith.gold.arrays import is_inexact

Change = Callable[[Any], Any]


class WorkingModel:
    """The model that runs: `module`. `note` says why it is not a copy, where one was asked for."""

    def __init__(self, model: Any, *, copied: bool) -> None:
        library = library_of(model)
        assert library is not None
        self.note, self._library, self._models = "", library, library.models
        for name, array in self._models.weights(model).items():
            refused = arrays_of(array).refusal(array)
            if refused is not None:
                raise BadWeights(name, *refused)
        try:
            self.module = self._models.copied(model)
        except Exception as error:  # what a model holds may be something that its library cannot take apart
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:120]
            self.note = f"cannot be split ({reason}), so it ran itself and was put back as it was"
            self.module = model

    def own_weights(self) -> None:
        """Do nothing: a copy shares no memory that is written to."""

    @contextlib.contextmanager
    def running(
        self, dtype: str, *, train: bool, written: bool, change: Change | None = None, changes_all: bool = False
    ) -> Iterator[None]:
        """Run in `dtype`, or in its own if that is empty; `change` is applied to everything that is not a parameter, or
        to all if it `changes_all`."""
        constants = self._models.weight_facts(self.module).buffers
        wide = self._library.arrays.wide() if dtype == "float64" else contextlib.nullcontext()
        with wide, self._models.restored(self.module):
            found = {}
            for name, array in self._models.weights(self.module).items():
                if is_inexact(array):
                    made = arrays_of(array).cast(array, dtype) if dtype else array
                    found[name] = change(made) if change and (changes_all or name in constants) else made
            try:
                self._models.put_back(self.module, found)
                self._models.set_training(self.module, train)
                yield
            finally:
                self.close()

    def close(self) -> None:
        """Forget what was kept beside it; the caller's own was never touched."""
        self._models.clear_gradients(self.module)
