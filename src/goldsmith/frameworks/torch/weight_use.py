"""Which weights a model's results depend on. Calls of layers do not tell: a layer that is never called is still used
if its weight is passed to `F.linear`."""

from __future__ import annotations

import contextlib
from typing import Any

from goldsmith.frameworks.torch.hooks import on_leave
from goldsmith.gold.call_forms import tensors_in
from goldsmith.instruments.own_calls import unwatched

MAX_GRAPH_NODES = 100_000


def unused_parameters(model: Any, returned: Any) -> tuple[str, ...]:
    """Return the parameters that `returned` was not computed from, as far as autograd's graph tells: where there is no
    graph, or for parameters that require no gradients, nothing is known."""
    outputs = [item for item in tensors_in([returned]) if getattr(item, "grad_fn", None) is not None]
    used, complete = _leaves(outputs)
    named = model.named_parameters(remove_duplicate=False) if used and complete else ()
    return tuple(name for name, item in named if item.requires_grad and id(item) not in used)


class WeightUse:
    """An observer of one model's outputs. It needs autograd's graph: under `no_grad` it sees nothing."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._used: set[int] = set()
        on_leave(model, self._called)

    @unwatched
    def _called(self, module: Any, args: Any, kwargs: Any, output: Any) -> None:
        with contextlib.suppress(Exception):  # missing evidence is not a reason to fail
            if not all(id(item) in self._used for item in self._model.parameters()):
                self._used |= _leaves(tensors_in([output]))[0]

    def names(self) -> tuple[str, ...]:
        """Return the parameters that an output was computed from, or that have a gradient."""
        return tuple(
            name
            for name, item in self._model.named_parameters()
            if id(item) in self._used or getattr(item, "grad", None) is not None
        )

    def __deepcopy__(self, memo: Any) -> WeightUse:
        return self


def _leaves(outputs: list[Any]) -> tuple[set[int], bool]:
    """Return the ids of all leaf tensors below `outputs` in autograd's graph, and whether all of it was searched."""
    found: set[int] = set()
    seen: set[Any] = set()
    waiting = [item.grad_fn for item in outputs if getattr(item, "grad_fn", None) is not None]
    while waiting and len(seen) < MAX_GRAPH_NODES:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            found.add(id(node.variable))
        waiting += [below for below, _ in node.next_functions if below is not None]
    return found, not waiting
