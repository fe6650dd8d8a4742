"""Tokens of two models: a tie by the reference's scores agrees, whether scores are returned or only seen inside."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

import goldsmith


class Head(nn.Module):
    """Chooses tokens; some differ from others by rounding alone. `off` is added to the scores of one that does."""

    def __init__(self, *, backwards: bool = False, off: float = 0.0, scores: bool = True) -> None:
        super().__init__()
        self.inner, self.out = nn.Linear(24, 24), nn.Linear(24, 19, bias=False)
        self.backwards, self.off, self.scores = backwards, off, scores

    def forward(self, x: torch.Tensor) -> Any:
        hidden = torch.tanh(self.inner(x))
        scores = hidden.flip(-1) @ self.out.weight.T.flip(0) if self.backwards else self.out(hidden)
        chosen = scores + self.off * torch.eye(19)[3] if self.off else scores
        return (scores, chosen.argmax(-1)) if self.scores else chosen.argmax(-1)


def compared(**options: Any) -> dict[str, Any]:
    torch.manual_seed(0)
    reference = Head(scores=options.get("scores", True))
    with torch.no_grad():
        reference.out.weight[3] = reference.out.weight[7] * (1 - 2e-7)
    return goldsmith.parity(reference, Head(**options), torch.randn(8, 40, 24)).to_dict()


@pytest.mark.parametrize("scores", [True, False], ids=["returned", "inside"])
def test_a_token_that_ties_agrees_and_one_that_does_not_differs(scores: bool) -> None:
    tied = compared(backwards=True, off=1e-6, scores=scores)
    assert tied["outcome"] == "agrees"
    assert tied["cases"][0]["chosen"][0]["ties"] > 0
    assert any("not the reference's and as right" in note for note in tied["notes"])
    wrong = compared(off=0.5, scores=scores)
    assert wrong["outcome"] == "differs"
    assert "times what noise explains" in wrong["cases"][0]["chosen"][0]["why"]


class Expert(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(24, 48), nn.Linear(48, 24)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(torch.relu(self.up(x)))


class Experts(nn.Module):
    """Sends each row to its two best experts. Made otherwise, scores are summed in parts, or something is wrong."""

    def __init__(self, kind: str = "") -> None:
        super().__init__()
        self.kind = kind
        self.before, self.gate = nn.Linear(24, 24), nn.Linear(24, 6, bias=False)
        self.experts = nn.ModuleList(Expert() for _ in range(6))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.before(x)
        weight = self.gate.weight
        scores = (
            sum(x[:, i : i + 4] @ weight[:, i : i + 4].T for i in (20, 16, 12, 8, 4, 0)) if self.kind else self.gate(x)
        )
        scores = scores + 0.05 * (torch.arange(6) == 1) if self.kind == "biased" else scores
        shares, chosen = scores.softmax(-1).topk(2, dim=-1)
        out = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            for rank in range(2):
                rows = chosen[:, rank] == number
                if rows.any():
                    out[rows] = out[rows] + shares[rows, rank, None] * expert(x[rows])
        return out + 1e-2 * (torch.arange(len(x)) == 5)[:, None] if self.kind == "one row" else out


@pytest.mark.parametrize(
    ("kind", "apart", "outcome"),
    [
        ("in parts", 5e-8, "agrees"),
        ("in parts", 0.0, "inconclusive"),
        ("biased", 5e-8, "differs"),
        ("one row", 5e-8, "differs"),
        ("one row", 0.0, "differs"),
    ],
)
def test_a_route_that_flips_by_rounding_is_told_as_such(kind: str, apart: float, outcome: str) -> None:
    """Where two experts score the same, it flips in float64, too."""
    torch.manual_seed(0)
    reference = Experts()
    with torch.no_grad():
        reference.gate.weight[1] = reference.gate.weight[4] * (1 - apart)
    x = torch.randn(256, 24)
    found = goldsmith.parity(reference, Experts(kind), x).to_dict()
    assert found["outcome"] == outcome
    told = any(
        "of 256 rows otherwise than in the reference: by its own scores in gate" in text
        for text in (*found["notes"], found["reason"])
    )
    assert told == (kind == "in parts"), found["notes"]


class Routed(nn.Module):
    """Sends each row to one of six experts, of which two score the same. Made otherwise, the other of these is taken,
    and something may be wrong, too."""

    def __init__(self, kind: str = "") -> None:
        super().__init__()
        self.kind = kind
        self.gate, self.experts = nn.Linear(16, 6, bias=False), nn.ModuleList(nn.Linear(16, 16) for _ in range(6))

    def forward(self, x: torch.Tensor) -> Any:
        scores = self.gate(x)
        best = scores.argmax(-1)
        best = torch.where(best == 1, torch.tensor(4), best) if self.kind else best
        y = torch.stack([self.experts[expert](row) for expert, row in zip(best.tolist(), x, strict=True)])
        y = 1.1 * y if self.kind == "wrong values" else y
        labels = 10 * best + (self.kind == "wrong labels")
        return scores, best, y, labels, torch.bincount(best, minlength=6)


@pytest.mark.parametrize(
    ("kind", "outcome"), [("right", "inconclusive"), ("wrong values", "differs"), ("wrong labels", "differs")]
)
def test_what_follows_from_equal_scores_is_not_judged_and_what_does_not_is(kind: str, outcome: str) -> None:
    """Values and labels in rows of the tie, counts, and gradients of the experts."""
    torch.manual_seed(0)
    reference = Routed()
    with torch.no_grad():
        reference.gate.weight[4] = reference.gate.weight[1]
    found = goldsmith.parity(reference, Routed(kind), torch.randn(40, 16)).report
    assert found.outcome == outcome, found.reason
    assert found.cases[0].chosen[0].unjudged, "the first of equal scores may be meant"
    if kind == "right":
        assert {case.outcome for case in found.cases} == {"inconclusive"}
        assert "the first of equal scores is right, if that is meant" in found.reason
        assert any("is not judged in rows that a tie sends elsewhere" in note for note in found.notes)
        assert not found.first_divergence


class OneRouted(Routed):
    """Takes the other expert in one row, where both score the same but for rounding; and all rows are wrong in float32
    alone, as of a kernel that leaves float64 to the library."""

    def forward(self, x: torch.Tensor) -> Any:
        scores = self.gate(x)
        best = scores.argmax(-1)
        best[0] = 4 if x.dtype == torch.float32 else best[0]
        y = torch.stack([self.experts[expert](row) for expert, row in zip(best.tolist(), x, strict=True)])
        return scores, y if x.dtype == torch.float64 else 1.05 * y


def test_a_tie_in_one_row_excuses_that_row_alone() -> None:
    torch.manual_seed(0)
    x = torch.randn(40, 16)
    reference = OneRouted()
    with torch.no_grad():
        reference.gate.weight[1] = 3 * x[0] / x[0].norm()
        reference.gate.weight[4] = reference.gate.weight[1] - 3e-8 * x[0]
    right = Routed()
    right.forward = lambda x: Routed.forward(right, x)[::2]  # type: ignore[method-assign]
    candidate = OneRouted()
    right.load_state_dict(reference.state_dict())
    candidate.load_state_dict(reference.state_dict())
    assert goldsmith.parity(right, candidate, x).report.outcome in ("differs", "inconclusive")
