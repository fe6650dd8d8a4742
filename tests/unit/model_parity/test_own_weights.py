"""`weights=False`: both keep their own weights, and modules are paired by what these and their outputs hold."""

from __future__ import annotations

from typing import Any

import pytest

import goldsmith
from support.ports.pairs import port

torch = pytest.importorskip("torch")
nn = torch.nn


def holding(name: str, mistake: str) -> goldsmith.Parity:
    """Compare a port that has the reference's weights already, and is told nothing about names."""
    from goldsmith.frameworks.torch.load import LoadedModule, weight_facts
    from goldsmith.frameworks.torch.models import state
    from goldsmith.runs.live.model_facts import settings_of
    from goldsmith.weights.rules import adapter_from

    pair = port(name)
    torch.manual_seed(0)
    reference = pair.reference()
    with torch.no_grad():
        for parameter in reference.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.4 + (parameter.ndim == 1) * 0.6)
    inputs, candidate = pair.inputs(), pair.candidate(mistake)
    assert pair.adapter is not None
    LoadedModule(
        candidate,
        state(reference),
        weight_facts(reference),
        adapter=adapter_from(pair.adapter),
        layout="",
        settings=settings_of(candidate),
        rebuild=lambda: candidate,
    )
    return goldsmith.parity(reference, candidate, inputs, weights=False)


QUICK = [("gpt", "scale"), ("first release", "no rope"), ("towers", "gelu of texts")]


@pytest.mark.parametrize(
    ("name", "mistake"),
    [
        pytest.param(name, mistake, marks=[] if (name, mistake) in QUICK else [pytest.mark.long])
        for name in ("book", "gpt", "first release", "towers", "speech")
        for mistake in port(name).mistakes
        if "eps" not in mistake or name not in ("book", "first release")  # too small to be seen in their first seeds
    ],
)
def test_the_guilty_module_is_named_by_weights_that_are_equal_under_other_names(name: str, mistake: str) -> None:
    found = holding(name, mistake)
    assert found.outcome == "differs"
    assert found.first_divergence == port(name).mistakes[mistake]


@pytest.mark.parametrize("name", ["gpt", "towers"])
def test_a_right_port_with_equal_weights_under_other_names_agrees_in_gradients_too(name: str) -> None:
    found = holding(name, "")
    assert found, found
    assert [case.name for case in found.report.cases] == ["forward", "gradients"]


class Stem(nn.Module):  # type: ignore[misc, name-defined]
    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv, self.bn = nn.Conv1d(width, 6, 3, padding=1), nn.BatchNorm1d(6)
        nn.init.uniform_(self.bn.running_mean)
        nn.init.uniform_(self.bn.running_var, 0.5, 2)

    def forward(self, x: Any) -> Any:
        return torch.relu(self.bn(self.conv(x)))


class Folded(nn.Module):  # type: ignore[misc, name-defined]
    def __init__(self, stem: Stem, activation: Any) -> None:
        super().__init__()
        self.convolution = nn.utils.fusion.fuse_conv_bn_eval(stem.conv, stem.bn)
        self.activation = activation

    def forward(self, x: Any) -> Any:
        return self.activation(self.convolution(x))


def test_modules_with_other_numbers_are_paired_by_what_they_return() -> None:
    torch.manual_seed(0)
    reference = nn.Sequential(Stem(3), Stem(6), nn.Linear(9, 4)).eval()
    x = torch.randn(2, 3, 9)
    first, second, last = reference
    right = nn.Sequential(Folded(first, torch.relu), Folded(second, torch.relu), last)
    found = goldsmith.parity(reference, right, x, weights=False)
    assert found, found
    assert {item.name: item.theirs for item in found.modules}["0.bn"] == "0.convolution"
    assert any("holds other numbers than the reference's 0.conv.weight" in note for note in found.report.notes)
    wrong = nn.Sequential(Folded(first, torch.relu), Folded(second, nn.functional.silu), last)
    assert goldsmith.parity(reference, wrong, x, weights=False).first_divergence == "1"


