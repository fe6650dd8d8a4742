"""Rules that put rows of weights into another order: outputs are in that order, too, and nobody is blamed for it."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import goldsmith
from goldsmith.adapter import rename, rows
from goldsmith.judge.traces import Call
from goldsmith.model_parity.row_orders import RowOrders
from goldsmith.runs.implementation import LINEAR, Described
from support.ports.pairs import port

pytestmark = pytest.mark.torch
WIDTH, HEADS = 24, 3
HEAD = WIDTH // HEADS
GPT = port("gpt")


class Turn(nn.Module):
    """Rotate pairs of channels by position: the first half with the second, or neighbours."""

    def __init__(self, neighbours: bool, sign: int = 1) -> None:
        super().__init__()
        self.neighbours, self.sign = neighbours, sign

    def forward(self, x: Any) -> Any:
        steps = torch.arange(HEAD // 2).to(x) / HEAD
        angles = torch.arange(x.shape[1]).to(x)[:, None, None] * 100.0**-steps
        cos, sin = angles.cos(), self.sign * angles.sin()
        one, two = (x[..., ::2], x[..., 1::2]) if self.neighbours else x.chunk(2, -1)
        turned = one * cos - two * sin, two * cos + one * sin
        return torch.stack(turned, -1).flatten(-2) if self.neighbours else torch.cat(turned, -1)


class Gain(nn.Module):
    def __init__(self, eps: float = 1e-6) -> None:
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.rand(HEAD) + 0.5), eps

    def forward(self, x: Any) -> Any:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


class Attention(nn.Module):
    def __init__(self, neighbours: bool, mistake: str = "") -> None:
        super().__init__()
        self.mistake = mistake
        self.q, self.k, self.v, self.o = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.gain, self.turn = Gain(1e-2 if mistake == "gain" else 1e-6), Turn(neighbours)

    def forward(self, x: Any) -> Any:
        q, k, v = (layer(x).unflatten(-1, (HEADS, HEAD)) for layer in (self.q, self.k, self.v))
        q, k = self.turn(self.gain(q)), self.turn(self.gain(k))
        scores = torch.einsum("bqhc,bkhc->bhqk", q, k) * (2.0 if self.mistake == "scale" else 1.0)
        return self.o(torch.einsum("bhqk,bkhc->bqhc", scores.softmax(-1), v).flatten(-2))


class Two(nn.Module):
    def __init__(self, neighbours: bool, *mistakes: str) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Attention(neighbours, mistake) for mistake in mistakes or ("", ""))

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = x + layer(x)
        return x


class Renamed(nn.Module):
    def __init__(self, *mistakes: str) -> None:
        super().__init__()
        self.blocks = Two(True, *mistakes).layers

    def forward(self, x: Any) -> Any:
        for block in self.blocks:
            x = x + block(x)
        return x


def neighbouring() -> None:
    halves, pairs = "head part row", "head row part"
    for kind in ("weight", "bias"):
        for name in "qk":
            mine, theirs = f"layers.*.{name}.{kind}", f"blocks.*.{name}.{kind}"
            rows(mine, theirs, parts=2, heads=HEADS, gold_order=halves, theirs_order=pairs)
        for name in "vo":
            rename(f"layers.*.{name}.{kind}", f"blocks.*.{name}.{kind}")
    rows("layers.*.gain.weight", "blocks.*.gain.weight", parts=2, gold_order=halves, theirs_order=pairs)


def compare(*mistakes: str) -> goldsmith.Parity:
    torch.manual_seed(0)
    return goldsmith.parity(Two(False), Renamed(*mistakes), torch.randn(2, 5, WIDTH), adapter=neighbouring)


def test_modules_whose_rows_are_in_another_order_are_right() -> None:
    found = compare()
    assert found, str(found)
    roles = {item.name: item.role for item in found.modules}
    assert {roles[f"layers.1.{name}"] for name in ("q", "k", "v", "o", "gain")} == {""}
    assert roles["layers.1.turn"] == "unknown", "it is given channels in another order, and returns them so"


@pytest.mark.parametrize(
    ("mistakes", "first"),
    [(("", "scale"), "layers.1"), (("scale", ""), "layers.0"), (("gain", ""), "layers.0.gain")],
)
def test_only_who_is_wrong_is_blamed(mistakes: tuple[str, str], first: str) -> None:
    found = compare(*mistakes)
    assert found.first_divergence == first, str(found)
    assert [item.name for item in found.modules if item.role == "source"] == [first]
    if "gain" not in mistakes:
        assert "not comparable" in {item.name: item.why for item in found.modules}["layers.1.turn"]


def test_a_fused_matrix_in_another_order_is_not_blamed_for_what_comes_after_it() -> None:
    found = GPT.compare("scale")
    assert found.first_divergence == "layers.1.attention", str(found)
    assert not [item for item in found.modules if item.role == "source" and "query_key_value" in item.name]


@settings(max_examples=30, deadline=None)
@given(st.permutations(list(range(6))), st.booleans())
def test_tensors_come_back_in_the_reference_s_order(order: list[int], elementwise: bool) -> None:
    shapes: dict[str, tuple[int, ...]] = {"a.weight": (6,) if elementwise else (6, 4)}
    orders = RowOrders.of({"a.weight": order}, Described(name="", weights=shapes, kinds={"a.weight": LINEAR}))
    mine = torch.randn(3, 6).numpy()
    (theirs,) = orders.to_candidate("a", [mine])
    assert (theirs == (mine[:, order] if elementwise else mine)).all()
    call = Call(0, 1, "model", "a", "Linear", True, (theirs,), (mine[:, order],), None)
    back = orders.to_reference("a", call)
    assert (back.outputs[0] == mine).all()
    assert (back.inputs[0] == mine).all()
    assert orders.is_comparable("a")
    assert not orders.is_comparable("act"), "it may be given what `a` returns"


def test_a_module_whose_matrix_is_not_rows_of_outputs_is_not_comparable() -> None:
    orders = RowOrders.of({"a.weight": (1, 0)}, Described(name="", weights={"a.weight": (2, 4)}))
    assert not orders.is_comparable("a")
