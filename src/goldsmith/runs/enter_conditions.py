"""The one place where conditions of a run are entered: those of the libraries that are in use, and of inputs.

What a perturbation changes, which only `rigor` runs, is in `worker/perturbations.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from goldsmith.frameworks import framework
from goldsmith.frameworks.framework import Watch, arrays_of, numerics_of
from goldsmith.gold.arrays import is_tensor
from goldsmith.runs.conditions import OWN, WIDE, Conditions

_MARKED = {"marked": True, "unmarked": False, "": None}


def conditions(wanted: Conditions) -> AbstractContextManager[Watch]:
    """Return a context under these conditions, as far as they are about how libraries compute."""
    return framework.conditions(
        precision=WIDE if wanted.precision == WIDE else "",
        watched=wanted.strict,
        lightly=wanted.lightly,
        compiled=wanted.compiled,
        tf32=wanted.tf32,
        noise=wanted.noise,
        narrowed=wanted.narrowed,
        marked_memory=_MARKED[wanted.memory],
        note_dtypes=wanted.observe == "dtypes",
        keep_outputs=wanted.observe == "op_outputs",
    )


def input_change(wanted: Conditions, on_noise: Callable[[], None] = lambda: None) -> Callable[[Any], Any]:
    """Return the function that changes each floating input and weight of gold's for a run; `on_noise` is called when
    one is disturbed."""
    generator = np.random.default_rng(1 if wanted.noise is None else wanted.noise)

    def change(array: Any) -> Any:
        if wanted.precision != OWN:
            array = _converted(array, wanted)
        if wanted.columns and not is_tensor(array):
            array = np.asfortranarray(array)
        if wanted.noise is not None or wanted.unit:
            on_noise()
            array = numerics_of(array).disturb(array, generator, wanted.unit)
        return array

    return change


def _converted(array: Any, wanted: Conditions) -> Any:
    if wanted.precision == WIDE and not wanted.halves:
        return numerics_of(array).widened(array)
    return arrays_of(array).cast(array, wanted.precision)
