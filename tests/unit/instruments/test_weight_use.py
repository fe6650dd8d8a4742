"""Which weights a model's results depend on, whether or not the layers that hold them are called; and main outputs."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from goldsmith.gold.call_forms import tensors_in
from goldsmith.weights.values import first_of

torch = pytest.importorskip("torch")
nn = torch.nn


class Functional(nn.Module):  # type: ignore[misc, name-defined]
    def __init__(self) -> None:
        super().__init__()
        self.used, self.idle, self.trained = nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x: Any) -> Any:
        return {"y": nn.functional.linear(x, self.used.weight).relu()}


def test_weights_are_used_that_outputs_or_gradients_come_from() -> None:
    from goldsmith.frameworks.torch.observers import WeightUse

    model = Functional()
    use = WeightUse(model)
    with torch.no_grad():
        model(torch.ones(2, 3))
    assert use.names() == (), "under no_grad nothing can be seen"
    model(torch.ones(2, 3))
    assert use.names() == ("used.weight",)
    model.trained(torch.ones(2, 3)).sum().backward()
    assert use.names() == ("used.weight", "trained.weight", "trained.bias")


@dataclasses.dataclass
class Output:
    logits: Any
    hidden: Any
    before: Any = None


def test_a_dataclass_is_read_by_its_fields() -> None:
    logits, hidden = torch.zeros(2), torch.ones(3)
    output = Output(logits, [hidden])
    output.before = output  # it may hold itself
    assert first_of(output) is logits
    assert [item.shape for item in tensors_in([output])] == [(2,), (3,)]
