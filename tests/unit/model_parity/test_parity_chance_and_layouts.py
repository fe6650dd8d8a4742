"""Dropout that is left on is a mistake with a name; weights that agree only if they are stored otherwise say so."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import goldsmith
from support.ports.pairs import port

pytestmark = pytest.mark.torch
GPT = port("gpt")
WIDTH, HEADS = 24, 3


def x() -> Any:
    return torch.randn(2, 5, WIDTH)


# --- chance -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mistake", "name", "reference"),
    [
        ("dropout", "transformer.h.1.attn", "layers.1.attention"),
        ("always on", "transformer.h.1.mlp.dropout", "layers.1.mlp"),
    ],
)
def test_dropout_that_is_left_on_in_eval_mode_is_named(mistake: str, name: str, reference: str) -> None:
    found = GPT.compare(mistake)
    assert (found.outcome, found.report.kind) == ("differs", "random"), str(found)
    assert (found.report.first_name, found.first_divergence) == (name, reference)
    assert "is dropout left on?" in str(found)
    assert [item.name for item in found.modules if item.role == "source"] == [reference]


class Layers(nn.Module):
    def __init__(self, first: float = 0.0, last: float = 0.0, factor: float = 1.0, idle: bool = False) -> None:
        super().__init__()
        self.one, self.two, self.act = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH), nn.Tanh()
        self.first, self.last, self.factor, self.idle = first, last, factor, idle

    def forward(self, x: Any) -> Any:
        if self.idle:
            torch.rand(3)
        x = F.dropout(self.one(x), self.first) if self.first else self.one(x)
        x = self.two(self.act(x) * self.factor)
        return F.dropout(x, self.last) if self.last else x


def test_a_mistake_before_the_dropout_is_named_before_it() -> None:
    class Doubled(nn.Linear):
        def forward(self, input: Any) -> Any:
            return 2 * super().forward(input)

    candidate = Layers(last=0.3)
    candidate.one = Doubled(WIDTH, WIDTH)
    found = goldsmith.parity(Layers(), candidate, x)
    assert found.first_divergence == "one", str(found)
    assert [item.name for item in found.modules if item.role == "source"] == ["one", ""]


def test_numbers_that_are_drawn_and_not_used_are_not_to_blame() -> None:
    assert goldsmith.parity(Layers(), Layers(idle=True), x)
    found = goldsmith.parity(Layers(), Layers(idle=True, factor=0.5), x)
    assert (found.outcome, found.report.kind) == ("differs", "values")
    assert "random" not in str(found)


def test_nothing_can_be_said_where_the_reference_draws_or_both_are_in_train_mode() -> None:
    for reference, candidate, train in ((Layers(first=0.3), Layers(), False), (Layers(), Layers(first=0.3), True)):
        found = goldsmith.parity(reference, candidate, x, train=train)
        assert (found.outcome, found.report.kind) == ("could-not-run", "random")


# --- layouts ----------------------------------------------------------------------------------------------------------


class Split(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.out, self.num_heads = nn.Linear(WIDTH, WIDTH), HEADS

    def forward(self, x: Any) -> Any:
        return self.out(
            attend(*(layer(x).unflatten(-1, (HEADS, -1)) for layer in (self.q_proj, self.k_proj, self.v_proj)))
        )


class Fused(nn.Module):
    def __init__(self, by_head: bool) -> None:
        super().__init__()
        self.qkv, self.out, self.by_head = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH), by_head
        self.num_heads = HEADS

    def forward(self, x: Any) -> Any:
        sizes = (HEADS, 3, -1) if self.by_head else (3, HEADS, -1)
        return self.out(attend(*self.qkv(x).unflatten(-1, sizes).unbind(-2 if self.by_head else -3)))


def attend(q: Any, k: Any, v: Any) -> Any:
    q, k, v = (item.transpose(1, 2) for item in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(-2)


def test_a_fused_matrix_that_agrees_only_head_by_head_says_so_in_the_headline() -> None:
    found = goldsmith.parity(Split(), Fused(by_head=True), x)
    assert found, str(found)
    assert "gradients, if qkv.weight, qkv.bias are stored head by head." in str(found).splitlines()[0]
    assert found.report.condition
    assert "head by head" not in str(goldsmith.parity(Split(), Fused(by_head=False), x))


class Turned(nn.Module):
    """Two square matrices, of which rows are inputs."""

    def __init__(self, wide: int = WIDTH) -> None:
        super().__init__()
        self.one, self.two = (nn.Parameter(torch.randn(*size)) for size in ((WIDTH, wide), (wide, WIDTH)))

    def forward(self, x: Any) -> Any:
        return torch.tanh(x @ self.one) @ self.two


class Straight(nn.Module):
    def __init__(self, wide: int = WIDTH) -> None:
        super().__init__()
        self.one, self.two = nn.Linear(WIDTH, wide, bias=False), nn.Linear(wide, WIDTH, bias=False)

    def forward(self, x: Any) -> Any:
        return self.two(torch.tanh(self.one(x)))


def test_square_matrices_that_agree_only_the_other_way_round_say_so_and_others_need_not() -> None:
    found = goldsmith.parity(Straight(), Turned(), x)
    assert "if one, two are stored the other way round" in str(found).splitlines()[0], str(found)
    found = goldsmith.parity(Straight(32), Turned(32), x)
    assert found, str(found)
    assert not found.report.condition, "shapes leave no other way"
