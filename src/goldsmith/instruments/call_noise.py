"""How far rounding moves what each submodule returns: hooks that keep outputs of one run, and compare those of others.

Only for pages to look at: nothing is judged by it.
"""

from __future__ import annotations

import contextlib
import math
from typing import Any

import numpy as np

from goldsmith.foundation.nested import leaves_in

MAX_CALLS = 3
"""Calls of each submodule that are compared, as many as a trace has of a model."""
MAX_BYTES = 8 * 2**20
"""Of all outputs that are kept of one case. What comes later is not compared."""


class CallOutputs:
    """Outputs of the submodules of a case's models during one run, by model and name, of the first few calls."""

    def __init__(self) -> None:
        self.kept: dict[str, list[list[Any]]] = {}
        self._bytes = 0
        self._handles: list[Any] = []

    def attach(self, label: str, model: Any) -> None:
        """Keep what the submodules of a torch model return from here on."""
        for name, module in model.named_modules() if hasattr(model, "named_modules") else ():
            hook = _Hook(self, f"{label}.{name}" if name else label)
            self._handles.append(module.register_forward_hook(hook))

    def detach(self) -> None:
        for handle in self._handles:
            handle.remove()

    def keep(self, key: str, output: Any) -> None:
        """Keep a copy of the floating tensors in an output; one that cannot be copied has none."""
        from torch.utils._python_dispatch import _disable_current_modes

        calls = self.kept.setdefault(key, [])
        if len(calls) >= MAX_CALLS or self._bytes > MAX_BYTES:
            return
        copies: list[Any] = []
        with contextlib.suppress(Exception), _disable_current_modes():  # copying is neither disturbed nor counted
            copies += [item.detach().cpu().double().numpy().copy() for item in leaves_in(output) if _is_floating(item)]
        calls.append(copies)
        self._bytes += sum(item.nbytes for item in copies)


class _Hook:
    """One hook on one module. Copies and pickles of the module get a hook that does nothing."""

    def __init__(self, outputs: CallOutputs | None, key: str) -> None:
        self._outputs, self._key = outputs, key

    def __call__(self, module: Any, args: Any, output: Any) -> None:
        import torch

        if self._outputs is not None and not torch.compiler.is_compiling():
            self._outputs.keep(self._key, output)

    def __reduce__(self) -> Any:
        return _Hook, (None, "")


def _is_floating(item: Any) -> bool:
    return hasattr(item, "is_floating_point") and bool(item.is_floating_point())


def call_noise(calm: CallOutputs, noisy: CallOutputs) -> dict[str, float]:
    """Return the largest relative distance of each submodule's outputs in two runs; those that returned something else
    are left out."""
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
    size = float(np.linalg.norm(one))
    return float(np.linalg.norm(two - one)) / size if size else 0.0
