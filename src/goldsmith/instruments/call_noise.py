"""How far rounding moves what each submodule and each function returns: outputs of one run are kept, and compared with
those of others. Calls in a trace are judged by it.
"""

from __future__ import annotations

import contextlib
import functools
import math
from typing import Any

import numpy as np

from goldsmith.foundation.nested import leaves_in
from goldsmith.frameworks.framework import models_of, undisturbed
from goldsmith.gold.arrays import as_numpy, dtype_name, is_array
from goldsmith.gold.call_forms import function_key
from goldsmith.gold.sizes import relative_size
from goldsmith.instruments.own_calls import unwatched

MAX_CALLS = 6
"""Calls of each submodule or function that are compared, as many as a trace has of a function."""
MAX_BYTES = 8 * 2**20
"""Of all outputs that are kept of one case. What comes later is not compared."""


class CallOutputs:
    """Outputs of the first few calls during one run of a case: of its models' submodules, by model and name, and of the
    functions and methods that students write, by `function_key`. It is a `Listener` of `own_calls`."""

    def __init__(self) -> None:
        self.kept: dict[str, list[list[Any]]] = {}
        self._bytes = 0
        self._handles: list[Any] = []
        self._hooked: set[int] = set()
        self._names: dict[int, str] = {}

    def attach(self, label: str, model: Any) -> None:
        """Keep what the submodules of a model return from here on."""
        models = models_of(model)
        if models is None:
            return
        for name, module in models.modules(model).items():
            self._hooked.add(id(module))
            keep = functools.partial(self._keep_output, f"{label}.{name}" if name else label)
            self._handles.append(models.on_leave(module, keep))

    def detach(self) -> None:
        for handle in self._handles:
            handle.remove()

    def _keep_output(self, key: str, module: Any, args: Any, kwargs: Any, output: Any) -> None:
        self.keep(key, output)

    def enter_function(self, frame: Any, name: str, owner: Any) -> None:
        """Remember the name of a call until it ends, unless a hook keeps what it returns."""
        if id(owner) not in self._hooked or not name.endswith(".forward"):
            self._names[id(frame)] = name

    def leave_function(self, frame: Any, value: Any, *, raised: bool) -> None:
        """Keep what a function or method returns."""
        name = self._names.pop(id(frame), "")
        if name and not raised:
            self.keep(function_key(name), value)

    @unwatched
    def keep(self, key: str, output: Any) -> None:
        """Keep a copy of the floating-point numbers in an output; one that cannot be copied has none."""
        calls = self.kept.setdefault(key, [])
        if len(calls) >= MAX_CALLS or self._bytes > MAX_BYTES:
            return
        copies: list[Any] = []
        with contextlib.suppress(Exception), undisturbed():
            copies += [copy for item in leaves_in(output) if (copy := _copy(item)) is not None]
        calls.append(copies)
        self._bytes += sum(item.nbytes for item in copies)


def _copy(item: Any) -> Any:
    """Return a copy of a floating-point array or number in float64; None of anything else."""
    if isinstance(item, float | np.floating) or (is_array(item) and dtype_name(item).startswith(("float", "bfloat"))):
        return np.array(as_numpy(item), dtype=np.float64)
    return None


def call_noise(calm: CallOutputs, noisy: CallOutputs) -> dict[str, float]:
    """Return the largest relative distance of what each submodule or function returned in two runs; those that returned
    something else are left out."""
    found = {}
    for key, calls in calm.kept.items():
        others = noisy.kept.get(key, [])
        if [len(call) for call in calls] != [len(call) for call in others]:
            continue
        pairs = [pair for one, two in zip(calls, others, strict=True) for pair in zip(one, two, strict=True)]
        gaps = [_distance(one, two) for one, two in pairs]
        if gaps and all(map(math.isfinite, gaps)):
            found[key] = max(gaps)
    return found


def _distance(one: Any, two: Any) -> float:
    if one.shape != two.shape:
        return math.inf
    return relative_size(two - one, one) if one.any() else 0.0
