"""What a rule that puts the rows of weights into another order does to the outputs of modules: they are in that order,
too, and are put back before they are compared."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from goldsmith.judge.traces import Call
from goldsmith.runs.implementation import LINEAR, Described

NOT_COMPARABLE = "not comparable: its numbers are in another order, as the rows of weights are"


@dataclass
class RowOrders:
    """By the reference's modules, for each of the candidate's channels which of the reference's it is: in `outputs`,
    and in `inputs` of modules that work channel by channel. `unclear` are modules of which only that is known that
    their weights are in another order; `around` are modules that hold any of them."""

    outputs: dict[str, Any] = field(default_factory=dict)
    inputs: dict[str, Any] = field(default_factory=dict)
    unclear: set[str] = field(default_factory=set)
    around: set[str] = field(default_factory=set)
    weighty: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, rows: Mapping[str, Sequence[int]], reference: Described) -> RowOrders:
        """Work out what orders of rows mean; `rows` are by the reference's weights."""
        import numpy as np

        found = cls(weighty={name.rpartition(".")[0] for name in reference.weights} if rows else set())
        for weight, order in rows.items():
            module = weight.rpartition(".")[0]
            shapes = {name: shape for name, shape in reference.weights.items() if name.rpartition(".")[0] == module}
            matrices = [name for name, shape in shapes.items() if len(shape) > 1]
            known = found.outputs.setdefault(module, np.asarray(order))
            if any(reference.kinds.get(name) != LINEAR for name in matrices) or not np.array_equal(known, order):
                found.unclear.add(module)
            elif not matrices:
                found.inputs[module] = known
            elif not set(matrices) <= rows.keys():
                found.unclear.add(module)
            found.around.add(module.rpartition(".")[0])
        return found

    def is_comparable(self, module: str) -> bool:
        """Say whether a module's tensors can be put into the reference's order. A module without weights next to one
        whose outputs are in another order may be given those, and return them so."""
        if module in self.unclear:
            return False
        beside = any(module.startswith(f"{name}." if name else "") and module != name for name in self.around)
        return not beside or module in self.weighty or any(_is_in(name, module) for name in self.weighty)

    def to_reference(self, module: str, call: Call) -> Call:
        """Put the tensors of one of the candidate's calls into the reference's order."""
        if module not in self.outputs:
            return call
        inputs = [self._back(item, self.inputs.get(module)) for item in call.inputs]
        return dataclasses.replace(call, inputs=tuple(inputs), outputs=self.outputs_to_reference(module, call.outputs))

    def outputs_to_reference(self, module: str, outputs: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(self._back(item, self.outputs.get(module)) for item in outputs)

    def to_candidate(self, module: str, inputs: Sequence[Any]) -> tuple[Any, ...]:
        """Put the reference's inputs into the candidate's order."""
        order = self.inputs.get(module)
        return tuple(item[..., order] if _fits(item, order) else item for item in inputs)

    def _back(self, item: Any, order: Any) -> Any:
        return item[..., order.argsort()] if _fits(item, order) else item


def _fits(item: Any, order: Any) -> bool:
    return order is not None and bool(getattr(item, "shape", ())) and item.shape[-1] == len(order)


def _is_in(inner: str, outer: str) -> bool:
    return inner.startswith(f"{outer}.")
