"""`goldsmith.parity(..., in_step=True)`: large models, judged as their tensors come."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

import goldsmith

torch = pytest.importorskip("torch")
nn = torch.nn


class Old(nn.Module):  # type: ignore[misc, name-defined]
    """A layer with separate projections."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x: Any) -> Any:
        return x + self.down(torch.relu(self.up(self.norm(x))))


class New(nn.Module):  # type: ignore[misc, name-defined]
    """The same under other names, with what can be wrong: a factor in the middle, or another eps."""

    def __init__(self, width: int = 8, factor: float = 1.0, eps: float = 1e-5) -> None:
        super().__init__()
        self.pre = nn.LayerNorm(width, eps=eps)
        self.fc1, self.fc2 = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.factor = factor

    def forward(self, x: Any) -> Any:
        y = torch.relu(self.fc1(self.pre(x))) * self.factor
        return x + self.fc2(y)


def models(**wrong: Any) -> tuple[Any, Any]:
    torch.manual_seed(0)
    return nn.Sequential(Old(), Old(), Old()), nn.Sequential(New(), New(**wrong), New())


def in_step(reference: Any, candidate: Any) -> Any:
    return goldsmith.parity(reference, candidate, torch.randn(3, 5, 8), in_step=True)


def test_a_port_under_other_names_agrees_and_both_models_stay_as_they_were() -> None:
    reference, candidate = models()
    before = {name: item.clone() for name, item in candidate.state_dict().items()}
    found = in_step(reference, candidate)
    assert found
    assert str(found).startswith("Sequential: agrees with Sequential in forward pass.")
    assert all(torch.equal(before[name], item) for name, item in candidate.state_dict().items())
    assert candidate.training
    assert candidate[0].fc1.weight.data_ptr() != reference[0].up.weight.data_ptr()


@pytest.mark.parametrize(("wrong", "first"), [({"factor": 1.5}, "1"), ({"eps": 0.5}, "1.norm")])
def test_the_first_wrong_module_is_named_and_the_rest_are_victims(wrong: dict[str, float], first: str) -> None:
    found = in_step(*models(**wrong))
    assert not found
    assert found.first_divergence == first
    roles = {item.name: item.role for item in found.modules}
    assert roles[first] == "source"
    assert roles["2"] == "victim"
    assert roles["0"] == ""


def test_an_epsilon_that_moves_results_by_a_few_millionths_is_named() -> None:
    found = in_step(*models(eps=1e-6))
    assert not found
    assert found.first_divergence == "1.norm"


class Centred(nn.Module):  # type: ignore[misc, name-defined]
    """Subtract the mean of numbers that are far from zero: what is left of them is mostly rounding."""

    def __init__(self, far: float, other: bool = False, wrong: float = 0.0) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(64))
        self.far, self.other, self.wrong = far, other, wrong

    def forward(self, x: Any) -> Any:
        x = x + self.far
        other = (x.flip(-1) / 64).cumsum(-1)[..., -1:] * (1 + self.wrong)
        return (x - (other if self.other else x.mean(-1, keepdim=True))) * self.weight


def far_from_zero(far: float, wrong: float = 0.0) -> Any:
    torch.manual_seed(0)
    reference = nn.Sequential(nn.Linear(64, 64), Centred(far))
    candidate = nn.Sequential(nn.Linear(64, 64), Centred(far, other=True, wrong=wrong))
    return goldsmith.parity(reference, candidate, torch.randn(5, 64), in_step=True)


def test_what_the_references_own_noise_explains_agrees() -> None:
    found = far_from_zero(300.0)
    relative = next(item.relative_alone for item in found.modules if item.name == "1")
    assert relative is not None
    assert relative > 5e-6  # more than a few roundings
    assert found, found
    assert "within 3 x the reference's own noise" in str(found)


def test_what_it_does_not_explain_differs() -> None:
    found = far_from_zero(30.0, wrong=1e-6)
    assert not found
    assert found.first_divergence == "1"
    assert not far_from_zero(3000.0)  # so noisy that nothing can be said


