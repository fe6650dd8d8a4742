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
