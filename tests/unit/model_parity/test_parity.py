"""`goldsmith.parity` on two live models: right ones agree, wrong ones are named, and both are left as they were."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch
from porting_table import PAGE, PORTS, Port, ask_hooks
from torch import nn

import goldsmith
from support.porting import load

pytestmark = pytest.mark.torch
OLD, NEW = load("old/blocks.py"), load("new/blocks.py")
WRONG = load("new/wrong.py", blocks=NEW)
SIZE = (24, 2)


def x() -> Any:
    return torch.randn(2, 5, 24)


class Net(nn.Module):
    def __init__(self, width: int = 6, drop: float = 0.0) -> None:
        super().__init__()
        self.first = nn.Linear(4, width)
        self.norm = nn.BatchNorm1d(width)
        self.drop = nn.Dropout(drop)
        self.last = nn.Linear(width, 3)

    def forward(self, x: Any) -> Any:
        return self.last(self.drop(torch.relu(self.norm(self.first(x)))))


# --- right ones and wrong ones --------------------------------------------------------------------------------------


LONG = {
    "transposed matrices": "fused weights",
    "epsilon of one norm": "GELU's approximation",
    "scale of attention": "RoPE turns other pairs",
    "causal mask off by one": "RoPE turns other pairs",
}
"""Ports that only `make test-long` tries, and the like of each that is tried always."""


@pytest.mark.parametrize(
    "port",
    [pytest.param(port, id=port.what, marks=pytest.mark.long if port.what in LONG else ()) for port in PORTS],
)
def test_a_right_port_agrees_and_a_wrong_one_is_named_at_its_first_wrong_module(port: Port) -> None:
    module = WRONG if port.file == "wrong" else NEW
    found = goldsmith.parity(getattr(OLD, port.reference)(*SIZE), getattr(module, port.candidate)(*SIZE), x)
    assert bool(found) is not bool(port.wrong), str(found)
    assert found.first_divergence == port.wrong
    roles = {item.name: item.role for item in found.modules}
    assert ("victim" in roles.values()) is bool(port.wrong), "what comes after it is right on the reference's inputs"
    json.dumps(found.to_dict(), allow_nan=False)


def test_the_page_says_what_goldsmith_and_hooks_say_of_the_ports() -> None:
    rows = [line.strip("| ").split(" | ") for line in PAGE.read_text().splitlines() if line.count(" | ") == 6]
    shown = {row[0]: row[1:] for row in rows}
    for port in PORTS:
        wrong, said, said_narrow, seconds, hooks, _ = shown[port.what]
        assert {wrong, said, said_narrow} == {f"`{port.wrong}`" if port.wrong else "nothing"}
        assert float(seconds) < 10
        assert hooks == (f"`{ask_hooks(port, 'float32')}`" if port.wrong else "nothing")


def test_a_module_that_stops_gradients_is_found_although_its_output_is_right() -> None:
    class Detached(OLD.ViTBlock):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__(*SIZE)
            self.mlp = Stopping(24, 96)

    class Stopping(OLD.ViTMLP):  # type: ignore[name-defined, misc]
        def forward(self, x: Any) -> Any:
            return self.fc2(self.act(self.fc1(x.detach())))

    found = goldsmith.parity(OLD.ViTBlock(*SIZE), Detached(), x)
    assert [case.outcome for case in found.report.cases] == ["agrees", "differs"]
    assert found.first_divergence == "mlp"
    assert "passes back" in str(found)


def test_what_is_organised_differently_inside_and_gives_the_same_agrees() -> None:
    class Scaled(nn.Module):
        """The scale is applied in the projection, where the reference applies it to the scores."""

        def __init__(self, early: bool) -> None:
            super().__init__()
            self.proj, self.early = Inner(early), early

        def forward(self, x: Any) -> Any:
            return torch.softmax(self.proj(x) @ x.mT * (1 if self.early else 0.5), dim=-1)

    class Inner(nn.Linear):
        def __init__(self, early: bool) -> None:
            super().__init__(24, 24)
            self.early = early

        def forward(self, x: Any) -> Any:
            return super().forward(x) * (0.5 if self.early else 1)

    found = goldsmith.parity(Scaled(False), Scaled(True), x)
    assert found
    assert any("organised" in note or "inside" in note for note in found.report.notes)


def test_several_sets_of_inputs_are_each_compared_and_the_wrong_one_is_named() -> None:
    class Batched(Net):
        def forward(self, x: Any) -> Any:
            return super().forward(x) if len(x) > 1 else super().forward(x) * 2

    found = goldsmith.parity(Net(), Batched(), [torch.randn(5, 4), lambda: {"x": torch.randn(1, 4)}])
    outcomes = {case.name: case.outcome for case in found.report.cases}
    assert outcomes["inputs 1: forward"] == "agrees"
    assert outcomes["inputs 2: forward"] == "differs"


def test_optimiser_steps_show_what_no_gradient_does() -> None:
    reference, candidate = Net(), Net()
    batch = torch.randn(5, 4)
    assert goldsmith.parity(reference, candidate, batch, steps=2, train=True)

    class Frozen(Net):
        def parameters(self, recurse: bool = True) -> Any:
            return iter([self.first.weight, self.last.weight])

    found = goldsmith.parity(reference, Frozen(), batch, steps=2)
    assert {case.name: case.outcome for case in found.report.cases}["2 steps"] == "differs"


def test_a_bfloat16_port_is_judged_by_what_the_reference_becomes_in_bfloat16() -> None:
    assert goldsmith.parity(OLD.ViTBlock(*SIZE), NEW.ViTBlock(*SIZE).to(torch.bfloat16), x)
    found = goldsmith.parity(OLD.ViTBlock(*SIZE), WRONG.WrongGelu(*SIZE).to(torch.bfloat16), x)
    assert found.first_divergence == "mlp.act", "in float64 the mistake shows all the same"


def test_functions_of_numpy_are_compared_without_torch() -> None:
    import numpy as np

    def mean(values: Any) -> Any:
        return values.mean(axis=-1)

    def other(values: Any) -> Any:
        return values.sum(axis=-1) / values.shape[-1]

    def wrong(values: Any) -> Any:
        return values.sum(axis=-1) / (values.shape[-1] - 1)

    given = np.random.default_rng(0).normal(size=(3, 7)).astype("float32")
    assert goldsmith.parity(mean, other, given)
    assert goldsmith.parity(mean, wrong, given).outcome == "differs"


def test_given_tolerances_decide_instead_of_measured_ones() -> None:
    def right(x: Any) -> Any:
        return x * 2

    def near(x: Any) -> Any:
        return x * 2.001

    assert not goldsmith.parity(right, near, x)
    assert goldsmith.parity(right, near, x, rtol=0.01)


# --- nothing is changed ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("copy", [True, False])
def test_both_models_are_left_exactly_as_they_were(copy: bool) -> None:
    reference, candidate = Net(), Net().eval()
    reference.first.weight.requires_grad_(False)
    candidate.last.weight.grad = torch.ones(3, 6)
    handle = candidate.register_forward_hook(lambda *_: None)
    torch.manual_seed(3)
    before = [_everything(model) for model in (reference, candidate)]
    goldsmith.parity(reference, candidate, torch.randn(5, 4), train=True, steps=1, copy=copy)
    after = [_everything(model) for model in (reference, candidate)]
    assert before == after
    assert list(candidate._forward_hooks) == [handle.id]
    assert candidate.last.weight.grad is not None


def _everything(model: Any) -> Any:
    state = {name: (item.data_ptr(), item.tolist(), item.dtype) for name, item in model.state_dict().items()}
    modes = [(item.training, len(item._forward_hooks), len(item._forward_pre_hooks)) for item in model.modules()]
    return state, modes, [(item.requires_grad, item.grad is None) for item in model.parameters()]


def test_random_numbers_that_are_drawn_later_stay_the_same() -> None:
    torch.manual_seed(7)
    goldsmith.parity(Net(), Net(), lambda: torch.randn(5, 4))
    one = torch.rand(1)
    torch.manual_seed(7)
    Net(), Net()
    assert torch.equal(one, torch.rand(1))


def test_a_model_that_cannot_be_copied_runs_itself_and_is_put_back() -> None:
    import threading

    model = Net()
    model.lock = threading.Lock()
    before = _everything(model)
    found = goldsmith.parity(Net(), model, torch.randn(5, 4))
    assert found
    assert any("cannot be copied" in note for note in found.report.notes)
    assert _everything(model) == before


# --- how it shows itself ----------------------------------------------------------------------------------------------


def test_a_notebook_gets_html_in_which_everything_is_escaped() -> None:
    class Odd(Net):
        pass

    Odd.__name__ = Odd.__qualname__ = "<script>alert(1)</script>"
    text = goldsmith.parity(Net(), Odd(), torch.randn(5, 4))._repr_html_()
    assert "<table>" in text
    assert "<script>" not in text