def test_weights_without_a_place_are_named() -> None:
    reference, _ = models()
    found = in_step(reference, nn.Sequential(New(), New()))
    assert (found.outcome, found.report.kind) == ("could-not-run", "weights")
    assert "2.up.weight" in found.report.weights.unplaced


def test_a_function_has_no_modules_to_run_in_step() -> None:
    with pytest.raises(goldsmith.GoldsmithError, match="no modules to run in step"):
        goldsmith.parity(torch.relu, torch.tanh, torch.randn(3), in_step=True)


class Conv1D(nn.Module):  # type: ignore[misc, name-defined]
    """A matrix whose columns are outputs, as GPT-2 has them."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.randn(inputs, outputs)), nn.Parameter(torch.randn(outputs))

    def forward(self, x: Any) -> Any:
        return x @ self.weight + self.bias


def stack(kind: Any, *sizes: int, factor: float = 1.0) -> Any:
    class Stack(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList(kind(one, two) for one, two in pairwise(sizes))

        def forward(self, x: Any) -> Any:
            for layer in self.layers:
                x = torch.tanh(layer(x) * factor)
            return x

    torch.manual_seed(0)
    return Stack()


@pytest.mark.parametrize("kinds", [(Conv1D, nn.Linear), (nn.Linear, Conv1D)])
def test_matrices_that_are_stored_the_other_way_round_are_carried_so_square_ones_too(kinds: Any) -> None:
    reference, candidate = (stack(kind, 8, 8, 24, 8) for kind in kinds)
    found = in_step(reference, candidate)
    assert found, found
    assert "if " not in str(found).splitlines()[0]  # other sizes show it
    wrong = in_step(reference, stack(kinds[1], 8, 8, 24, 8, factor=1.1))
    assert wrong.first_divergence == "Stack"


def test_where_only_square_ones_are_the_other_way_round_the_first_line_says_so() -> None:
    found = in_step(stack(Conv1D, 8, 8, 8), stack(nn.Linear, 8, 8, 8))
    assert found, found
    assert "if layers.*.weight are stored the other way round" in str(found).splitlines()[0]


def test_with_weights_of_their_own_those_that_hold_the_same_numbers_correspond() -> None:
    reference, candidate = stack(nn.Linear, 8, 8, 8, 8), stack(nn.Linear, 8, 8, 8, 8, factor=1.1)
    for number, other in enumerate((2, 0, 1)):  # the order in which they are registered is another
        candidate.layers[other].load_state_dict(reference.layers[number].state_dict())
    candidate.layers = nn.ModuleDict({name: candidate.layers[int(name)] for name in "012"})

    def forward(x: Any, factor: float = 1.0) -> Any:
        for name in "201":
            x = torch.tanh(candidate.layers[name](x) * factor)
        return x

    candidate.forward = forward
    found = goldsmith.parity(reference, candidate, torch.randn(3, 8), weights=False, in_step=True)
    assert found, found
    assert {item.name: item.theirs for item in found.modules}["layers.0"] == "layers.2"


def test_what_does_not_fit_is_named_with_its_module_and_sizes() -> None:
    found = in_step(stack(nn.Linear, 8, 8, 4), stack(nn.Linear, 8, 8, 5))
    assert (found.outcome, found.report.kind) == ("could-not-run", "weights")
    assert "layers.1.weight (4×8)" in found.report.reason
    assert "layers.1 (Linear) of the candidate" in found.report.reason
    assert "build both with the same sizes" in found.report.reason


def test_an_output_of_another_shape_is_told_where_it_arises() -> None:
    class Turned(nn.Linear):  # type: ignore[misc, name-defined]
        def forward(self, x: Any) -> Any:
            return super().forward(x).transpose(0, 1)

    torch.manual_seed(0)
    found = in_step(nn.Sequential(nn.Linear(8, 8), nn.Tanh()), nn.Sequential(Turned(8, 8), nn.Tanh()))
    assert found.first_divergence == "0"
    assert "[5, 3, 8] where the reference has [3, 5, 8]" in found.report.reason
    assert found.report.first.name == "0"