def test_a_weight_that_holds_other_numbers_is_named() -> None:
    torch.manual_seed(0)
    reference = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 4), nn.Linear(4, 3))
    candidate = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 4), nn.Linear(4, 3))
    candidate.load_state_dict(reference.state_dict())
    with torch.no_grad():
        candidate[2].weight.copy_(candidate[2].weight.flip(1))
    found = goldsmith.parity(reference, candidate, torch.randn(2, 4), weights=False)
    assert found.first_divergence == "2"
    assert any("other numbers than the reference's 2.weight" in note for note in found.report.notes)


def test_two_models_that_have_nothing_in_common_are_told_so() -> None:
    torch.manual_seed(0)
    found = goldsmith.parity(nn.Linear(4, 3), nn.Linear(4, 3), torch.randn(2, 4), weights=False)
    assert found.outcome == "differs"
    assert any("holds none of the reference's weights" in note for note in found.report.notes)


def test_both_keep_the_weights_that_they_had() -> None:
    torch.manual_seed(0)
    reference, candidate = nn.Linear(4, 3), nn.Sequential(nn.Linear(4, 3)).bfloat16()
    before = [item.clone() for item in (*reference.parameters(), *candidate.parameters())]
    goldsmith.parity(reference, candidate, torch.randn(2, 4), weights=False, copy=False)
    assert all(map(torch.equal, before, (*reference.parameters(), *candidate.parameters())))


# --- rounded checkpoints ----------------------------------------------------------------------------------------------


def net(eps: float = 1e-5) -> Any:
    return nn.Sequential(nn.Linear(6, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 6), nn.LayerNorm(6, eps=eps))


def rounded(eps: float = 1e-5, *, dtype: bool, apart: bool = False) -> goldsmith.Parity:
    """Compare a model with one whose matrices, or all weights, are its own in bfloat16."""
    torch.manual_seed(0)
    reference, candidate = net(), net(eps)
    for item in (reference[1], reference[4]):
        nn.init.normal_(item.weight)
    candidate.load_state_dict(reference.state_dict())
    if dtype:
        candidate.bfloat16()
    with torch.no_grad():
        for item in candidate.parameters():
            if not apart or item.ndim > 1:
                item.copy_(item.bfloat16())
    return goldsmith.parity(reference, candidate, torch.randn(5, 6), weights=False)


def test_a_model_in_bfloat16_agrees_on_the_condition_that_its_weights_may_be_rounded() -> None:
    found = rounded(dtype=True)
    assert found, found
    assert "if weights may be rounded to bfloat16" in str(found).splitlines()[0]


@pytest.mark.parametrize("apart", [False, True])
def test_weights_rounded_without_a_dtype_that_says_so_differ_and_no_module_is_blamed(apart: bool) -> None:
    found = rounded(dtype=False, apart=apart)
    assert (found.outcome, found.report.kind, found.first_divergence) == ("differs", "rounded", "")
    assert "the candidate's weights are the reference's rounded to bfloat16; all else agrees" in str(found)


@pytest.mark.parametrize("dtype", [False, True])
def test_a_bug_beside_rounded_weights_is_named(dtype: bool) -> None:
    found = rounded(1e-2, dtype=dtype)
    assert found.outcome == "differs"
    assert found.first_divergence == "4"


def test_a_tolerance_of_ones_own_is_applied_to_weights_as_they_are() -> None:
    torch.manual_seed(0)
    reference, candidate = nn.Linear(6, 4), nn.Linear(6, 4)
    with torch.no_grad():
        for mine, theirs in zip(reference.parameters(), candidate.parameters(), strict=True):
            theirs.copy_(mine.bfloat16())
    x = torch.randn(5, 6)
    assert goldsmith.parity(reference, candidate, x, weights=False, atol=0.1, rtol=0.0)
    assert not goldsmith.parity(reference, candidate, x, weights=False, atol=1e-6, rtol=0.0)
