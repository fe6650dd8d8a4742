"""Which weights of a model its results depend on, whoever reads them: a layer that is never called may still serve,
where `F.linear` is given its weight."""

from __future__ import annotations

import contextlib
from typing import Any

from goldsmith.gold.call_forms import tensors_in

MOST_NODES = 100_000


class WeightUse:
    """Watches one model's outputs. Only what autograd has recorded can be seen: under `no_grad` nothing is."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._used: set[int] = set()
        model.register_forward_hook(self._called)

    def _called(self, module: Any, args: Any, output: Any) -> None:
        with contextlib.suppress(Exception):  # evidence that cannot be had is none; it is no reason to fail
            self._used |= _leaves(tensors_in([output]))

    def names(self) -> tuple[str, ...]:
        """Parameters that an output was computed from, or that have a gradient."""
        return tuple(
            name
            for name, item in self._model.named_parameters()
            if id(item) in self._used or getattr(item, "grad", None) is not None
        )

    def __deepcopy__(self, memo: Any) -> WeightUse:
        return self


def _leaves(outputs: list[Any]) -> set[int]:
    """The ids of all leaf tensors below `outputs` in autograd's graph."""
    found: set[int] = set()
    seen: set[Any] = set()
    waiting = [item.grad_fn for item in outputs if getattr(item, "grad_fn", None) is not None]
    while waiting and len(seen) < MOST_NODES:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            found.add(id(node.variable))
        waiting += [below for below, _ in node.next_functions if below is not None]
    return found
